// If several statements wait for the database, this code runs them in one transaction. This saves time, because the
// slowest part of a transaction is writing to disk.
import type { Db } from './schema.ts'
import type { Database } from './store.ts'
import { storeFailureOf } from './store-failure.ts'

/**
 * A function that waits for its turn, and then calls `run`. It waits at least until the event loop has handled the
 * current events. If the database is locked, the function calls `run` again.
 */
type RunInTurn = <T>(run: () => Promise<T>) => Promise<T>

interface Waiting {
  statement(db: Db): Promise<unknown>
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * Returns a function that runs a statement. The promise resolves when the change that the statement makes is on disk.
 * The promise rejects if the change cannot be written.
 */
export function batchWrites(writer: Db, runInTurn: RunInTurn): Database['write'] {
  const waiting: Waiting[] = []

  async function commitBatch(): Promise<void> {
    let batch: Waiting[] = []
    try {
      const results = await runInTurn(() => {
        // All statements that wait now run in this transaction. If the transaction is repeated, it runs the same
        // statements again.
        if (batch.length === 0) batch = waiting.splice(0)
        return runBatch(writer, batch)
      })
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]
        if (result?.status === 'fulfilled') resolve(result.value)
        else reject(result?.reason)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return <T>(statement: (db: Db) => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ statement, resolve: result => resolve(result as T), reject })
      if (waiting.length === 1) commitBatch()
    })
}

async function runBatch(writer: Db, batch: Waiting[]): Promise<PromiseSettledResult<unknown>[]> {
  const [first, ...others] = batch
  if (first && others.length === 0) return [{ status: 'fulfilled', value: await first.statement(writer) }]
  return writer.transaction().execute(async db => {
    const results: PromiseSettledResult<unknown>[] = []
    for (const { statement } of batch) {
      try {
        results.push({ status: 'fulfilled', value: await statement(db) })
      } catch (reason) {
        // If SQLite refuses a statement, SQLite undoes only this statement. A disk error ends the whole transaction.
        if (storeFailureOf(reason)) throw reason
        results.push({ status: 'rejected', reason })
      }
    }
    return results
  })
}
