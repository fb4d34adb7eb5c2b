// Uses a SQLite file as the sandbox's database: looks for damage, migrates the database, and waits for locks.
import { existsSync } from 'node:fs'
import { setImmediate as afterEvents, setTimeout as wait } from 'node:timers/promises'
import { findDamage } from './find-damage.ts'
import type { Migration } from './migrate.ts'
import { migrate, UnusableDatabase } from './migrate.ts'
import { listSqliteTables, openSqlite, openSqliteForMigration, type SqliteFile } from './sqlite.ts'
import type { Database, StoreOptions } from './store.ts'
import { StoreBusy, storeFailureOf } from './store-failure.ts'
import { batchWrites } from './write-batch.ts'

// How long a request waits for the database. After this time, the answer is 503 (F-30).
const patienceMs = 2000

/** Throws UnusableDatabase. The function also throws the errors of node:sqlite. */
export async function openSqliteDatabase(
  file: SqliteFile,
  { clock, onNew }: StoreOptions,
  steps: readonly Migration[],
): Promise<Database> {
  const { path } = file
  const wasThere = existsSync(path)
  const { reader, writer } = await untilFree(async () => openSqlite(file), inTime()).catch(refuseDamage)
  const takeTurn = makeTurns()
  try {
    const damage = findDamage(path)
    if (damage) throw new UnusableDatabase(`The database file is damaged (${damage}). Restore the file from a copy.`)
    const migrator = openSqliteForMigration(path)
    const isNew = await takeTurn(() =>
      migrator.transaction().execute(async db => {
        return migrate(db, { database: 'sqlite', tables: await listSqliteTables(db), steps, now: clock() })
      }),
    ).finally(() => migrator.destroy())
    if (isNew) onNew?.(wasThere)
  } catch (error) {
    await Promise.all([reader.destroy(), writer.destroy()])
    refuseDamage(error)
  }
  return {
    read: reader,
    write: batchWrites(writer, takeTurn),
    transaction: work => takeTurn(() => writer.transaction().execute(work)),
    async close() {
      await Promise.all([reader.destroy(), writer.destroy()])
    },
  }
}

/**
 * Makes the writers of one process take turns. Only one writer at a time tries to get the lock of the database. The
 * other writers wait without a thread or a timer.
 */
function makeTurns() {
  let lastTurn: Promise<unknown> = Promise.resolve()
  return <T>(run: () => Promise<T>): Promise<T> => {
    const deadline = inTime()
    const turn = lastTurn.then(() => untilFree(run, deadline))
    lastTurn = turn.catch(() => undefined)
    return turn
  }
}

function inTime(): number {
  return performance.now() + patienceMs
}

/**
 * Repeats `run` while the database is locked. This is safe, because an attempt that fails with "busy" is rolled back
 * completely.
 */
async function untilFree<T>(run: () => Promise<T>, deadline: number): Promise<T> {
  for (;;) {
    // An attempt can block the event loop until the busy timeout ends. If many writers give up at the same time, other
    // requests must run between their attempts.
    await afterEvents()
    try {
      return await run()
    } catch (error) {
      if (storeFailureOf(error) !== 'busy') throw error
      // Check the time only after an attempt. Otherwise a process that was suspended for two seconds would give up
      // without any attempt.
      if (performance.now() > deadline) throw new StoreBusy('the database stayed locked')
      await wait(5 + Math.random() * 20)
    }
  }
}

function refuseDamage(error: unknown): never {
  // SQLITE_CORRUPT and SQLITE_NOTADB.
  const code = (error as { errcode?: number }).errcode
  if (code === 11 || code === 26)
    throw new UnusableDatabase(
      'The database file is damaged, or is not a SQLite database. Restore the file from a copy.',
      { cause: error },
    )
  throw error
}
