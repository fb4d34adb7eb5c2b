// Opens the database that DATABASE_URL names, and gives the three ways to work with it: read, write, transaction.
import { randomBytes } from 'node:crypto'
import type { Secret } from '../secret.ts'
import { migrations } from './migrations.ts'
import { openPostgresDatabase } from './postgres-database.ts'
import type { Db } from './schema.ts'
import { openSqliteDatabase } from './sqlite-database.ts'
import { makeTemporaryFile } from './temporary-file.ts'

/** A database that is open and up to date. */
export interface Database {
  /** For queries that change nothing. They never wait for a writer. */
  readonly read: Db
  /** One statement that changes something. When it resolves, the change is on the disk. */
  write<T>(statement: (db: Db) => Promise<T>): Promise<T>
  /**
   * Several statements, all or none. The work may run a second time when another process was in the way,
   * so it must do nothing but query.
   */
  transaction<T>(work: (db: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Store extends Database {
  /** Throws when the database cannot be written to just now. */
  probe(): Promise<void>
}

export interface StoreOptions {
  clock: () => Date
  /** Hears of connections lost while idle. */
  onLost: (error: Error) => void
  /** Hears that the database was empty and is new now; `wasThere` unless this start made the file. */
  onNew?: (wasThere: boolean) => void
}

/**
 * `steps` are those of this version, unless a test has others.
 * Throws UnusableDatabase with a message for the operator, or the driver's own error when nothing answers.
 */
export async function openStore(databaseUrl: Secret, options: StoreOptions, steps = migrations): Promise<Store> {
  const url = databaseUrl.reveal()
  const temporary = url === 'sqlite::memory:' ? makeTemporaryFile() : undefined
  const database = url.startsWith('sqlite:')
    ? await openSqliteDatabase(temporary?.path ?? url.slice('sqlite:'.length), options, steps)
    : await openPostgresDatabase(url, options, steps)
  return {
    ...database,
    async close() {
      await database.close()
      temporary?.remove()
    },
    async probe() {
      // Takes a few pages and gives them back: on a full disk a change in place would still succeed.
      const ids = Array.from({ length: 4 }, () => randomBytes(1000).toString('base64url'))
      await database.transaction(async db => {
        const rows = ids.map(id => ({ id, expires_at: 0 }))
        await db.insertInto('finished_authorizations').values(rows).execute()
        await db.deleteFrom('finished_authorizations').where('id', 'in', ids).execute()
      })
    },
  }
}
