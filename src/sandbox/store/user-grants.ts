// Grants as their user sees them: what an application was given, and the access tokens made on the portal's own page.
import { nextSequence } from './grants.ts'
import type { Db } from './schema.ts'

/** A grant of no application, for one access token. False when there is one with this id: a form that was sent twice. */
export async function createPortalGrant(
  db: Db,
  { id, userId, now, expiresAt }: { id: string; userId: string; now: Date; expiresAt: Date },
): Promise<boolean> {
  const row = await db
    .insertInto('grants')
    .values({
      id,
      user_id: userId,
      application_id: null,
      created_at: now.getTime(),
      expires_at: expiresAt.getTime(),
      redirect_uri: '',
      state_hash: '',
      code_challenge: '',
      redeemed_at: now.getTime(),
      generation: 0,
      sequence: nextSequence(userId, null),
    })
    .onConflict(conflict => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** How many access tokens from the portal's own page are still good. */
export async function countPortalGrants(db: Db, userId: string, now: Date): Promise<number> {
  const row = await db
    .selectFrom('grants')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('application_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.getTime())
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Ends whatever an application has of this user, codes included; null ends the tokens from the portal's own page. */
export async function revokeGrantsOf(db: Db, userId: string, applicationId: string | null, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('application_id', applicationId === null ? 'is' : '=', applicationId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Ends every grant of this user, of whatever application, codes included. */
export async function revokeAllGrantsOf(db: Db, userId: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
}
