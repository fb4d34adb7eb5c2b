// Refresh tokens. The row of a grant contains the newest refresh token of the family. Replaced tokens are also stored,
// so that the portal recognises them.
import type { Db } from './schema.ts'

/** A family of tokens, with its user. */
export interface TokenFamily {
  grantId: string
  userId: string
  /** How many times the refresh token of the family was replaced. */
  generation: number
}

// The store keeps this many replaced tokens for a family. The portal does not recognise older tokens.
const mostReplaced = 100

const renewalsAMinute = 60
const minuteMs = 60_000

/** Thrown if a family was renewed 60 times within a minute. The refresh token of the family stays valid. */
export class RenewedTooOften extends Error {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super('a family was renewed too often')
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * Replaces the token with its successor, but only once. If several callers send the same token, in one process or in
 * several processes, only the first caller gets a result. The other callers get undefined. The end of the family does
 * not change. Call this in a transaction, because it runs several statements. If it throws RenewedTooOften, the
 * transaction must not change anything.
 */
export async function replaceRefreshToken(
  db: Db,
  {
    tokenHash,
    successorHash,
    clientId,
    refreshTokenSeconds,
    now,
  }: { tokenHash: string; successorHash: string; clientId: string; refreshTokenSeconds: number; now: Date },
): Promise<TokenFamily | undefined> {
  const nowMs = now.getTime()
  const grant = await db
    .updateTable('grants')
    .set(eb => ({
      refresh_token_hash: successorHash,
      refresh_expires_at: nowMs + refreshTokenSeconds * 1000,
      generation: eb('generation', '+', 1),
    }))
    .where('refresh_token_hash', '=', tokenHash)
    .where('application_id', '=', clientId)
    .where('revoked_at', 'is', null)
    .where('refresh_expires_at', '>', nowMs)
    .where('expires_at', '>', nowMs)
    .returning(['id as grantId', 'user_id as userId', 'generation'])
    .executeTakeFirst()
  if (!grant) return undefined
  const { grantId, generation } = grant
  await refuseTooOften(db, grant, nowMs)
  await db
    .insertInto('spent_refresh_tokens')
    .values({ hash: tokenHash, grant_id: grantId, generation, spent_at: nowMs })
    .execute()
  if (generation > mostReplaced)
    await db
      .deleteFrom('spent_refresh_tokens')
      .where('grant_id', '=', grantId)
      .where('generation', '<=', generation - mostReplaced)
      .execute()
  return grant
}

async function refuseTooOften(db: Db, { grantId, generation }: TokenFamily, nowMs: number): Promise<void> {
  if (generation <= renewalsAMinute) return
  const sixtyBefore = await db
    .selectFrom('spent_refresh_tokens')
    .select('spent_at as spentAt')
    .where('grant_id', '=', grantId)
    .where('generation', '=', generation - renewalsAMinute)
    .executeTakeFirst()
  const waitMs = sixtyBefore ? sixtyBefore.spentAt + minuteMs - nowMs : 0
  // If the client would have to wait for more than a minute, a clock was ahead when the stored time was written. Ignore
  // this stored time.
  if (waitMs > 0 && waitMs <= minuteMs) throw new RenewedTooOften(Math.ceil(waitMs / 1000))
}

/**
 * Finds the family of a replaced token, if the family is still valid. `isLatest` says whether the token's successor is
 * the newest token of the family.
 */
export async function findReplacedToken(
  db: Db,
  { tokenHash, clientId, now }: { tokenHash: string; clientId: string; now: Date },
): Promise<(TokenFamily & { replacedAt: Date; isLatest: boolean }) | undefined> {
  const row = await db
    .selectFrom('spent_refresh_tokens as spent')
    .innerJoin('grants', 'grants.id', 'spent.grant_id')
    .select(['grants.id', 'grants.user_id', 'grants.generation as newest', 'spent.generation', 'spent.spent_at'])
    .where('spent.hash', '=', tokenHash)
    .where('grants.application_id', '=', clientId)
    .where('grants.revoked_at', 'is', null)
    .where('grants.refresh_expires_at', '>', now.getTime())
    .where('grants.expires_at', '>', now.getTime())
    .executeTakeFirst()
  return (
    row && {
      grantId: row.id,
      userId: row.user_id,
      generation: row.newest,
      replacedAt: new Date(row.spent_at),
      isLatest: row.generation === row.newest,
    }
  )
}

/**
 * Finds the family of a refresh token of this client. The token may be the newest token of the family or a replaced
 * token. Returns undefined if the token is unknown.
 */
export async function findFamilyId(
  db: Db,
  { tokenHash, clientId }: { tokenHash: string; clientId: string },
): Promise<string | undefined> {
  // Two queries are needed, because the databases do not use an index for a join with "or".
  const row = await db
    .selectFrom('grants')
    .select('id')
    .where('refresh_token_hash', '=', tokenHash)
    .where('application_id', '=', clientId)
    .unionAll(
      db
        .selectFrom('spent_refresh_tokens as spent')
        .innerJoin('grants', 'grants.id', 'spent.grant_id')
        .select('grants.id')
        .where('spent.hash', '=', tokenHash)
        .where('grants.application_id', '=', clientId),
    )
    .executeTakeFirst()
  return row?.id
}

/**
 * Finds out which client received the token, and whether the token was replaced. The reason for a refusal depends on
 * both facts.
 */
export async function findTokenOwner(
  db: Db,
  tokenHash: string,
): Promise<{ clientId: string | null; isReplaced: boolean } | undefined> {
  const newest = await db
    .selectFrom('grants')
    .select('application_id as clientId')
    .where('refresh_token_hash', '=', tokenHash)
    .executeTakeFirst()
  if (newest) return { ...newest, isReplaced: false }
  const replaced = await db
    .selectFrom('spent_refresh_tokens as spent')
    .innerJoin('grants', 'grants.id', 'spent.grant_id')
    .select('grants.application_id as clientId')
    .where('spent.hash', '=', tokenHash)
    .executeTakeFirst()
  return replaced && { ...replaced, isReplaced: true }
}
