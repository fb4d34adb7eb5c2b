// Everything that a user's password and consents have opened, ended.
import { deletePortalSessionsOf } from './portal-sessions.ts'
import type { Db } from './schema.ts'
import { revokeAllGrantsOf } from './user-grants.ts'

/**
 * Ends every session of the user and every grant, of whatever application (RFC 9700 4.14.2): for whoever fears that
 * somebody else is signed in as them. Two statements: call it in a transaction.
 */
export async function signOutEverywhere(db: Db, userId: string, now: Date): Promise<void> {
  await deletePortalSessionsOf(db, userId)
  await revokeAllGrantsOf(db, userId, now)
}
