// The database of `sqlite::memory:`, which needs two connections and so a file: one that goes with the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `remove` may be called more than once, and is called at the process's end at the latest. */
export function makeTemporaryFile(): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
  const remove = () => {
    process.removeListener('exit', remove)
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', remove)
  return { path: join(folder, 'sandbox.db'), remove }
}
