// What a starter knows about its origin: .starter.json. `npm run eject` writes it, and `npm run upgrade` needs it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const recordFile = '.starter.json'

export type StarterRecord = {
  /**
   * The version and the commit of the reference client that the starter was made from. If the project was not in git,
   * the commit is unknown (null).
   */
  version: string
  commit: string | null
  /** The options of eject. */
  name: string
  bare: boolean
  sandbox: boolean
  /** Files and folders that belong to the starter's owner. An upgrade does not change them. */
  yours: string[]
}

/** Throws an error if a field is missing. */
export function readRecord(): StarterRecord {
  const record = JSON.parse(readFileSync(recordFile, 'utf8')) as StarterRecord
  const { version, commit, name, bare, sandbox, yours } = record
  const isWhole =
    typeof version === 'string' &&
    (commit === null || /^[0-9a-f]{40,64}$/.test(commit)) &&
    typeof name === 'string' &&
    typeof bare === 'boolean' &&
    typeof sandbox === 'boolean' &&
    Array.isArray(yours)
  if (!isWhole)
    throw new Error(
      `${recordFile} needs version, commit, name, bare, sandbox and yours. The commit must not be shortened.`,
    )
  return record
}

/** Writes the file into this folder. */
export function writeRecord(folder: string, record: StarterRecord): void {
  writeFileSync(join(folder, recordFile), `${JSON.stringify(record, null, 2)}\n`)
}

/** Returns the owner's list, plus the paths that are in the newer version's list, but not in the old version's list. */
export function mergeYours(mine: string[], old: string[], next: string[]): string[] {
  const kept = next.filter(path => mine.includes(path) || !old.includes(path))
  return [...kept, ...mine.filter(path => !kept.includes(path))]
}
