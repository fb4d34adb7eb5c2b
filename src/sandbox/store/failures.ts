// Counts failures for each account, client and address, in all processes together, so that guessing has a limit.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** One count. The caller hashes a `key` that is personal. */
export interface Bucket {
  key: string
  limit: number
  /** How long the count lasts, from its first failure. */
  windowMs: number
}

/** The length of a window for failed sign-ins and wrong client secrets. */
export const failureWindowMs = 15 * 60_000

/**
 * Two requests may come at the same time, and the one that is counted second may have read the clock first. Its window
 * then ends a little before the stored window, although no clock is wrong. Such small differences are tolerated.
 */
const clockToleranceMs = 60_000

/** Seconds until the caller may try again, or 0 if no bucket is full. */
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
    // A window that begins now would end at a certain time. If the stored window ends much later, a clock was ahead
    // when it was written. Ignore such a window.
    return isFull && row.windowEndsAt <= nowMs + windowMs + clockToleranceMs ? row.windowEndsAt - nowMs : 0
  })
  return Math.ceil(Math.max(0, ...waits) / 1000)
}

export async function forgetFailures(db: Db, bucket: string): Promise<void> {
  await db.deleteFrom('failures').where('bucket', '=', bucket).execute()
}

export async function forgetAllFailures(db: Db): Promise<void> {
  await db.deleteFrom('failures').execute()
}

/** One statement. The window begins with its first failure, and later failures do not move it. */
export async function countFailure(db: Db, buckets: Bucket[], now: Date): Promise<void> {
  const nowMs = now.getTime()
  // `excluded` is the row that a new window would have now. See findBackOff for windows that end later.
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
