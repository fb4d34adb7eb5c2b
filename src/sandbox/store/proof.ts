// What showed who a user is, looked at again where something is made that signing out everywhere ends.
import type { Db } from './schema.ts'

/** A session at the portal, or a password that was right. */
export type Proof = { sessionHash: string } | { passwordHash: string }

/**
 * False when it does not count any more. Otherwise it stays locked until the transaction ends: whoever ends the session
 * or changes the password meanwhile waits, and then ends what was made.
 */
export async function lockProof(db: Db, userId: string, proof: Proof): Promise<boolean> {
  const update =
    'sessionHash' in proof
      ? db
          .updateTable('portal_sessions')
          .set(eb => ({ created_at: eb.ref('created_at') }))
          .where('id_hash', '=', proof.sessionHash)
          .where('user_id', '=', userId)
      : db
          .updateTable('users')
          .set(eb => ({ created_at: eb.ref('created_at') }))
          .where('id', '=', userId)
          .where('password_hash', '=', proof.passwordHash)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows > 0n
}
