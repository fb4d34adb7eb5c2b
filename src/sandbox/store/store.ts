// How to work with the store, on either database: read, write, transaction.
import type { Db } from './schema.ts'

/** A database that is open and up to date. */
export interface Database {
  /** For queries that change nothing. Such queries never wait for a writer. */
  readonly read: Db
  /** For one statement that changes something. When it resolves, the change is on the disk. */
  write<T>(statement: (db: Db) => Promise<T>): Promise<T>
  /**
   * For several statements, of which all or none take effect. If another process has a lock, the work runs again, so
   * the work must do nothing except send queries.
   */
  transaction<T>(work: (db: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Store extends Database {
  /** Throws if the database cannot be written to now. */
  probe(): Promise<void>
}

export interface StoreOptions {
  clock: () => Date
  /** Called for each connection that was lost. */
  onLost: (error: Error) => void
  /** Called if the database was empty and its tables were created now. `wasThere`: the file existed before this start. */
  onNew?: (wasThere: boolean) => void
}
