// Migrates the database to the schema of this version of the sandbox. If this is not possible, the code leaves the
// database unchanged. The migration never replaces a database with a new database.
import { sql } from 'kysely'
import { createKeys } from './keys.ts'
import type { Db } from './schema.ts'

type DatabaseKind = 'sqlite' | 'postgres'

export interface Migration {
  /** A short name for what the step adds. Error messages contain this name. */
  name: string
  /**
   * The statements of the step, in order. A string is SQL for both kinds of databases. An object has separate
   * statements for SQLite and PostgreSQL. SQLite ignores foreign keys while steps run. If a step deletes rows, the step
   * must therefore also delete the rows that refer to the deleted rows.
   */
  statements: readonly (string | Record<DatabaseKind, readonly string[]>)[]
}

/**
 * Thrown if this version of the sandbox cannot work with the database. The message says why, and what the operator must
 * do.
 */
export class UnusableDatabase extends Error {}

/**
 * Migrates the database. Call this in a transaction with a lock, so that no other process migrates at the same time. On
 * SQLite, foreign keys must be off. `tables` contains the names of the existing tables. Returns true if the database
 * was empty. Throws UnusableDatabase if another program or a newer version of the sandbox made the database, or if the
 * database has lost its keys.
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
      'The database contains tables of another program. Name an empty database in DATABASE_URL.',
    )
  if (isNew) {
    await sql`create table sandbox_schema (version bigint not null)`.execute(db)
    await db.insertInto('sandbox_schema').values({ version: 0 }).execute()
  }
  const version = isNew ? 0 : await readVersion(db)
  if (version > steps.length)
    throw new UnusableDatabase(
      `The database was made by a newer version of the sandbox (schema ${version}; this version knows ${steps.length}). Start the newer version.`,
    )
  if (version < steps.length) {
    for (const step of steps.slice(version)) await runMigration(db, database, step)
    if (database === 'sqlite') await refuseOrphans(db)
    await db.updateTable('sandbox_schema').set({ version: steps.length }).execute()
  }

  // Make keys only for a new database. In an existing database, new keys would end every session and token.
  if (isNew) await createKeys(db, now)
  const kinds = await db.selectFrom('keys').select('kind').distinct().execute()
  if (kinds.length < 2)
    throw new UnusableDatabase('The database has lost its signing or sealing key. Restore the database from a copy.')
  return isNew
}

async function readVersion(db: Db): Promise<number> {
  const rows = await db.selectFrom('sandbox_schema').select('version').execute()
  const version = rows[0]?.version ?? 0
  // If the version were negative, slice would count from the end, and steps would run again.
  if (rows.length !== 1 || !Number.isInteger(version) || version < 1)
    throw new UnusableDatabase(
      'The database does not contain the version of its schema. Restore the database from a copy.',
    )
  return version
}

/**
 * Throws if a row refers to a row that does not exist. SQLite ignores foreign keys while the steps run, so this check
 * must find the rows that PostgreSQL would refuse, before the transaction ends.
 */
async function refuseOrphans(db: Db): Promise<void> {
  const { rows } = await sql<{ table: string; parent: string }>`pragma foreign_key_check`.execute(db)
  const [orphan] = rows
  if (orphan)
    throw new UnusableDatabase(
      `The database cannot be updated: a row of ${orphan.table} refers to a row of ${orphan.parent} that does not exist. Restore the database from a copy.`,
    )
}

/**
 * Runs one step. If the step fails, the function throws the error of the database, and puts the name of the step in
 * front of the error's message.
 */
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
