// Distinguishes failures of the database (a lock, a full disk, a lost connection, damage) from programming errors.

export type StoreFailure = 'busy' | 'full' | 'read-only' | 'unreachable' | 'damaged'

/** Thrown if the database stayed locked for two seconds. */
export class StoreBusy extends Error {}

/** Thrown if there is no connection to the database server. The request is not the cause. */
export class StoreUnreachable extends Error {}

// The failure for each primary result code of SQLite (sqlite.org/rescode.html).
const sqliteFailures: Record<number, StoreFailure> = {
  5: 'busy',
  6: 'busy',
  8: 'read-only',
  10: 'unreachable',
  11: 'damaged',
  13: 'full',
  14: 'unreachable',
}

// The failure for each SQLSTATE code or class of PostgreSQL (appendix A of the manual), and for each code of Node's
// sockets.
const codeFailures: [RegExp, StoreFailure][] = [
  [/^(40001|40P01|55P03|57014)$/, 'busy'],
  [/^(53100|53200)$/, 'full'],
  [/^25006$/, 'read-only'],
  [/^(08...|57P..|53300|25P03)$/, 'unreachable'],
  [/^(ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|ERR_STREAM_DESTROYED)$/, 'unreachable'],
]

// The messages of pg's errors that have no code.
const lostConnection =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/

/** Returns undefined if the error does not come from the database. */
export function storeFailureOf(error: unknown): StoreFailure | undefined {
  if (error instanceof StoreBusy) return 'busy'
  if (error instanceof StoreUnreachable) return 'unreachable'
  if (!(error instanceof Error)) return undefined
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown }
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return sqliteFailures[errcode & 0xff]
  if (lostConnection.test(error.message)) return 'unreachable'
  // If the host has several addresses, the error contains one error for each address.
  if (error instanceof AggregateError) return storeFailureOf(error.errors[0])
  return codeFailures.find(([pattern]) => typeof code === 'string' && pattern.test(code))?.[1]
}
