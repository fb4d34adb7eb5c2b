// Makes tokens, codes and sessions expire early, but only if they belong to people whom the laboratory or the seeding
// has made. Each function resolves to the number of records that it has changed.
import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { isMade } from './marks.ts'

/**
 * Selects one token, code or session by its hash, or all records that belong to a person. If `clientId` is set, only
 * records of this client are selected.
 */
export type Selection = { hash: string } | OfPerson

interface OfPerson {
  userId: string
  clientId?: string | undefined
}

/**
 * Makes access tokens expire: the tokens of a grant up to and including this generation, or all tokens of a person.
 * Refresh tokens stay valid.
 */
export async function expireAccessTokens(
  db: Db,
  which: { grantId: string; generation: number } | OfPerson,
): Promise<number> {
  const generation =
    'grantId' in which ? sql<number>`cast(${which.generation} as bigint)` : sql.ref<number>('generation')
  const query = db
    .updateTable('grants')
    .set({ expired_generation: generation })
    .where(isMade('grants.user_id'))
    .where('revoked_at', 'is', null)
    .where('redeemed_at', 'is not', null)
    .where(sql<boolean>`coalesce(expired_generation, -1) < ${generation}`)
  return count('grantId' in which ? query.where('id', '=', which.grantId) : query.where(isOf(which)))
}

/** Makes one of the tokens in an application's credentials expire. */
export async function expireAppAccessToken(db: Db, id: string, now: Date): Promise<number> {
  return count(
    db
      .updateTable('app_access_tokens')
      .set({ expired_at: now.getTime() })
      .where('id', '=', id)
      .where('expired_at', 'is', null)
      .where(
        sql<boolean>`exists (select 1 from applications where applications.id = application_id
          and (suite is not null or ${isMade('applications.created_by')}))`,
      ),
  )
}

export async function expireRefreshTokens(db: Db, which: Selection, now: Date): Promise<number> {
  const query = db
    .updateTable('grants')
    .set({ refresh_expires_at: now.getTime() })
    .where(isMade('grants.user_id'))
    .where('revoked_at', 'is', null)
    .where('refresh_expires_at', '>', now.getTime())
  return count('hash' in which ? query.where('refresh_token_hash', '=', which.hash) : query.where(isOf(which)))
}

/** Makes unredeemed codes expire. */
export async function expireCodes(db: Db, which: Selection, now: Date): Promise<number> {
  const query = db
    .updateTable('grants')
    .set({ expires_at: now.getTime() })
    .where(isMade('grants.user_id'))
    .where('revoked_at', 'is', null)
    .where('redeemed_at', 'is', null)
    .where('expires_at', '>', now.getTime())
  return count('hash' in which ? query.where('code_hash', '=', which.hash) : query.where(isOf(which)))
}

export async function expirePortalSessions(db: Db, which: Selection, now: Date): Promise<number> {
  const query = db
    .updateTable('portal_sessions')
    .set({ expires_at: now.getTime() })
    .where(isMade('portal_sessions.user_id'))
    .where('expires_at', '>', now.getTime())
  return count('hash' in which ? query.where('id_hash', '=', which.hash) : query.where('user_id', '=', which.userId))
}

function isOf({ userId, clientId }: OfPerson) {
  return clientId === undefined
    ? sql<boolean>`user_id = ${userId}`
    : sql<boolean>`user_id = ${userId} and application_id = ${clientId}`
}

async function count(query: { executeTakeFirst(): Promise<{ numUpdatedRows: bigint }> }): Promise<number> {
  return Number((await query.executeTakeFirst()).numUpdatedRows)
}
