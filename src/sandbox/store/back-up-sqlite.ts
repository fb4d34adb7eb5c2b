// Copies a SQLite database while other processes use it.
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { findDamage } from './find-damage.ts'
import { UnusableDatabase } from './migrate.ts'

/**
 * Copies the database. When the function returns, the copy is on disk and contains the data from one point in time. The
 * function only reads the database, so no other process has to wait. If the database is damaged, the function throws
 * UnusableDatabase. It also throws the errors of node:fs and node:sqlite. After an error, there is no copy.
 */
export function backUpSqlite(path: string, copyPath: string): void {
  // Never overwrite an existing file. The copy contains the private keys, so only the owner of the file can read it,
  // from the first byte on.
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
    // Wait until the copy is on disk, because SQLite does not wait.
    fsyncSync(copy)
  } catch (error) {
    rmSync(copyPath)
    throw error
  } finally {
    closeSync(copy)
  }
}
