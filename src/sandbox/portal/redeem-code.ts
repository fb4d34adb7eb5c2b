// Redeems an authorization code for the first tokens of its family.
import type { FastifyRequest } from 'fastify'
import { noteAbout, noteCheck } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import type { Services } from '../services.ts'
import { type CodeBinding, findGrantByCode, redeemGrant, revokeGrant } from '../store/grants.ts'
import { hashToken, makeAlphanumericToken } from '../tokens/opaque-token.ts'
import { issueTokens, type TokenResponse } from './issue-tokens.ts'
import { OAuthError } from './oauth-error.ts'

// A browser may deliver one callback twice, to two replicas of the client.
const graceMs = 10_000

/** The fields of the exchange, by an authenticated client. */
export interface Exchange {
  clientId: string
  code: string
  redirectUri: string
  state: string | undefined
  codeVerifier: string | undefined
}

/** Throws OAuthError. The code is spent by one statement, so of any number of callers one succeeds. */
export async function redeemCode(
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  exchange: Exchange,
  request: FastifyRequest,
): Promise<TokenResponse> {
  const { store, lifetimes, clock } = parts
  const now = clock()
  const refreshToken = makeAlphanumericToken()
  const { refreshTokenSeconds } = lifetimes(exchange.clientId)
  const binding: CodeBinding = {
    codeHash: hashToken(exchange.code),
    clientId: exchange.clientId,
    redirectUri: exchange.redirectUri,
    // A missing state compares as one that no login can have had.
    stateHash: exchange.state === undefined ? '-' : hashToken(exchange.state),
    // S256 of RFC 7636 is the same SHA-256 in base64url. A verifier where no challenge was sent matches nothing.
    codeChallenge: exchange.codeVerifier === undefined ? '' : hashToken(exchange.codeVerifier),
  }
  // A redirect URI that is no text for the database (PostgreSQL takes no NUL) is nobody's.
  const redeemed = binding.redirectUri.includes('\0')
    ? undefined
    : await store.write(db =>
        redeemGrant(db, binding, { refreshTokenHash: hashToken(refreshToken), refreshTokenSeconds, now }),
      )
  if (!redeemed) throw await explainRefusal(parts, binding, exchange, request)
  noteAbout(request, redeemed)
  for (const name of ['code', 'redirect_uri', 'state', 'code_verifier'] as const)
    noteCheck(request, { name, passed: true, received: receivedOf(exchange, binding)[name] })
  return issueTokens(parts, { ...redeemed, generation: 0, clientId: exchange.clientId, refreshToken })
}

/** What is compared: of a verifier its challenge. */
function receivedOf({ code, state, codeVerifier }: Exchange, { redirectUri, codeChallenge }: CodeBinding) {
  return { code, redirect_uri: redirectUri, state, code_verifier: codeVerifier && codeChallenge }
}

/** Finds out why, and ends the family of a code that is in two hands. */
async function explainRefusal(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  binding: CodeBinding,
  exchange: Exchange,
  request: FastifyRequest,
): Promise<OAuthError> {
  const refused = (reason: Reason) =>
    new OAuthError(401, 'invalid_grant', 'The code is not valid, or not for this request.', { reason })
  const received = receivedOf(exchange, binding)
  const grant = await findGrantByCode(store.read, binding.codeHash)
  const isOwn = grant?.application_id === binding.clientId
  const isFresh = isOwn && grant.redeemed_at === null && grant.revoked_at === null && grant.expires_at > +clock()
  noteCheck(request, { name: 'code', passed: isFresh, received: received.code })
  if (!grant) return refused('code-unknown')
  if (!isOwn) return refused('code-of-another-client')
  noteAbout(request, { grantId: grant.id, userId: grant.user_id })
  const isSameUri = noteCheck(request, {
    name: 'redirect_uri',
    passed: grant.redirect_uri === binding.redirectUri,
    expected: grant.redirect_uri ?? undefined,
    received: received.redirect_uri,
  })
  // Of the state the store has a hash alone, so what was expected cannot be told.
  const isSameState = noteCheck(request, {
    name: 'state',
    passed: ['', binding.stateHash].includes(grant.state_hash ?? ''),
    received: received.state,
  })
  const isSameChallenge = noteCheck(request, {
    name: 'code_verifier',
    passed: grant.code_challenge === binding.codeChallenge,
    expected: grant.code_challenge || undefined,
    received: received.code_verifier,
  })
  if (grant.redeemed_at !== null) {
    const isSame = isSameUri && isSameState && isSameChallenge
    // Either way: another instance's clock may be a little ahead, but one far ahead must not forgive for days.
    if (isSame && Math.abs(clock().getTime() - grant.redeemed_at) <= graceMs)
      request.log.info(
        { code: 'code-replayed', clientId: binding.clientId },
        'a code came twice within 10 s; its tokens live',
      )
    // Somebody else has the code too, and nobody knows which of the two is the client (RFC 6749 4.1.2).
    else await store.write(db => revokeGrant(db, grant.id, clock()))
    return refused('code-used')
  }
  if (!isSameUri)
    return new OAuthError(400, 'invalid_request', 'redirect_uri is not the one of the start.', {
      reason: 'redirect-uri-differs',
    })
  if (!isSameState) return refused(exchange.state === undefined ? 'state-missing' : 'state-differs')
  if (!isSameChallenge) return refused(whyNotVerified(exchange, grant.code_challenge ?? ''))
  return refused(grant.revoked_at === null ? 'code-expired' : 'code-revoked')
}

function whyNotVerified({ codeVerifier }: Exchange, challenge: string): Reason {
  if (codeVerifier === undefined) return 'verifier-missing'
  return challenge === '' ? 'verifier-unexpected' : 'verifier-differs'
}
