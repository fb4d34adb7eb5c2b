// Opens the database that DATABASE_URL names.
import { randomBytes } from 'node:crypto'
import type { Secret } from '../values/secret.ts'
import { migrations } from './migrations.ts'
import { openPostgresDatabase } from './postgres.ts'
import { openSqliteDatabase } from './sqlite-database.ts'
import type { Store, StoreOptions } from './store.ts'
import { makeTemporaryFile } from './temporary-file.ts'

/**
 * Opens the database and migrates it. By default, `steps` are the migrations of this version. A test can pass other
 * migrations. Throws UnusableDatabase, with a message for the operator. If no database answers, the function throws the
 * driver's own error.
 */
export async function openStore(databaseUrl: Secret, options: StoreOptions, steps = migrations): Promise<Store> {
  const url = databaseUrl.reveal()
  const temporary = url === 'sqlite::memory:' ? makeTemporaryFile() : undefined
  const path = temporary?.path ?? url.slice('sqlite:'.length)
  const database = url.startsWith('sqlite:')
    ? await openSqliteDatabase({ path, isTemporary: temporary !== undefined }, options, steps)
    : await openPostgresDatabase(url, options, steps)
  return {
    ...database,
    async close() {
      await database.close()
      temporary?.remove()
    },
    async probe() {
      // Write rows that need some new pages of the database, and delete the rows again. Changing an existing row would
      // prove nothing, because this change succeeds even on a full disk. The probe needs more pages than a new
      // application, so a store without room for an application counts as not ready.
      const ids = Array.from({ length: 12 }, () => randomBytes(1000).toString('base64url'))
      await database.transaction(async db => {
        const rows = ids.map(id => ({ id, expires_at: 0 }))
        await db.insertInto('finished_authorizations').values(rows).execute()
        await db.deleteFrom('finished_authorizations').where('id', 'in', ids).execute()
      })
    },
  }
}
