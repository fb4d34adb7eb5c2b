// Brings the database to the schema of this version, or refuses to touch it: it is never recreated.
import { sql } from 'kysely'
import { createKeys } from './keys.ts'
import type { Db } from './schema.ts'

export type DatabaseKind = 'sqlite' | 'postgres'

export interface Migration {
  /** What it brings. Errors and the log name it. */
  name: string
  /**
   * In order. A text is plain SQL that both databases take; where there is none, each has statements of its own.
   * SQLite does not heed foreign keys while steps run, so nothing cascades: a step deletes what belongs to its rows itself.
   */
  statements: readonly (string | Record<DatabaseKind, readonly string[]>)[]
}

/** The database is not one that this version can work with. The message says why and what to do. */
export class UnusableDatabase extends Error {}

/**
 * To be called in a transaction that no other process can run at the same time, and on SQLite without foreign keys.
 * `tables`: names of those that are there. True when the database was empty.
 * Throws UnusableDatabase when the database is somebody else's, newer than this version, or has lost its keys.
 */
export async function migrate(
  db: Db,
  {
    database,
    tables,
    steps,
    now,
  }: { database: DatabaseKind; tables: string[]; steps: readonly Migration[]; now: Date },
): Promise<boolean> {
  const isNew = tables.length === 0
  if (!isNew && !tables.includes('sandbox_schema'))
    throw new UnusableDatabase(
      'The database holds tables that are not the sandbox’s. Name an empty one in DATABASE_URL.',
    )
  if (isNew) {
    await sql`create table sandbox_schema (version bigint not null)`.execute(db)
    await db.insertInto('sandbox_schema').values({ version: 0 }).execute()
  }
  const version = isNew ? 0 : await readVersion(db)
  if (version > steps.length)
    throw new UnusableDatabase(
      `The database was made by a newer sandbox (schema ${version}; this one knows ${steps.length}). Start the newer one.`,
    )
  if (version < steps.length) {
    for (const step of steps.slice(version)) await runMigration(db, database, step)
    if (database === 'sqlite') await refuseOrphans(db)
    await db.updateTable('sandbox_schema').set({ version: steps.length }).execute()
  }

  // Keys are made together with the database and at no other time: new ones would end every session and token unasked.
  if (isNew) await createKeys(db, now)
  const kinds = await db.selectFrom('keys').select('kind').distinct().execute()
  if (kinds.length < 2)
    throw new UnusableDatabase('The database has lost its signing or sealing key. Restore it from a copy.')
  return isNew
}

async function readVersion(db: Db): Promise<number> {
  const rows = await db.selectFrom('sandbox_schema').select('version').execute()
  const version = rows[0]?.version ?? 0
  // Counted from the end, a negative one would run steps again.
  if (rows.length !== 1 || !Number.isInteger(version) || version < 1)
    throw new UnusableDatabase('The database does not say which schema it has. Restore it from a copy.')
  return version
}

/** The steps ran without foreign keys, so what PostgreSQL refuses by itself is refused here, before it counts. */
async function refuseOrphans(db: Db): Promise<void> {
  const { rows } = await sql<{ table: string; parent: string }>`pragma foreign_key_check`.execute(db)
  const [orphan] = rows
  if (orphan)
    throw new UnusableDatabase(
      `The database cannot be brought up to date: a row of ${orphan.table} would belong to a row of ${orphan.parent} that is not there. Restore it from a copy.`,
    )
}

/** Throws what the database says, with the step's name in front. */
async function runMigration(db: Db, database: DatabaseKind, { name, statements }: Migration): Promise<void> {
  try {
    for (const statement of statements)
      for (const text of typeof statement === 'string' ? [statement] : statement[database])
        await sql.raw(text).execute(db)
  } catch (error) {
    if (error instanceof Error) error.message = `the step “${name}” of the schema failed: ${error.message}`
    throw error
  }
}
