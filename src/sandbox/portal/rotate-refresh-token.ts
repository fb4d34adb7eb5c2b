// Takes a refresh token and gives its successor, with a new access token (RFC 6749 6, RFC 9700 4.14.2).
import type { FastifyRequest } from 'fastify'
import { noteAbout, noteCheck } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import type { Services } from '../services.ts'
import { revokeGrant } from '../store/grants.ts'
import {
  describeToken,
  findReplacedToken,
  RenewedTooOften,
  replaceRefreshToken,
  type TokenFamily,
} from '../store/refresh-tokens.ts'
import { deriveSuccessor, hashToken } from '../tokens/opaque-token.ts'
import { issueTokens, type TokenResponse } from './issue-tokens.ts'
import { OAuthError } from './oauth-error.ts'

// Two tabs, or a client whose answer was lost, bring the replaced token once more within this time.
const graceMs = 10_000

/** Throws OAuthError. The client is authenticated. Of any number of callers at once all get the very same successor. */
export async function rotateRefreshToken(
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  { clientId, refreshToken }: { clientId: string; refreshToken: string },
  request: FastifyRequest,
): Promise<TokenResponse> {
  const { store, keyRing, lifetimes, clock } = parts
  const { refreshTokenSeconds } = lifetimes(clientId)
  const token = { tokenHash: hashToken(refreshToken), clientId, now: clock() }
  const successor = deriveSuccessor(keyRing.sealingKey, refreshToken)
  const replaced = await store
    .transaction(db => replaceRefreshToken(db, { ...token, successorHash: hashToken(successor), refreshTokenSeconds }))
    .catch(refuseTooOften)
  const family = replaced ?? (await forgiveOrRevoke(parts, token))
  noteCheck(request, { name: 'refresh_token', passed: family !== undefined, received: refreshToken })
  if (!family)
    throw new OAuthError(401, 'invalid_grant', 'The refresh token is not valid, or not for this client.', {
      reason: await whyNot(parts, token),
    })
  noteAbout(request, { grantId: family.grantId, userId: family.userId })
  return issueTokens(parts, { ...family, clientId, refreshToken: successor })
}

function refuseTooOften(error: unknown): never {
  if (!(error instanceof RenewedTooOften)) throw error
  const { retryAfterSeconds } = error
  throw new OAuthError(429, 'temporarily_unavailable', 'Too Many Requests', {
    reason: 'renewed-too-often',
    retryAfterSeconds,
  })
}

/**
 * The token just replaced is answered as it was the first time, for 10 seconds. Any other replaced one is in two hands,
 * and nobody knows which of the two is the client: the family ends.
 */
async function forgiveOrRevoke(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string; now: Date },
): Promise<TokenFamily | undefined> {
  const replaced = await findReplacedToken(store.read, token)
  if (!replaced) return undefined
  // Either way: another instance's clock may be a little ahead, but one far ahead must not forgive for days.
  const distanceMs = Math.abs(token.now.getTime() - replaced.replacedAt.getTime())
  if (replaced.isLatest && distanceMs < graceMs) return replaced
  await store.write(db => revokeGrant(db, replaced.grantId, token.now))
  return undefined
}

async function whyNot(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string },
): Promise<Reason> {
  const found = await describeToken(store.read, token.tokenHash)
  if (!found) return 'refresh-token-unknown'
  if (found.clientId !== token.clientId) return 'refresh-token-of-another-client'
  return found.isReplaced ? 'refresh-token-used' : 'refresh-token-expired'
}
