// Forms that can be used only once, such as a consent page or a form that adds a secret.
import type { Db } from './schema.ts'

/** Marks a form as used. Returns true only for the first caller with this id, in all processes together. */
export async function markFormUsed(db: Db, id: string, expiresAt: Date): Promise<boolean> {
  const row = await db
    .insertInto('finished_authorizations')
    .values({ id, expires_at: expiresAt.getTime() })
    .onConflict(conflict => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
