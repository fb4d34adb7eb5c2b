// A PostgreSQL database as the sandbox's: brought up to date by one instance, while others that start wait.
import { migrate } from './migrate.ts'
import type { Migration } from './migration.ts'
import { listPostgresTables, lockForMigration, openPostgres, openPostgresForMigration } from './postgres.ts'
import type { Database, StoreOptions } from './store.ts'

/** Throws UnusableDatabase, or what pg throws when nothing answers. */
export async function openPostgresDatabase(
  url: string,
  { clock, onLost, onNew }: StoreOptions,
  steps: readonly Migration[],
): Promise<Database> {
  const migrator = openPostgresForMigration(url)
  try {
    const isNew = await migrator.transaction().execute(async db => {
      await lockForMigration(db)
      return migrate(db, { dialect: 'postgres', tables: await listPostgresTables(db), steps, now: clock() })
    })
    if (isNew) onNew?.(true)
  } finally {
    await migrator.destroy()
  }
  const { reader, writer } = openPostgres(url, onLost)
  return {
    read: reader,
    // The database itself makes everyone wait their turn, and no longer than they may.
    write: statement => statement(writer),
    transaction: work => writer.transaction().execute(work),
    async close() {
      await Promise.all([reader.destroy(), writer.destroy()])
    },
  }
}
