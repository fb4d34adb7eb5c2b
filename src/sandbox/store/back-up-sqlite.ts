// Copies a SQLite database while other processes use it.
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { findDamage } from './find-damage.ts'
import { UnusableDatabase } from './migrate.ts'

/**
 * When it returns, the copy is on the disk and holds the data of one moment. The function only reads, so no other process
 * has to wait. Throws UnusableDatabase if the database is damaged, and errors of node:fs and node:sqlite. After an error
 * there is no copy.
 */
export function backUpSqlite(path: string, copyPath: string): void {
  // The copy never overwrites a file. The copy contains the private keys, so from the start only the owner may read it.
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
    // SQLite does not wait until the copy is on the disk.
    fsyncSync(copy)
  } catch (error) {
    rmSync(copyPath)
    throw error
  } finally {
    closeSync(copy)
  }
}
