// The report for programs.
import { unsafeToPrint } from './printable.ts'
import type { Report } from './report.ts'

/**
 * `{"suite": version, "client": …, "checks": [{"id", "title", "level", "verdict", "why", "fix", "evidence": […], …}]}`.
 * `isError` says that the check itself crashed.
 */
export function toJson({ version, client, startedAt, durationMs, command, results }: Report): string {
  const checks = results.map(
    ({ id, group, title, level, verdict, why, fix, reason, evidence, durationMs, isError = false }) => ({
      id,
      group,
      title,
      level,
      verdict,
      why,
      fix,
      reason,
      evidence,
      durationMs,
      isError,
      again: `${command} --only '^${id}$'`,
    }),
  )
  return `${escapeUnsafe(JSON.stringify({ suite: version, client, startedAt, durationMs, checks }, null, 2))}\n`
}

/** JSON may hold every character but the first 32 as it is; written as `\u009b` it is the same for a program. */
function escapeUnsafe(json: string): string {
  return json.replace(unsafeToPrint, character =>
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join(''),
  )
}

const hex = (code: number) => code.toString(16).padStart(4, '0')
