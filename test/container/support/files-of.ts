// Lists the files of an opened image.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Returns the paths of all files in `root`, sorted. */
export function filesOf(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

export function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
