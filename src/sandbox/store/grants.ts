// Grants: what one login of one user gave one client. First a code; once redeemed, a family of tokens.
import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import { ApplicationRemoved } from './applications.ts'
import type { Db, Schema } from './schema.ts'

/** No user's access token lives longer; so much longer than its end the sweep keeps a family. */
export const longestTokenSeconds = 86_400

/** A family lives this long, and unless its client is told otherwise this long without being used. */
export const familyLifetimeMs = 90 * 86_400_000
export const idleLifetimeSeconds = 14 * 86_400

/** What a code is bound to. Hashes are empty where the login had no state, or no PKCE challenge. */
export interface CodeBinding {
  codeHash: string
  clientId: string
  redirectUri: string
  stateHash: string
  codeChallenge: string
}

export interface RedeemedCode {
  grantId: string
  userId: string
}

/** The code's grant: it ends with the code, unless the code is redeemed. Throws ApplicationRemoved. */
export async function createGrant(
  db: Db,
  userId: string,
  binding: CodeBinding,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<void> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  const { rows } = await sql`
    insert into grants (
      id, user_id, application_id, created_at, expires_at, code_hash, redirect_uri, state_hash, code_challenge, generation
    )
    select ${randomUUID()}, ${userId}, id, cast(${nowMs} as bigint), cast(${expiresAt.getTime()} as bigint),
      ${codeHash}, ${redirectUri}, ${stateHash}, ${codeChallenge}, 0
    from applications where id = ${clientId} and removed_at is null
    returning id
  `.execute(db)
  if (rows.length === 0) throw new ApplicationRemoved()
}

/**
 * Redeems a code once: of any number of callers in any number of processes one gets an answer, the others undefined.
 * Everything the code is bound to stands in the condition, so that a wrong exchange changes nothing.
 */
export async function redeemGrant(
  db: Db,
  binding: CodeBinding,
  { refreshTokenHash, refreshTokenSeconds, now }: { refreshTokenHash: string; refreshTokenSeconds: number; now: Date },
): Promise<RedeemedCode | undefined> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  // A login without a state has none to compare, whatever the exchange sends. As text, because building the statement
  // anew for each exchange takes longer than running it.
  const { rows } = await sql<RedeemedCode>`
    update grants
    set redeemed_at = ${nowMs}, refresh_token_hash = ${refreshTokenHash},
      refresh_expires_at = ${nowMs + refreshTokenSeconds * 1000}, expires_at = ${nowMs + familyLifetimeMs}
    where code_hash = ${codeHash} and redeemed_at is null and revoked_at is null and expires_at > ${nowMs}
      and application_id = ${clientId} and redirect_uri = ${redirectUri}
      and state_hash in ('', ${stateHash}) and code_challenge = ${codeChallenge}
    returning id as "grantId", user_id as "userId"
  `.execute(db)
  return rows[0]
}

export async function findGrantByCode(db: Db, codeHash: string): Promise<Selectable<Schema['grants']> | undefined> {
  return db.selectFrom('grants').selectAll().where('code_hash', '=', codeHash).executeTakeFirst()
}

/** Ends the family: its refresh token and every access token it gave. */
export async function revokeGrant(db: Db, grantId: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('id', '=', grantId)
    .where('revoked_at', 'is', null)
    .execute()
}

export interface LiveGrant {
  userId: string
  clientId: string | null
  /** Null, or the last generation whose access tokens were let expire before their time. */
  expiredGeneration: number | null
}

/** A grant that was not revoked. Undefined as well when its application was removed. */
export async function findLiveGrant(db: Db, grantId: string): Promise<LiveGrant | undefined> {
  return db
    .selectFrom('grants')
    .leftJoin('applications', 'applications.id', 'grants.application_id')
    .select(['grants.user_id as userId', 'grants.application_id as clientId'])
    .select('grants.expired_generation as expiredGeneration')
    .where('grants.id', '=', grantId)
    .where('grants.revoked_at', 'is', null)
    .where('applications.removed_at', 'is', null)
    .executeTakeFirst()
}
