// Copies a SQLite database while others work with it.
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { findDamage } from './find-damage.ts'
import { UnusableDatabase } from './migrate.ts'

/**
 * Once it returns, the copy holds what was stored at one moment, and is on the disk. Nobody waits for it: it only reads.
 * Throws UnusableDatabase where damage would be copied, and what node:fs or node:sqlite throw; then there is no copy.
 */
export function backUpSqlite(path: string, copyPath: string): void {
  // Never over another copy, and its owner's alone before anything is in it: the private keys will be.
  const copy = openSync(copyPath, 'wx', 0o600)
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 2000 })
    try {
      database.prepare('vacuum into ?').run(copyPath)
    } finally {
      database.close()
    }
    const damage = findDamage(copyPath)
    if (damage) throw new UnusableDatabase(`The database file is damaged (${damage}). Keep the copies that you have.`)
    // SQLite leaves it to the system when the copy reaches the disk.
    fsyncSync(copy)
  } catch (error) {
    rmSync(copyPath)
    throw error
  } finally {
    closeSync(copy)
  }
}
