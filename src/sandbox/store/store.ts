// The interface of the store, which is the same for both kinds of databases: read, write and transaction.
import type { Db } from './schema.ts'

/** A database that is open and has the current schema. */
export interface Database {
  /** Use this for queries that change nothing. These queries never wait for a writer. */
  readonly read: Db
  /** Use this for one statement that changes something. When the promise resolves, the change is on disk. */
  write<T>(statement: (db: Db) => Promise<T>): Promise<T>
  /**
   * Use this for several statements that must take effect together or not at all. On SQLite, `work` runs again if
   * another process holds a lock, so `work` must only send queries. On PostgreSQL, `work` runs once: if it waits too
   * long for a lock, the transaction fails.
   */
  transaction<T>(work: (db: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Store extends Database {
  /** Throws if nothing can be written to the database now. */
  probe(): Promise<void>
}

export interface StoreOptions {
  clock: () => Date
  /** Called for each connection that was lost. */
  onLost: (error: Error) => void
  /**
   * Called if the database was empty and its tables have just been created. `wasThere` says whether the database file
   * existed before the sandbox started.
   */
  onNew?: (wasThere: boolean) => void
}
