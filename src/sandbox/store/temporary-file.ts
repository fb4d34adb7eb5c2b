// The database of `sqlite::memory:`. It is a temporary file, because two connections cannot share a database in memory. The
// file is deleted when the process ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true })
// One listener for all files, because Node warns of a leak if there are more than ten listeners.
const removeAll = () => folders.forEach(removeFolder)

/** `remove` may be called more than once. The function is called when the process ends, at the latest. */
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
