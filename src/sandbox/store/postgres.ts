// Uses PostgreSQL as the sandbox's database. One instance migrates the database while other instances wait. After the
// migration, there are two small pools of connections, and every wait has a time limit.
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'
import { type Migration, migrate } from './migrate.ts'
import type { Db, Tables } from './schema.ts'
import type { Database, StoreOptions } from './store.ts'
import { type StoreFailure, StoreUnreachable, storeFailureOf } from './store-failure.ts'

const bigintOid = 20

// A request waits at most two seconds for the database (F-30): one second for a connection, and then one second for a
// lock.
const connectionTimeoutMs = 1000
const lockTimeoutMs = 1000

/** Throws UnusableDatabase. If no server answers, the function throws the error of pg. */
export async function openPostgresDatabase(
  url: string,
  { clock, onLost, onNew }: StoreOptions,
  steps: readonly Migration[],
): Promise<Database> {
  const migrator = openPostgresForMigration(url)
  try {
    const isNew = await migrator.transaction().execute(async db => {
      await lockForMigration(db)
      return migrate(db, { database: 'postgres', tables: await listPostgresTables(db), steps, now: clock() })
    })
    if (isNew) onNew?.(true)
  } finally {
    await migrator.destroy()
  }
  const { reader, writer } = openPostgres(url, onLost)
  return {
    read: reader,
    // No queue is needed, because PostgreSQL itself makes transactions wait for each other, up to a time limit.
    write: statement => statement(writer),
    transaction: work => writer.transaction().execute(work),
    async close() {
      await Promise.all([reader.destroy(), writer.destroy()])
    },
  }
}

/**
 * Readers have their own connections, so that no reader waits for a writer that waits for a lock. `onLost` is called
 * for each connection that breaks, idle or in use. Without a listener, the error of a broken connection would end the
 * process.
 */
function openPostgres(url: string, onLost: (error: Error) => void): { reader: Db; writer: Db } {
  const limits = {
    connectionTimeoutMillis: connectionTimeoutMs,
    lock_timeout: lockTimeoutMs,
    statement_timeout: 3000,
    // This limit is a little longer than statement_timeout, so that the server reports its error first. The server's
    // error says more than the error of pg.
    query_timeout: 3500,
    idle_in_transaction_session_timeout: 5000,
  }
  return {
    reader: connect({ connectionString: url, max: 5, ...limits }, onLost),
    writer: connect({ connectionString: url, max: 5, ...limits }, onLost),
  }
}

/**
 * Opens one connection with a long time limit. Making a new index on a large table takes a long time, and a second
 * instance must wait for the first.
 */
function openPostgresForMigration(url: string): Db {
  return connect(
    { connectionString: url, max: 1, connectionTimeoutMillis: connectionTimeoutMs, lock_timeout: 60_000 },
    () => undefined,
  )
}

function connect(config: pg.PoolConfig, onLost: (error: Error) => void): Db {
  const pool = new pg.Pool({
    ...config,
    keepAlive: true,
    types: {
      // By default, pg returns a bigint as text. Our times and counters are far below 2^53, so a JavaScript number
      // represents them exactly.
      getTypeParser: (oid, format) => (oid === bigintOid ? Number : pg.types.getTypeParser(oid, format)),
    },
  })
  const lost = new WeakSet<pg.PoolClient>()
  pool.on('connect', client =>
    client.on('error', error => {
      // A connection that was reset emits two errors. Report only the first.
      if (!lost.has(client)) onLost(error)
      lost.add(client)
    }),
  )
  // Ignore this event: with it, the pool only repeats the errors of idle connections.
  pool.on('error', () => undefined)
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: discardLost(pool) }) })
}

// After these failures, remove the connection from the pool. If a connection no longer answers, the next request would
// wait for an answer until its time limit. If the server has become a read-only replica, a new connection may reach the
// new primary server.
const hopeless: (StoreFailure | undefined)[] = ['unreachable', 'read-only']

function discardLost(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect().catch(throwUnreachable)
      let isLost = false
      const query = async (text: string, values: unknown[]) => {
        try {
          return await client.query(text, values)
        } catch (error) {
          isLost ||= hopeless.includes(storeFailureOf(error))
          throw error
        }
      }
      return { query, release: () => client.release(isLost) } as unknown as PostgresPoolClient
    },
  }
}

/**
 * Turns a connection error into StoreUnreachable. A server can refuse a connection for many reasons, and each reason
 * has its own code. For example, the database is closed or does not exist, the role or its password is no longer valid,
 * or TLS is missing. In all these cases, the cause is not the statement of the request.
 */
function throwUnreachable(error: Error & { code?: string }): never {
  // An AggregateError has no message of its own. Node throws it for a host with several addresses.
  throw new StoreUnreachable(error.message || error.code, { cause: error })
}

/**
 * Lists the names of the tables and views in the schema that will contain our tables. Tables of extensions are left
 * out, because hosting providers install some extensions in every new database.
 */
async function listPostgresTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = current_schema())
      and relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (
        select 1 from pg_depend
        where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
      )`.execute(db)
  return rows.map(row => row.name)
}

/** Locks the migration. Every other process waits here until the transaction ends. */
async function lockForMigration(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(7236431)`.execute(db)
}
