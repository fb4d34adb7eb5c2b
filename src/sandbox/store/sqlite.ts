// Kysely on node:sqlite: one connection that writes, one that reads, so that no reader ever waits for a writer.
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { CompiledQuery, type DatabaseConnection, Kysely, SqliteDialect, SqliteDriver, sql } from 'kysely'
import type { Db, Tables } from './schema.ts'

// node:sqlite waits inside the event loop, so it may wait only for what two processes normally cost each other;
// longer waits are awaited, by the store.
const busyTimeoutMs = 20

// Statements of this program are few, but lists of values come in several lengths.
const maxPreparedStatements = 300

/** A database file. One that is temporary goes with the process, so no write to it waits for the disk. */
export interface SqliteFile {
  path: string
  isTemporary: boolean
}

/** Opens the file, making it (and its folder) when it is not there, readable by its owner only. */
export function openSqlite({ path, isTemporary }: SqliteFile): { reader: Db; writer: Db } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
  // A copy may have come with other permissions; the private keys are in here.
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
 * A connection that does not heed foreign keys. SQLite changes a table by making it anew, and with them `drop table`
 * would delete every row that belongs to one of the old table. Inside a transaction they cannot be switched off.
 */
export function openSqliteForMigration(path: string): Db {
  return toKysely(connect(path, { enableForeignKeyConstraints: false }))
}

/** Names of the tables that the database holds. */
export async function listSqliteTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db)
  return rows.map(row => row.name)
}

function connect(path: string, { enableForeignKeyConstraints = true } = {}): DatabaseSync {
  return new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints })
}

function toKysely(database: DatabaseSync): Db {
  const config = { database: withPreparedStatements(database) }
  const dialect = new SqliteDialect(config)
  dialect.createDriver = () => new ImmediateDriver(config, () => database.isTransaction)
  return new Kysely<Tables>({ dialect })
}

class ImmediateDriver extends SqliteDriver {
  readonly #isInTransaction: () => boolean

  constructor(config: ConstructorParameters<typeof SqliteDriver>[0], isInTransaction: () => boolean) {
    super(config)
    this.#isInTransaction = isInTransaction
  }

  // A deferred transaction that reads and then writes fails at once when another process wrote between the two,
  // whatever the busy timeout says.
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  // SQLite itself rolls back when the disk is full; a second rollback would fail and hide the first error.
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
