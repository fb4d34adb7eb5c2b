// Sessions of browsers that are signed in to the portal. The cookie holds the id, the store its hash.
import type { Db } from './schema.ts'
import type { User } from './users.ts'

export interface NewPortalSession {
  idHash: string
  userId: string
  now: Date
  expiresAt: Date
}

export interface PortalSession {
  user: User
  startedAt: Date
  /** Moves on while the session is used. */
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

/** Undefined when there is none, or none any more. */
export async function findPortalSession(db: Db, idHash: string, now: Date): Promise<PortalSession | undefined> {
  const row = await db
    .selectFrom('portal_sessions')
    .innerJoin('users', 'users.id', 'portal_sessions.user_id')
    .select(['users.id', 'users.email', 'users.first_name as firstName', 'users.last_name as lastName'])
    .select(['portal_sessions.created_at as startedAt', 'portal_sessions.expires_at as expiresAt'])
    .where('portal_sessions.id_hash', '=', idHash)
    .where('portal_sessions.expires_at', '>', now.getTime())
    .executeTakeFirst()
  if (!row) return undefined
  const { startedAt, expiresAt, ...user } = row
  return { user, startedAt: new Date(startedAt), expiresAt: new Date(expiresAt) }
}

/** Never brings the end nearer: of two requests at once the later end counts. What has ended meanwhile stays so. */
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

export async function deletePortalSessionsOf(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('portal_sessions').where('user_id', '=', userId).execute()
}
