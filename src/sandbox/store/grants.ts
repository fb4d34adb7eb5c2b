// Grants: what one login of one user gave one client. First a code; once redeemed, a family of tokens.
import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Db, Schema } from './schema.ts'

/** A code can be redeemed for this long; a family lives this long, and this long without being used. */
export const codeLifetimeMs = 60_000
export const familyLifetimeMs = 90 * 86_400_000
export const idleLifetimeMs = 14 * 86_400_000

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

/** The code's grant: it ends with the code, unless the code is redeemed. */
export async function createGrant(db: Db, userId: string, binding: CodeBinding, now: Date): Promise<void> {
  await db
    .insertInto('grants')
    .values({
      id: randomUUID(),
      user_id: userId,
      application_id: binding.clientId,
      created_at: now.getTime(),
      expires_at: now.getTime() + codeLifetimeMs,
      code_hash: binding.codeHash,
      redirect_uri: binding.redirectUri,
      state_hash: binding.stateHash,
      code_challenge: binding.codeChallenge,
      generation: 0,
    })
    .execute()
}

/**
 * Redeems a code once: of any number of callers in any number of processes one gets an answer, the others undefined.
 * Everything the code is bound to stands in the condition, so that a wrong exchange changes nothing.
 */
export async function redeemGrant(
  db: Db,
  binding: CodeBinding,
  refreshTokenHash: string,
  now: Date,
): Promise<RedeemedCode | undefined> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  // A login without a state has none to compare, whatever the exchange sends. As text, because building the statement
  // anew for each exchange takes longer than running it.
  const { rows } = await sql<RedeemedCode>`
    update grants
    set redeemed_at = ${nowMs}, refresh_token_hash = ${refreshTokenHash},
      refresh_expires_at = ${nowMs + idleLifetimeMs}, expires_at = ${nowMs + familyLifetimeMs}
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

/** The user and client of a grant that was not revoked. Undefined as well when its user or application is gone. */
export async function findLiveGrant(
  db: Db,
  grantId: string,
): Promise<{ userId: string; clientId: string | null } | undefined> {
  return db
    .selectFrom('grants')
    .select(['user_id as userId', 'application_id as clientId'])
    .where('id', '=', grantId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
}
