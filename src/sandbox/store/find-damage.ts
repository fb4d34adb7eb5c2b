// Looks through a database file for damage: a small one before the start, a large one beside the running sandbox.
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

// SQLite looks through this much in less than a second, and nobody should wait longer for a start.
const largeFileBytes = 64 * 1024 * 1024

/**
 * The first damage that SQLite finds, or what stands in the file by half; undefined where all is well. Throws what
 * node:sqlite throws when it is no database at all.
 */
export function findDamage(path: string): string | undefined {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const answer = database.prepare('pragma quick_check(1)').get()?.quick_check
    return answer === 'ok' ? findHalf(database) : String(answer)
  } finally {
    database.close()
  }
}

/** What no transaction of ours leaves behind (F-34), but a tool or a fault may. */
function findHalf(database: DatabaseSync): string | undefined {
  // A new file has no tables, and somebody else's is refused for that.
  if (!database.prepare("select 1 from sqlite_master where name = 'sandbox_schema'").get()) return undefined
  const orphan = database.prepare('pragma foreign_key_check').get()
  if (orphan) return `a row of ${orphan.table} belongs to a row of ${orphan.parent} that is not there`
  const application = database
    .prepare(
      `select id from applications
        where not exists (select 1 from client_secrets where application_id = applications.id)`,
    )
    .get()
  return application && `the application ${application.id} has no client secret`
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
