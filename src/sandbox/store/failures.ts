// Counts failures, such as wrong passwords or secrets, and limited attempts, such as invitations and sign-ups. The
// counts apply to all processes together.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * One count of failures or attempts. A key must not contain an e-mail address or other text that people type: the
 * caller must hash such text first. A key can contain an IP address, because a hash of an IP address is easy to
 * reverse. The sweep deletes the count when its window has ended.
 */
export interface Bucket {
  key: string
  limit: number
  /** How long the count lasts after its first failure or attempt. */
  windowMs: number
}

/** How long a count of failed sign-ins or wrong client secrets lasts. */
export const failureWindowMs = 15 * 60_000

/**
 * The count for the address that requests come from. Failed sign-ins and wrong client secrets share this count on
 * purpose: whoever guesses one of them may also guess the other.
 */
export function sourceBucket(source: string): Bucket {
  return { key: `address ${source}`, limit: 100, windowMs: failureWindowMs }
}

/**
 * If two requests arrive at the same time, the request that read the clock earlier may be counted later. The window of
 * this request then ends a little before the stored window, although no clock is wrong. The code accepts differences up
 * to this limit.
 */
const clockToleranceMs = 60_000

/** Returns how many seconds the caller must wait before the next attempt, or 0 if no count has reached its limit. */
export async function findBackOff(db: Db, buckets: Bucket[], now: Date): Promise<number> {
  const nowMs = now.getTime()
  const rows = await db
    .selectFrom('failures')
    .select(['bucket', 'count', 'window_ends_at as windowEndsAt'])
    .where(
      'bucket',
      'in',
      buckets.map(bucket => bucket.key),
    )
    .where('window_ends_at', '>', nowMs)
    .execute()
  const waits = buckets.map(({ key, limit, windowMs }) => {
    const row = rows.find(({ bucket }) => bucket === key)
    const isFull = row !== undefined && row.count >= limit
    // Compare the end of the stored window with the end of a window that begins now. If the stored window ends much
    // later, a clock was ahead when the window was stored. Ignore this window.
    return isFull && row.windowEndsAt <= nowMs + windowMs + clockToleranceMs ? row.windowEndsAt - nowMs : 0
  })
  return Math.ceil(Math.max(0, ...waits) / 1000)
}

/**
 * Counts an attempt, and returns how many seconds the caller must wait. The result is 0 for the first attempts, as many
 * as the limit allows. Call this in a transaction: counting locks the count until the transaction ends, so attempts at
 * the same time cannot exceed the limit. If the transaction is undone, the attempt does not count.
 */
export async function countAttempt(db: Db, bucket: Bucket, now: Date): Promise<number> {
  await countFailure(db, [bucket], now)
  return findBackOff(db, [{ ...bucket, limit: bucket.limit + 1 }], now)
}

export async function forgetFailures(db: Db, bucket: string): Promise<void> {
  await db.deleteFrom('failures').where('bucket', '=', bucket).execute()
}

export async function forgetAllFailures(db: Db): Promise<void> {
  await db.deleteFrom('failures').execute()
}

/**
 * Counts a failure, with a single statement. A window begins with its first failure, and later failures do not move its
 * end.
 */
export async function countFailure(db: Db, buckets: Bucket[], now: Date): Promise<void> {
  const nowMs = now.getTime()
  // In SQL, `excluded` is the row of a window that begins now. findBackOff explains why a stored window that ends much
  // later is ignored.
  const isOver = sql`(failures.window_ends_at <= ${nowMs}
    or failures.window_ends_at > excluded.window_ends_at + ${clockToleranceMs})`
  await db
    .insertInto('failures')
    .values(buckets.map(({ key, windowMs }) => ({ bucket: key, count: 1, window_ends_at: nowMs + windowMs })))
    .onConflict(conflict =>
      conflict
        .column('bucket')
        .doUpdateSet({
          count: sql`case when ${isOver} then 1 else failures.count + 1 end`,
          window_ends_at: sql`case when ${isOver} then excluded.window_ends_at else failures.window_ends_at end`,
        }),
    )
    .execute()
}
