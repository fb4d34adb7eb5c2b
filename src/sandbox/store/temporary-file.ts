// The database of `sqlite::memory:`, which needs two connections and so a file: one that goes with the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders = new Set<string>()
const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true })
// One listener for all of them: of more than ten Node warns as of a leak.
const removeAll = () => folders.forEach(removeFolder)

/** `remove` may be called more than once, and is called at the process's end at the latest. */
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
