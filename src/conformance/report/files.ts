// Writes the report files. The command checks their paths before the run, because an error after a long run would be
// too late.
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings } from '../settings.ts'
import { toHtml } from './html.ts'
import { toJson } from './json.ts'
import { toJunit } from './junit.ts'
import type { Report } from './report.ts'

const kinds = { json: toJson, junit: toJunit, html: toHtml }

function filesOf(settings: Pick<Settings, 'json' | 'junit' | 'html'>) {
  return Object.entries(kinds).flatMap(([kind, write]) => {
    const path = settings[kind as keyof typeof kinds]
    return path === undefined ? [] : [{ kind, path, write }]
  })
}

/**
 * Returns the problems with the paths of the reports. To test a path, the function may create a file, which it then
 * deletes.
 */
export function problemsOfReportFiles(settings: Pick<Settings, 'json' | 'junit' | 'html'>): string[] {
  const seen = new Set<string>()
  return filesOf(settings).flatMap(({ kind, path }) => {
    const full = resolve(path)
    if (seen.has(full)) return [`--${kind} names the same file as another report: ${path}`]
    seen.add(full)
    const wasThere = existsSync(full)
    try {
      closeSync(openSync(full, 'a'))
      if (!wasThere) rmSync(full)
      return []
    } catch (error) {
      return [`--${kind} ${path} cannot be written: ${(error as NodeJS.ErrnoException).code}`]
    }
  })
}

/** Returns a message for each file that could not be written. */
export function writeReportFiles(settings: Pick<Settings, 'json' | 'junit' | 'html'>, report: Report): string[] {
  return filesOf(settings).flatMap(({ kind, path, write }) => {
    try {
      writeFileSync(path, write(report))
      return []
    } catch (error) {
      return [`--${kind} ${path} was not written: ${(error as Error).message}`]
    }
  })
}
