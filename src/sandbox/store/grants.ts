// Grants. A grant is the result of one login of one user for one client. A grant begins as a code. When the client
// redeems the code, the grant becomes a family of tokens. A grant without a client is an access token from the portal's
// own page.
import { randomUUID } from 'node:crypto'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import { isPresent } from './present-applications.ts'
import type { Db, Tables } from './schema.ts'

/** The longest lifetime of a user's access token. The sweep keeps a family for this long after the family's end. */
export const longestTokenSeconds = 86_400

/** The longest lifetime of a family. A family that is not used ends after idleLifetimeSeconds. */
export const familyLifetimeMs = 90 * 86_400_000
export const idleLifetimeSeconds = 14 * 86_400

/**
 * How many grants one user can have for one client at the same time. If one more grant begins, the oldest grant ends.
 */
const mostLiveGrants = 100

/**
 * The values that a code is bound to. `stateHash` is empty if the login had no state, and `codeChallenge` is empty if
 * the login had no PKCE challenge.
 */
export interface CodeBinding {
  codeHash: string
  clientId: string
  redirectUri: string
  stateHash: string
  codeChallenge: string
}

interface RedeemedCode {
  grantId: string
  userId: string
}

/**
 * Stores the grant of a new code. If no client redeems the code, the grant ends when the code expires. If the
 * application was removed, the function stores nothing and returns false. Call endSurplusGrants after this.
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

/**
 * Returns an SQL expression for the sequence number of a new grant. The grants of one user for one client are numbered
 * from 1. If `clientId` is null, the expression numbers the user's access tokens from the portal's own page.
 */
function nextSequence(userId: string, clientId: string | null): RawBuilder<number> {
  return sql<number>`(select coalesce(max(sequence), 0) + 1 from grants where ${isOfUserAndClient(userId, clientId)})`
}

function isOfUserAndClient(userId: string, clientId: string | null): RawBuilder<boolean> {
  return clientId === null
    ? sql<boolean>`user_id = ${userId} and application_id is null`
    : sql<boolean>`user_id = ${userId} and application_id = ${clientId}`
}

/**
 * Ends the oldest grants if this user has more live grants for this client than the limit. The same limit applies to
 * the number of ended grants that are kept, so that logins cannot fill the database. Each call deletes at most two
 * ended grants above the limit. If `clientId` is null, the function does this for the access tokens from the portal's
 * own page. Call this in the transaction that inserted the new grant, because it runs two statements.
 */
export async function endSurplusGrants(db: Db, userId: string, clientId: string | null, now: Date): Promise<void> {
  const nowMs = now.getTime()
  const ofThisUserAndClient = isOfUserAndClient(userId, clientId)
  const isLive = sql`revoked_at is null and expires_at > ${nowMs} and coalesce(refresh_expires_at, expires_at) > ${nowMs}`
  await sql`
    update grants set revoked_at = ${nowMs}
    where ${ofThisUserAndClient} and ${isLive} and id not in (
      select id from grants where ${ofThisUserAndClient} and ${isLive} order by sequence desc, created_at desc limit ${mostLiveGrants}
    )
  `.execute(db)
  // Leave expired families to the sweep, because their access tokens may still be valid. Delete at most two grants, to
  // keep the transaction short. Every new grant causes one call, and each call can delete two ended grants. The number
  // of ended grants therefore falls to the limit, even if many grants have ended at the same time.
  const isEnded = sql`(revoked_at is not null or (redeemed_at is null and expires_at <= ${nowMs}))`
  await sql`
    delete from grants where id in (
      select id from grants where ${ofThisUserAndClient} and ${isEnded}
      order by sequence desc, created_at desc limit 2 offset ${mostLiveGrants}
    )
  `.execute(db)
}

/**
 * Redeems a code once. If several callers send the same code, in one process or in several processes, only the first
 * caller gets a result. The other callers get undefined. The statement compares every value that the code is bound to,
 * so a wrong exchange changes nothing.
 */
export async function redeemGrant(
  db: Db,
  binding: CodeBinding,
  { refreshTokenHash, refreshTokenSeconds, now }: { refreshTokenHash: string; refreshTokenSeconds: number; now: Date },
): Promise<RedeemedCode | undefined> {
  const nowMs = now.getTime()
  const { codeHash, clientId, redirectUri, stateHash, codeChallenge } = binding
  // If the login had no state, the state in the exchange is not compared. The query is SQL text, because building it
  // with Kysely for each exchange would take longer than running it.
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
interface Grant {
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

/** Ends a family: its refresh token and all its access tokens. */
export async function revokeGrant(db: Db, grantId: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('id', '=', grantId)
    .where('revoked_at', 'is', null)
    .execute()
}

interface LiveGrant {
  userId: string
  clientId: string | null
  /**
   * The laboratory has made the access tokens of this generation, and of all earlier generations, expire early. Null if
   * no access token has expired early.
   */
  expiredGeneration: number | null
}

/** Returns undefined if the grant was revoked or its application was removed. */
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
 * Stores a grant without an application, for one access token. Returns false if the id exists already, because the form
 * was sent twice.
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
interface PortalGrant {
  id: string
  /** The purpose of the token, as the person has entered it. Empty if the person has entered nothing. */
  name: string
  /** The last characters of the token. Empty if an earlier version of the sandbox made the token. */
  end: string
  createdAt: Date
  expiresAt: Date
}

/**
 * Lists the user's valid access tokens from the portal's own page, newest first. The limit mostLiveGrants also applies
 * to these tokens.
 */
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

/** Ends one of this user's access tokens from the portal's own page. Does nothing for any other `id`. */
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

/**
 * Ends every grant of the user for this application, including codes. If `applicationId` is null, the function ends the
 * access tokens from the portal's own page.
 */
export async function revokeGrantsOf(db: Db, userId: string, applicationId: string | null, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('application_id', applicationId === null ? 'is' : '=', applicationId)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Ends all grants of the user, including codes, for all applications. */
export async function revokeAllGrantsOf(db: Db, userId: string, now: Date): Promise<void> {
  await db
    .updateTable('grants')
    .set({ revoked_at: now.getTime() })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute()
}
