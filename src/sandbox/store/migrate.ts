// Brings the database to the schema of this version, or refuses to touch it: it is never recreated.
import { sql } from 'kysely'
import { createKeys } from './keys.ts'
import { migrations, runMigration } from './migrations.ts'
import type { Db } from './schema.ts'

/** The database is not one that this version can work with. The message says why and what to do. */
export class UnusableDatabase extends Error {}

/**
 * To be called in a transaction that no other process can run at the same time. True when the database was empty.
 * Throws UnusableDatabase when the database is somebody else's, newer than this version, or has lost its keys.
 */
export async function migrate(db: Db, tables: string[], now: Date, steps: string[][] = migrations): Promise<boolean> {
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
  for (const statements of steps.slice(version)) await runMigration(db as never, statements)
  if (version < steps.length) await db.updateTable('sandbox_schema').set({ version: steps.length }).execute()

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
