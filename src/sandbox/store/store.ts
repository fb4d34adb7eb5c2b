// The ways to work with the store, whichever database is behind it: read, write, transaction.
import type { Db } from './schema.ts'

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
