// The sessions of browsers that are signed in to the portal. The cookie contains the id of the session, and the store
// has only the hash of this id.
import { revokeAllGrantsOf } from './grants.ts'
import { type Db, unchanged } from './schema.ts'
import { lockUser, type User, userColumns } from './users.ts'

interface NewPortalSession {
  idHash: string
  userId: string
  now: Date
  expiresAt: Date
}

interface PortalSession {
  user: User
  startedAt: Date
  /** The end of the session. Each use of the session can move this end to a later time. */
  expiresAt: Date
}

export async function createPortalSession(db: Db, session: NewPortalSession): Promise<void> {
  await db
    .insertInto('portal_sessions')
    .values({
      id_hash: session.idHash,
      user_id: session.userId,
      created_at: session.now.getTime(),
      expires_at: session.expiresAt.getTime(),
    })
    .execute()
}

/** Returns undefined if the session does not exist or has expired. */
export async function findPortalSession(db: Db, idHash: string, now: Date): Promise<PortalSession | undefined> {
  const row = await db
    .selectFrom('portal_sessions')
    .innerJoin('users', 'users.id', 'portal_sessions.user_id')
    .select(userColumns)
    .select(['portal_sessions.created_at as startedAt', 'portal_sessions.expires_at as expiresAt'])
    .where('portal_sessions.id_hash', '=', idHash)
    .where('portal_sessions.expires_at', '>', now.getTime())
    .executeTakeFirst()
  if (!row) return undefined
  const { startedAt, expiresAt, ...user } = row
  return { user, startedAt: new Date(startedAt), expiresAt: new Date(expiresAt) }
}

interface ListedSession {
  idHash: string
  startedAt: Date
}

/** Lists at most `limit` sessions of a user that have not expired, newest first. */
export async function listPortalSessions(db: Db, userId: string, now: Date, limit: number): Promise<ListedSession[]> {
  const rows = await db
    .selectFrom('portal_sessions')
    .select(['id_hash as idHash', 'created_at as startedAt'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', now.getTime())
    .orderBy('created_at', 'desc')
    .orderBy('id_hash')
    .limit(limit)
    .execute()
  return rows.map(({ idHash, startedAt }) => ({ idHash, startedAt: new Date(startedAt) }))
}

/**
 * Moves the end of a session to a later time, never to an earlier time. If two requests move the end at the same time,
 * the store keeps the later end. If a session has already ended, the function does nothing.
 */
export async function extendPortalSession(
  db: Db,
  idHash: string,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<void> {
  await db
    .updateTable('portal_sessions')
    .set({ expires_at: expiresAt.getTime() })
    .where('id_hash', '=', idHash)
    .where('expires_at', '<', expiresAt.getTime())
    .where('expires_at', '>', now.getTime())
    .execute()
}

export async function deletePortalSession(db: Db, idHash: string): Promise<void> {
  await db.deleteFrom('portal_sessions').where('id_hash', '=', idHash).execute()
}

/**
 * Ends every session of the user, and every grant for any application (RFC 9700 4.14.2). Call this in a transaction,
 * because it runs several statements. The function locks the user first, and therefore waits for a sign-in that has
 * already checked the password (lockProof).
 */
export async function signOutEverywhere(db: Db, userId: string, now: Date): Promise<void> {
  await lockUser(db, userId)
  await db.deleteFrom('portal_sessions').where('user_id', '=', userId).execute()
  await revokeAllGrantsOf(db, userId, now)
}

/** Says how a user has proved who they are: with a session at the portal, or with the right password. */
export type Proof = { sessionHash: string } | { passwordHash: string }

/**
 * Returns false if the proof is no longer valid. A valid proof stays locked until the transaction ends. If another
 * request ends the session or changes the password at the same time, that request waits for the transaction, and then
 * ends everything that the transaction has created.
 */
export async function lockProof(db: Db, userId: string, proof: Proof): Promise<boolean> {
  const update =
    'sessionHash' in proof
      ? db
          .updateTable('portal_sessions')
          .set(unchanged)
          .where('id_hash', '=', proof.sessionHash)
          .where('user_id', '=', userId)
      : db.updateTable('users').set(unchanged).where('id', '=', userId).where('password_hash', '=', proof.passwordHash)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows > 0n
}
