// Issues an authorization code to a client that the user has allowed, and redeems each code only once. For a redeemed
// code, the client gets the first tokens of a new family.
import type { StepNotes } from '../observe/notes.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import { type ProvenUser, requireProof } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { hasConsent, lockConsent } from '../store/consents.ts'
import {
  type CodeBinding,
  createGrant,
  endSurplusGrants,
  findGrantByCode,
  redeemGrant,
  revokeGrant,
} from '../store/grants.ts'
import type { Db } from '../store/schema.ts'
import { hashToken, makeAlphanumericToken } from '../tokens/opaque-token.ts'
import type { LoginRequest } from './login-request.ts'
import { msBetween, retryMs } from './retries.ts'
import { type IssuedTokens, issueTokens } from './tokens.ts'

/**
 * Call this in a transaction that has stored or locked the consent. If a browser asks for the code, the transaction must
 * first call requireProof. Throws Refusal if the application was removed.
 */
export async function issueCode(
  db: Db,
  { lifetimes, clock }: Pick<Services, 'lifetimes' | 'clock'>,
  login: LoginRequest,
  userId: string,
): Promise<string> {
  const now = clock()
  const code = makeAlphanumericToken()
  const clientId = login.application.id
  const binding: CodeBinding = {
    codeHash: hashToken(code),
    clientId,
    redirectUri: login.redirectUri,
    stateHash: login.state === undefined ? '' : hashToken(login.state),
    codeChallenge: login.codeChallenge ?? '',
  }
  const expiresAt = new Date(now.getTime() + lifetimes(clientId).codeSeconds * 1000)
  if (!(await createGrant(db, userId, binding, { now, expiresAt }))) throw new Refusal('client-unknown')
  await endSurplusGrants(db, userId, clientId, now)
  return code
}

/**
 * Issues a code without asking the user, if the user has already allowed the application. Otherwise returns undefined.
 * Throws Refusal if the user has signed out in the meantime, or if the application was removed.
 */
export async function issueAllowedCode(
  services: Pick<Services, 'lifetimes' | 'store' | 'clock'>,
  login: LoginRequest,
  user: ProvenUser,
): Promise<string | undefined> {
  const { store } = services
  const { id } = login.application
  // First read the consent without a lock. If there is no consent, no transaction is needed.
  if (!(await hasConsent(store.read, user.userId, id))) return undefined
  return store.transaction(async db => {
    await requireProof(db, user.userId, user.proof)
    return (await lockConsent(db, user.userId, id)) ? issueCode(db, services, login, user.userId) : undefined
  })
}

/** The values that an authenticated client sends to redeem a code. */
export interface Exchange {
  clientId: string
  code: string
  redirectUri: string
  state: string | undefined
  codeVerifier: string | undefined
}

/**
 * Redeems a code. Throws Refusal. A single SQL statement redeems the code, so if several callers send the code, only
 * one of them succeeds.
 */
export async function redeemCode(
  services: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  exchange: Exchange,
  notes: StepNotes,
): Promise<IssuedTokens> {
  const { store, lifetimes, keyRing, clock } = services
  // Get the key before the code is redeemed. If the keys cannot be read, the code stays valid.
  const signingKey = await keyRing.currentSigningKey()
  const now = clock()
  const refreshToken = makeAlphanumericToken()
  const { refreshTokenSeconds } = lifetimes(exchange.clientId)
  const binding: CodeBinding = {
    codeHash: hashToken(exchange.code),
    clientId: exchange.clientId,
    redirectUri: exchange.redirectUri,
    // If the exchange has no state, this value does not match any login, because a hash is never `-`.
    stateHash: exchange.state === undefined ? '-' : hashToken(exchange.state),
    // hashToken is SHA-256 in base64url, like the method S256 of RFC 7636. If the login had no challenge, no verifier
    // matches.
    codeChallenge: exchange.codeVerifier === undefined ? '' : hashToken(exchange.codeVerifier),
  }
  // PostgreSQL cannot store the character NUL, so no registered redirect URI contains this character.
  const redeemed = binding.redirectUri.includes('\0')
    ? undefined
    : await store.write(db =>
        redeemGrant(db, binding, { refreshTokenHash: hashToken(refreshToken), refreshTokenSeconds, now }),
      )
  if (!redeemed) throw await whyNotRedeemed(services, binding, exchange, notes)
  notes.about(redeemed)
  const received = receivedOf(exchange, binding)
  for (const name of ['code', 'redirect_uri', 'state', 'code_verifier'] as const)
    notes.check({ name, passed: true, received: received[name] })
  return issueTokens(services, signingKey, { ...redeemed, generation: 0, clientId: exchange.clientId, refreshToken })
}

/**
 * Returns the values that are compared with the login. In place of the verifier, the result contains the verifier's
 * challenge.
 */
function receivedOf({ code, state, codeVerifier }: Exchange, { redirectUri, codeChallenge }: CodeBinding) {
  return { code, redirect_uri: redirectUri, state, code_verifier: codeVerifier && codeChallenge }
}

/**
 * Finds out why a code was not redeemed. If two callers have used the code, the function also ends the tokens that the
 * first caller got.
 */
async function whyNotRedeemed(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  binding: CodeBinding,
  exchange: Exchange,
  notes: StepNotes,
): Promise<Refusal> {
  const received = receivedOf(exchange, binding)
  const grant = await findGrantByCode(store.read, binding.codeHash)
  const isOwn = grant?.clientId === binding.clientId
  const isFresh = isOwn && !grant.redeemedAt && !grant.revokedAt && grant.expiresAt > clock()
  notes.check({ name: 'code', passed: isFresh, received: received.code })
  if (!grant) return new Refusal('code-unknown')
  if (!isOwn) return new Refusal('code-of-another-client')
  notes.about({ grantId: grant.grantId, userId: grant.userId })
  const isSameUri = notes.check({
    name: 'redirect_uri',
    passed: grant.redirectUri === binding.redirectUri,
    expected: grant.redirectUri,
    received: received.redirect_uri,
  })
  // The refusal cannot show the expected state, because the store has only a hash of the state.
  const isSameState = notes.check({
    name: 'state',
    passed: ['', binding.stateHash].includes(grant.stateHash),
    received: received.state,
  })
  const isSameChallenge = notes.check({
    name: 'code_verifier',
    passed: grant.codeChallenge === binding.codeChallenge,
    expected: grant.codeChallenge || undefined,
    received: received.code_verifier,
  })
  if (grant.redeemedAt) {
    // If the login had no challenge, a retry can contain any verifier.
    const isSame = isSameUri && isSameState && (isSameChallenge || grant.codeChallenge === '')
    const isRetry = isSame && msBetween(grant.redeemedAt, clock()) <= retryMs
    // If this is not a retry by the same client, two callers have the code. The portal cannot know which caller is the
    // client, so the tokens end (RFC 6749 4.1.2).
    if (!isRetry) await store.write(db => revokeGrant(db, grant.grantId, clock()))
    return new Refusal('code-used', { isRetry })
  }
  if (!isSameUri) return new Refusal('redirect-uri-differs')
  if (!isSameState) return new Refusal(exchange.state === undefined ? 'state-missing' : 'state-differs')
  if (!isSameChallenge) return new Refusal(whyNotVerified(exchange, grant.codeChallenge))
  return new Refusal(grant.revokedAt ? 'code-revoked' : 'code-expired')
}

function whyNotVerified({ codeVerifier }: Exchange, challenge: string): Reason {
  if (codeVerifier === undefined) return 'verifier-missing'
  return challenge === '' ? 'verifier-unexpected' : 'verifier-differs'
}
