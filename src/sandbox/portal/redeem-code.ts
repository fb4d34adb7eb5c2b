// Redeems an authorization code for the first tokens of its family.
import type { Parts } from '../parts.ts'
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
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'logger'>,
  exchange: Exchange,
): Promise<TokenResponse> {
  const { store, clock } = parts
  const now = clock()
  const refreshToken = makeAlphanumericToken()
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
    : await store.write(db => redeemGrant(db, binding, hashToken(refreshToken), now))
  if (!redeemed) throw await explainRefusal(parts, binding)
  return issueTokens(parts, { ...redeemed, clientId: exchange.clientId, refreshToken })
}

async function explainRefusal(
  { store, clock, logger }: Pick<Parts, 'store' | 'clock' | 'logger'>,
  binding: CodeBinding,
): Promise<OAuthError> {
  const refused = new OAuthError(401, 'invalid_grant', 'The code is not valid, or not for this request.')
  const grant = await findGrantByCode(store.read, binding.codeHash)
  if (!grant || grant.application_id !== binding.clientId) return refused
  if (grant.redeemed_at !== null) {
    const isSame =
      grant.redirect_uri === binding.redirectUri &&
      ['', binding.stateHash].includes(grant.state_hash) &&
      grant.code_challenge === binding.codeChallenge
    if (isSame && clock().getTime() - grant.redeemed_at <= graceMs) {
      logger.info(
        { code: 'code-replayed', clientId: binding.clientId },
        'a code came twice within 10 s; its tokens live',
      )
      return refused
    }
    // Somebody else has the code too, and nobody knows which of the two is the client (RFC 6749 4.1.2).
    await store.write(db => revokeGrant(db, grant.id, clock()))
    return refused
  }
  if (grant.redirect_uri !== binding.redirectUri)
    return new OAuthError(400, 'invalid_request', 'redirect_uri is not the one of the start.')
  return refused
}
