// Runs Kysely on node:sqlite. One connection writes and another connection reads, so no reader waits for a writer.
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { CompiledQuery, type DatabaseConnection, Kysely, SqliteDialect, SqliteDriver, sql } from 'kysely'
import type { Db, Tables } from './schema.ts'

// node:sqlite blocks the event loop while it waits for a lock. The busy timeout is therefore short: about as long as a
// transaction of another process takes. If the database is still locked after that, the store waits longer, but without
// blocking.
const busyTimeoutMs = 20

// Limits how many prepared statements are kept. A query with a list of values needs a separate statement for each
// length of the list, so the number of statements could grow.
const maxPreparedStatements = 300

/**
 * A database file. A temporary file is deleted when the process ends, so writes to a temporary file do not wait for the
 * disk.
 */
export interface SqliteFile {
  path: string
  isTemporary: boolean
}

/**
 * Opens the database file. If the file does not exist, the function makes the file and its folder, so that only the
 * owner can read them.
 */
export function openSqlite({ path, isTemporary }: SqliteFile): { reader: Db; writer: Db } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
  // The file contains the private keys, and a restored copy may have wrong permissions.
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600)
  const writer = connect(path)
  try {
    writer.exec(`pragma journal_mode = wal; pragma synchronous = ${isTemporary ? 'off' : 'full'}`)
  } catch (error) {
    writer.close()
    throw error
  }
  const reader = connect(path)
  reader.exec('pragma query_only = on')
  return { reader: toKysely(reader), writer: toKysely(writer) }
}

/**
 * Opens a connection that ignores foreign keys. To change a table in SQLite, a migration makes a new table and drops
 * the old table. If foreign keys were on, the drop would delete every row that refers to a row of the old table.
 * Foreign keys cannot be switched off inside a transaction.
 */
export function openSqliteForMigration(path: string): Db {
  return toKysely(connect(path, { enableForeignKeyConstraints: false }))
}

/** Lists the names of the tables in the database. */
export async function listSqliteTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db)
  return rows.map(row => row.name)
}

function connect(path: string, { enableForeignKeyConstraints = true } = {}): DatabaseSync {
  return new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints })
}

function toKysely(database: DatabaseSync): Db {
  const config = { database: withPreparedStatements(database) }
  return new Kysely<Tables>({ dialect: new ImmediateDialect(config, () => database.isTransaction) })
}

type SqliteConfig = ConstructorParameters<typeof SqliteDialect>[0]

class ImmediateDialect extends SqliteDialect {
  readonly #newDriver: () => ImmediateDriver

  constructor(config: SqliteConfig, isInTransaction: () => boolean) {
    super(config)
    this.#newDriver = () => new ImmediateDriver(config, isInTransaction)
  }

  override createDriver(): ImmediateDriver {
    return this.#newDriver()
  }
}

class ImmediateDriver extends SqliteDriver {
  readonly #isInTransaction: () => boolean

  constructor(config: SqliteConfig, isInTransaction: () => boolean) {
    super(config)
    this.#isInTransaction = isInTransaction
  }

  // Use an immediate transaction. A deferred transaction could read first and write later. A deferred transaction fails
  // if another process has written in the meantime. In this case, SQLite fails at once, without waiting for the busy
  // timeout.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  // If the disk is full, SQLite rolls the transaction back itself. A second rollback would fail, and its error would
  // hide the first error.
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#isInTransaction()) await super.rollbackTransaction(connection)
  }
}

function withPreparedStatements(database: DatabaseSync) {
  const prepared = new Map<string, ReturnType<typeof toKyselyStatement>>()
  return {
    prepare(text: string) {
      const known = prepared.get(text)
      if (known) return known
      if (prepared.size >= maxPreparedStatements) prepared.clear()
      const statement = toKyselyStatement(database.prepare(text))
      prepared.set(text, statement)
      return statement
    },
    close: () => database.close(),
  }
}

function toKyselyStatement(statement: StatementSync) {
  return {
    reader: statement.columns().length > 0,
    all: (values: readonly unknown[]) => statement.all(...(values as SQLInputValue[])),
    run: (values: readonly unknown[]) => statement.run(...(values as SQLInputValue[])),
    iterate: (values: readonly unknown[]) => statement.iterate(...(values as SQLInputValue[])),
  }
}
