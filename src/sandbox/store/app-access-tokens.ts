// The access tokens that belong to an application's credentials. The store has only the ids of these tokens. A token
// ends when somebody revokes it, or when the application is removed.
import { isPresent } from './present-applications.ts'
import type { Db } from './schema.ts'

export async function insertAppAccessTokens(
  db: Db,
  { ids, applicationId, now, expiresAt }: { ids: string[]; applicationId: string; now: Date; expiresAt: Date },
): Promise<void> {
  const dates = { created_at: now.getTime(), expires_at: expiresAt.getTime() }
  await db
    .insertInto('app_access_tokens')
    .values(ids.map(id => ({ id, application_id: applicationId, ...dates })))
    .execute()
}

/**
 * Finds the application of a token. `expired` is the time at which the laboratory made the token expire early, or null.
 * Returns undefined if the token was revoked.
 */
export async function findAppAccessToken(
  db: Db,
  id: string,
): Promise<{ clientId: string; expired: number | null } | undefined> {
  return db
    .selectFrom('app_access_tokens')
    .innerJoin('applications', 'applications.id', 'app_access_tokens.application_id')
    .select(['applications.id as clientId', 'app_access_tokens.expired_at as expired'])
    .where('app_access_tokens.id', '=', id)
    .where(isPresent)
    .executeTakeFirst()
}

/** Returns false if the token does not exist, or belongs to another application. */
export async function deleteAppAccessToken(db: Db, id: string, applicationId: string): Promise<boolean> {
  const row = await db
    .deleteFrom('app_access_tokens')
    .where('id', '=', id)
    .where('application_id', '=', applicationId)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}
