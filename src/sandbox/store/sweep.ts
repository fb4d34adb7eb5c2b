// Deletes what has expired, by index and a bounded number of rows at a time, so that no request waits long behind it.
import { sql } from 'kysely'
import type { Store } from './open-store.ts'

const batchSize = 500

// An access token given at the very end of a grant's life outlives it by a day, and must still find it.
const graceMs = 86_400_000

const expiring = [
  { table: 'portal_sessions', key: 'id_hash', expiry: 'expires_at', keepMs: 0 },
  { table: 'finished_authorizations', key: 'id', expiry: 'expires_at', keepMs: 0 },
  { table: 'app_access_tokens', key: 'id', expiry: 'expires_at', keepMs: graceMs },
  { table: 'grants', key: 'id', expiry: 'expires_at', keepMs: graceMs },
  { table: 'failures', key: 'bucket', expiry: 'window_ends_at', keepMs: 0 },
] as const

/** Resolves to the number of rows deleted. */
export async function sweep(store: Store, now: Date): Promise<number> {
  let swept = 0
  for (const { table, key, expiry, keepMs } of expiring) {
    const before = now.getTime() - keepMs
    const [tableRef, keyRef, expiryRef] = [sql.table(table), sql.ref(key), sql.ref(expiry)]
    for (let deleted = batchSize; deleted === batchSize; swept += deleted) {
      const { numAffectedRows } = await store.write(db =>
        sql`delete from ${tableRef} where ${keyRef} in
          (select ${keyRef} from ${tableRef} where ${expiryRef} <= ${before} limit ${batchSize})`.execute(db),
      )
      deleted = Number(numAffectedRows ?? 0)
    }
  }
  return swept
}
