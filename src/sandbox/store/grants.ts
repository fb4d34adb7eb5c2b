// Grants: a grant is the result of one login of one user for one client. A grant begins as a code. When the code is
// redeemed, it becomes a family of tokens. Grants without a client are access tokens from the portal's own page.
import { randomUUID } from 'node:crypto'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import { isPresent } from './present-applications.ts'
import type { Db, Tables } from './schema.ts'

/** The longest lifetime of a user's access token. The sweep deletes a family only this long after its end. */
export const longestTokenSeconds = 86_400

/** The longest life of a family. An unused family ends sooner: see the next line. */
export const familyLifetimeMs = 90 * 86_400_000
export const idleLifetimeSeconds = 14 * 86_400

/** How many grants of one user for one client can be live. If another grant begins, the oldest ends. */
const mostLiveGrants = 100

/** The values that a code is bound to. A hash is empty if the login had no state, or no PKCE challenge. */
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

/**
 * The grant of a code: it ends with the code, unless the code is redeemed. False, and nothing is stored, if the
 * application was removed. If a user causes the new grant, call endSurplusGrants after this.
 */
export async function createGrant(
  db: Db,
  userId: string,
  binding: CodeBinding,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<boolean> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  const { rows } = await sql`
    insert into grants (
      id, user_id, application_id, created_at, expires_at, code_hash, redirect_uri, state_hash, code_challenge, generation,
      sequence
    )
    select ${randomUUID()}, ${userId}, id, cast(${nowMs} as bigint), cast(${expiresAt.getTime()} as bigint),
      ${codeHash}, ${redirectUri}, ${stateHash}, ${codeChallenge}, 0,
      ${nextSequence(userId, clientId)}
    from applications where id = ${clientId} and ${isPresent}
    returning id
  `.execute(db)
  return rows.length > 0
}

/** The number for the next grant of this user for this client, counted from 1. Null means the portal's own page. */
function nextSequence(userId: string, clientId: string | null): RawBuilder<number> {
  return sql<number>`(select coalesce(max(sequence), 0) + 1 from grants where ${isBetween(userId, clientId)})`
}

function isBetween(userId: string, clientId: string | null): RawBuilder<boolean> {
  return clientId === null
    ? sql<boolean>`user_id = ${userId} and application_id is null`
    : sql<boolean>`user_id = ${userId} and application_id = ${clientId}`
}

/**
 * If this user has more grants for this client than the limit, this function ends the oldest grants. It also deletes
 * the oldest ended grants and keeps as many as the limit, so that logins cannot fill the database. Null means the
 * portal's own access tokens. This runs two SQL statements, so call it in the transaction that inserted the new grant.
 */
export async function endSurplusGrants(db: Db, userId: string, clientId: string | null, now: Date): Promise<void> {
  const nowMs = now.getTime()
  const isIts = isBetween(userId, clientId)
  const isLive = sql`revoked_at is null and expires_at > ${nowMs} and coalesce(refresh_expires_at, expires_at) > ${nowMs}`
  await sql`
    update grants set revoked_at = ${nowMs}
    where ${isIts} and ${isLive} and id not in (
      select id from grants where ${isIts} and ${isLive} order by sequence desc, created_at desc limit ${mostLiveGrants}
    )
  `.execute(db)
  // Leave expired families to the sweep, because their access tokens may still be valid. Delete at most two, to keep
  // the transaction short. Usually only one grant was added. By deleting two each time, the function also catches up
  // after many grants have ended at once.
  const isEnded = sql`(revoked_at is not null or (redeemed_at is null and expires_at <= ${nowMs}))`
  await sql`
    delete from grants where id in (
      select id from grants where ${isIts} and ${isEnded}
      order by sequence desc, created_at desc limit 2 offset ${mostLiveGrants}
    )
  `.execute(db)
}

/**
 * Redeems a code once. If several callers send the same code, in one process or in several, only the first gets an
 * answer. The others get undefined. The condition names everything that the code is bound to, so a wrong exchange
 * changes nothing.
 */
