// Makes the database file for `sqlite::memory:`. The database is a temporary file, because two connections cannot share
// a database in memory. The file is deleted when the process ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true })
// All files share one listener, because Node warns of a leak if there are more than ten listeners.
const removeAll = () => folders.forEach(removeFolder)

/**
 * `remove` deletes the file, and can be called more than once. If nobody calls `remove`, the file is deleted when the
 * process ends.
 */
export function makeTemporaryFile(): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
  if (folders.size === 0) process.on('exit', removeAll)
  folders.add(folder)
  const remove = () => {
    folders.delete(folder)
    if (folders.size === 0) process.removeListener('exit', removeAll)
    removeFolder(folder)
  }
  return { path: join(folder, 'sandbox.db'), remove }
}
