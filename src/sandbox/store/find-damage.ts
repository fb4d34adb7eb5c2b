// Looks through a database file for damage: a small one before the start, a large one beside the running sandbox.
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

// SQLite looks through this much in less than a second, and nobody should wait longer for a start.
const largeFileBytes = 64 * 1024 * 1024

/** The first damage that SQLite finds, or undefined. Throws what node:sqlite throws when it is no database at all. */
export function findDamage(path: string): string | undefined {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const answer = database.prepare('pragma quick_check(1)').get()?.quick_check
    return answer === 'ok' ? undefined : String(answer)
  } finally {
    database.close()
  }
}

export function isLargeFile(path: string): boolean {
  return statSync(path).size > largeFileBytes
}

/** Does the same in a thread of its own, until it is done or the function that comes back is called. */
export function findDamageBeside(path: string, onDamage: (damage: string) => void): () => Promise<unknown> {
  const worker = new Worker(new URL('./find-damage-worker.ts', import.meta.url), { workerData: path })
  worker.on('message', onDamage)
  // Not being able to look is no damage; what keeps it from reading keeps requests from it, too, and shows there.
  worker.on('error', () => undefined)
  worker.unref()
  return () => worker.terminate()
}