export async function redeemGrant(
  db: Db,
  binding: CodeBinding,
  { refreshTokenHash, refreshTokenSeconds, now }: { refreshTokenHash: string; refreshTokenSeconds: number; now: Date },
): Promise<RedeemedCode | undefined> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  // If the login had no state, the state of the exchange is not compared. The statement is text, because building it with
  // Kysely for each exchange takes longer than running it.
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

/** A grant as it is stored. */
export interface Grant {
  grantId: string
  userId: string
  /** Null for an access token from the portal's own page. */
  clientId: string | null
  redirectUri: string
  stateHash: string
  codeChallenge: string
  expiresAt: Date
  redeemedAt: Date | undefined
  revokedAt: Date | undefined
}

export async function findGrantByCode(db: Db, codeHash: string): Promise<Grant | undefined> {
  const row = await db.selectFrom('grants').selectAll().where('code_hash', '=', codeHash).executeTakeFirst()
  return row && toGrant(row)
}

function toGrant(row: Selectable<Tables['grants']>): Grant {
  return {
    grantId: row.id,
    userId: row.user_id,
    clientId: row.application_id,
    redirectUri: row.redirect_uri,
    stateHash: row.state_hash,
    codeChallenge: row.code_challenge,
    expiresAt: new Date(row.expires_at),
    redeemedAt: row.redeemed_at === null ? undefined : new Date(row.redeemed_at),
    revokedAt: row.revoked_at === null ? undefined : new Date(row.revoked_at),
  }
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
  /** Access tokens of this and earlier generations have expired before their time. Null if no access token has. */
  expiredGeneration: number | null
}

/** Undefined if the grant was revoked or its application was removed. */
export async function findLiveGrant(db: Db, grantId: string): Promise<LiveGrant | undefined> {
  return db
    .selectFrom('grants')
    .leftJoin('applications', 'applications.id', 'grants.application_id')
    .select(['grants.user_id as userId', 'grants.application_id as clientId'])
    .select('grants.expired_generation as expiredGeneration')
    .where('grants.id', '=', grantId)
    .where('grants.revoked_at', 'is', null)
    .where(isPresent)
    .executeTakeFirst()
}

interface NewPortalGrant {
  id: string
  userId: string
  now: Date
  expiresAt: Date
  tokenName?: string
  tokenEnd?: string
}

/**
 * A grant without an application, for one access token. Returns false if the id exists already, because the form was sent
 * twice.
 */
export async function createPortalGrant(
  db: Db,
  { id, userId, now, expiresAt, tokenName = '', tokenEnd = '' }: NewPortalGrant,
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
      token_name: tokenName,
      token_end: tokenEnd,
    })
    .onConflict(conflict => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** An access token from the portal's own page. */
export interface PortalGrant {
  id: string
  /** What the person said the token is for. Empty if they said nothing. */
  name: string
  /** The last characters of the token. Empty for tokens of earlier versions. */
  end: string
  createdAt: Date
  expiresAt: Date
}

/** The access tokens that are still valid, the newest first. There are never more than the limit. */
export async function listPortalGrants(db: Db, userId: string, now: Date): Promise<PortalGrant[]> {
  const rows = await db
    .selectFrom('grants')
    .select(['id', 'token_name as name', 'token_end as end', 'created_at as createdAt', 'expires_at as expiresAt'])
    .where('user_id', '=', userId)
    .where('application_id', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.getTime())
    .orderBy('sequence', 'desc')
    .orderBy('id')
    .limit(mostLiveGrants)
    .execute()
  return rows.map(row => ({ ...row, createdAt: new Date(row.createdAt), expiresAt: new Date(row.expiresAt) }))
}

/** Ends one access token of this user from the portal's own page. Any other id changes nothing. */
export async function revokePortalGrant(db: Db, userId: string, id: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('application_id', 'is', null)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Ends every grant of the user to this application, codes included. Null ends the tokens from the portal's own page. */
export async function revokeGrantsOf(db: Db, userId: string, applicationId: string | null, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('application_id', applicationId === null ? 'is' : '=', applicationId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Ends every grant of the user to any application, codes included. */
export async function revokeAllGrantsOf(db: Db, userId: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
}
