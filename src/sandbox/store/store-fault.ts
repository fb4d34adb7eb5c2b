// Separates failures of the database (a lock, a full disk, a lost connection, damage) from programming errors.

export type StoreFault = 'busy' | 'full' | 'read-only' | 'unreachable' | 'damaged'

/** The database stayed locked for two seconds. */
export class StoreBusy extends Error {}

/** There is no connection to the database server. The request is not at fault. */
export class StoreUnreachable extends Error {}

// Primary result codes of SQLite (sqlite.org/rescode.html).
const sqliteFaults: Record<number, StoreFault> = {
  5: 'busy',
  6: 'busy',
  8: 'read-only',
  10: 'unreachable',
  11: 'damaged',
  13: 'full',
  14: 'unreachable',
}

// SQLSTATE codes and classes of PostgreSQL (appendix A of its manual), and codes of Node's sockets.
const codeFaults: [RegExp, StoreFault][] = [
  [/^(40001|40P01|55P03|57014)$/, 'busy'],
  [/^(53100|53200)$/, 'full'],
  [/^25006$/, 'read-only'],
  [/^(08...|57P..|53300|25P03)$/, 'unreachable'],
  [/^(ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|ERR_STREAM_DESTROYED)$/, 'unreachable'],
]

// The errors of pg without a code.
const lostConnection =
  /^(timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/

/** Undefined if the error does not come from the database. */
export function storeFaultOf(error: unknown): StoreFault | undefined {
  if (error instanceof StoreBusy) return 'busy'
  if (error instanceof StoreUnreachable) return 'unreachable'
  if (!(error instanceof Error)) return undefined
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown }
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return sqliteFaults[errcode & 0xff]
  if (lostConnection.test(error.message)) return 'unreachable'
  // If the host has several addresses, the error contains the errors of all addresses.
  if (error instanceof AggregateError) return storeFaultOf(error.errors[0])
  return codeFaults.find(([pattern]) => typeof code === 'string' && pattern.test(code))?.[1]
}
