// Kysely on PostgreSQL: small pools in which nothing waits without end.
import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, sql } from 'kysely'
import pg from 'pg'
import type { Db, Schema } from './schema.ts'
import { storeFaultOf } from './store-fault.ts'

const bigintOid = 20

// Together they are the two seconds that a request may wait for the database (F-30): for a connection, then for a lock.
const connectionTimeoutMs = 1000
const lockTimeoutMs = 1000

/**
 * Readers have connections of their own, so that they never stand in a line behind writers that wait for a lock.
 * `onLost` hears of connections that break while idle: without a listener they would end the process.
 */
export function openPostgres(url: string, onLost: (error: Error) => void): { reader: Db; writer: Db } {
  const limits = {
    connectionTimeoutMillis: connectionTimeoutMs,
    lock_timeout: lockTimeoutMs,
    statement_timeout: 3000,
    // A little later than the server's own, whose answer says more.
    query_timeout: 3500,
    idle_in_transaction_session_timeout: 5000,
  }
  return {
    reader: connect({ connectionString: url, max: 5, ...limits }, onLost),
    writer: connect({ connectionString: url, max: 5, ...limits }, onLost),
  }
}

/** One connection that may take its time: a new index on a large table does, and whoever starts second waits for it. */
export function openPostgresForMigration(url: string): Db {
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
      // Times and counters are far below 2^53; pg would hand a bigint over as text.
      getTypeParser: (oid, format) => (oid === bigintOid ? Number : pg.types.getTypeParser(oid, format)),
    },
  })
  pool.on('error', onLost)
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: discardLost(pool) }) })
}

// pg puts a connection that has fallen silent back into its pool, where the next request waits for it in vain.
function discardLost(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect()
      let isLost = false
      const query = async (text: string, values: unknown[]) => {
        try {
          return await client.query(text, values)
        } catch (error) {
          isLost ||= storeFaultOf(error) === 'unreachable'
          throw error
        }
      }
      return { query, release: () => client.release(isLost) } as unknown as PostgresPoolClient
    },
  }
}

/** Names of the tables in the schema where ours would be made. */
export async function listPostgresTables(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = current_schema()`.execute(db)
  return rows.map(row => row.name)
}

/** Until the transaction ends, no other process gets past this line. */
export async function lockForMigration(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(7236431)`.execute(db)
}
