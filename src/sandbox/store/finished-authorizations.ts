// Consent pages that were answered. An answer counts once, however often the browser sends it.
import type { Db } from './schema.ts'

/** True for the first caller with this id, false for every other, in whatever process. */
export async function finishAuthorization(db: Db, id: string, expiresAt: Date): Promise<boolean> {
  const row = await db
    .insertInto('finished_authorizations')
    .values({ id, expires_at: expiresAt.getTime() })
    .onConflict(conflict => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
