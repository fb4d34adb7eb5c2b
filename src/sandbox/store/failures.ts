// Counts failed tries for each account, client and address, so that guessing meets an end in whatever process.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

/** A count that is kept: `key` is hashed by the caller where it is personal. */
export interface Bucket {
  key: string
  limit: number
}

export const failureWindowMs = 15 * 60_000

/** Seconds until the next try is heard, or 0 when none of the buckets is full. */
export async function findBackOff(db: Db, buckets: Bucket[], now: Date): Promise<number> {
  const rows = await db
    .selectFrom('failures')
    .select(['bucket', 'count', 'window_ends_at as windowEndsAt'])
    .where(
      'bucket',
      'in',
      buckets.map(bucket => bucket.key),
    )
    .where('window_ends_at', '>', now.getTime())
    .execute()
  const full = rows.filter(row => buckets.some(({ key, limit }) => key === row.bucket && row.count >= limit))
  return Math.max(0, ...full.map(row => Math.ceil((row.windowEndsAt - now.getTime()) / 1000)))
}

export async function forgetFailures(db: Db, bucket: string): Promise<void> {
  await db.deleteFrom('failures').where('bucket', '=', bucket).execute()
}

export async function forgetAllFailures(db: Db): Promise<void> {
  await db.deleteFrom('failures').execute()
}

/** One statement: the window begins with its first failure and does not move with later ones. */
export async function countFailure(
  db: Db,
  buckets: Bucket[],
  now: Date,
  windowMs: number = failureWindowMs,
): Promise<void> {
  const nowMs = now.getTime()
  await db
    .insertInto('failures')
    .values(buckets.map(({ key }) => ({ bucket: key, count: 1, window_ends_at: nowMs + windowMs })))
    .onConflict(conflict =>
      conflict.column('bucket').doUpdateSet({
        count: sql`case when failures.window_ends_at <= ${nowMs} then 1 else failures.count + 1 end`,
        window_ends_at: sql`case when failures.window_ends_at <= ${nowMs} then excluded.window_ends_at
          else failures.window_ends_at end`,
      }),
    )
    .execute()
}
