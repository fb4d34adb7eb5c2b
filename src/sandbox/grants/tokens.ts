// Issues, renews and revokes the tokens of clients. All tokens that follow from one login are a family. This file also
// makes the access tokens that the portal's own page shows.
import type { StepNotes } from '../observe/notes.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import { type ProvenUser, requireProof } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { deleteAppAccessToken } from '../store/app-access-tokens.ts'
import { createPortalGrant, endSurplusGrants, findLiveGrant, revokeGrant } from '../store/grants.ts'
import {
  findFamilyId,
  findReplacedToken,
  findTokenOwner,
  RenewedTooOften,
  replaceRefreshToken,
  type TokenFamily,
} from '../store/refresh-tokens.ts'
import {
  type AccessTokenClaims,
  grantIdOf,
  hasExpiredEarly,
  signUserToken,
  userTokenLifetime,
  verifyAccessToken,
} from '../tokens/access-token.ts'
import type { SigningKey } from '../tokens/key-ring.ts'
import { deriveSuccessor, hashToken } from '../tokens/opaque-token.ts'
import { msBetween, retryMs } from './retries.ts'

export interface IssuedTokens {
  accessToken: string
  expiresInSeconds: number
  refreshToken: string
}

/** Makes an access token for a family, and returns it together with the family's newest refresh token. */
export function issueTokens(
  { addresses, lifetimes, clock }: Pick<Services, 'addresses' | 'lifetimes' | 'clock'>,
  signingKey: SigningKey,
  { grantId, userId, generation, clientId, refreshToken }: TokenFamily & { clientId: string; refreshToken: string },
): IssuedTokens {
  const lifetimeSeconds = lifetimes(clientId).accessTokenSeconds
  const token = { issuer: addresses.portalUrl, grantId, generation, userId, clientId, now: clock(), lifetimeSeconds }
  return { accessToken: signUserToken(signingKey, token), expiresInSeconds: lifetimeSeconds, refreshToken }
}

/**
 * Replaces a refresh token with its successor, and issues a new access token (RFC 6749 6, RFC 9700 4.14.2). The caller
 * has already authenticated the client. If several requests send the token at the same time, all of them get the same
 * successor. Throws Refusal.
 */
export async function renewTokens(
  services: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  { clientId, refreshToken }: { clientId: string; refreshToken: string },
  notes: StepNotes,
): Promise<IssuedTokens> {
  const { store, keyRing, lifetimes, clock } = services
  // Get the key before the refresh token is replaced. If the keys cannot be read, the refresh token is not replaced.
  const signingKey = await keyRing.currentSigningKey()
  const { refreshTokenSeconds } = lifetimes(clientId)
  const token = { tokenHash: hashToken(refreshToken), clientId, now: clock() }
  const successor = deriveSuccessor(keyRing.sealingKey, refreshToken)
  const replaced = await store
    .transaction(db => replaceRefreshToken(db, { ...token, successorHash: hashToken(successor), refreshTokenSeconds }))
    .catch(error => {
      if (!(error instanceof RenewedTooOften)) throw error
      throw new Refusal('renewed-too-often', { retryAfterSeconds: error.retryAfterSeconds })
    })
  const family = replaced ?? (await repeatOrRevoke(services, token))
  notes.check({ name: 'refresh_token', passed: family !== undefined, received: refreshToken })
  if (!family) throw new Refusal(await whyRefused(services, token))
  notes.about({ grantId: family.grantId, userId: family.userId })
  return issueTokens(services, signingKey, { ...family, clientId, refreshToken: successor })
}

/**
 * If the token is the latest replaced token, the portal repeats its answer for ten seconds. In all other cases, the
 * portal cannot know whether the client or a thief sends the token, so the family ends.
 */
async function repeatOrRevoke(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string; now: Date },
): Promise<TokenFamily | undefined> {
  const replaced = await findReplacedToken(store.read, token)
  if (!replaced) return undefined
  if (replaced.isLatest && msBetween(replaced.replacedAt, token.now) < retryMs) return replaced
  await store.write(db => revokeGrant(db, replaced.grantId, token.now))
  return undefined
}

async function whyRefused(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string },
): Promise<Reason> {
  const found = await findTokenOwner(store.read, token.tokenHash)
  if (!found) return 'refresh-token-unknown'
  if (found.clientId !== token.clientId) return 'refresh-token-of-another-client'
  return found.isReplaced ? 'refresh-token-used' : 'refresh-token-expired'
}

/**
 * Revokes a token (RFC 7009 2.1). If the token belongs to a family, the whole family ends, even if the token is a
 * refresh token that was already replaced. If the token belongs to an application's credentials, only this token ends.
 * Returns false if the token is unknown, belongs to another client, or is an access token that has expired or was
 * revoked.
 */
export async function revokeToken(
  { addresses, store, keyRing, clock }: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  token: string,
  clientId: string,
): Promise<boolean> {
  const claims = await verifyAccessToken(keyRing, token, { issuer: addresses.portalUrl, now: clock() })
  const isOwn = claims?.aud === clientId
  if (isOwn && claims.type === 'App') return store.write(db => deleteAppAccessToken(db, claims.jti, clientId))
  const grantId = isOwn
    ? await findUsableGrantId(store, claims)
    : await findFamilyId(store.read, { tokenHash: hashToken(token), clientId })
  if (grantId) await store.write(db => revokeGrant(db, grantId, clock()))
  return grantId !== undefined
}

/** Returns undefined if the grant has ended, or if the laboratory has made this access token expire early. */
async function findUsableGrantId({ read }: Services['store'], claims: AccessTokenClaims): Promise<string | undefined> {
  const grantId = grantIdOf(claims)
  const grant = await findLiveGrant(read, grantId)
  return grant && !hasExpiredEarly(claims, grant) ? grantId : undefined
}

/**
 * Makes an access token for the portal's own page. A person needs this token to create a first application, because no
 * client exists yet. The audience of the token is the portal itself. Throws Refusal if the form with this id was used
 * before, or if the user has signed out.
 */
export async function makePortalToken(
  { addresses, store, keyRing, clock }: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { id, userId, proof, tokenName }: ProvenUser & { id: string; tokenName: string },
): Promise<{ accessToken: string; expiresAt: Date }> {
  const now = clock()
  const expiresAt = new Date(now.getTime() + userTokenLifetime * 1000)
  const token = { issuer: addresses.portalUrl, grantId: id, userId, clientId: addresses.portalUrl, now }
  const accessToken = signUserToken(await keyRing.currentSigningKey(), token)
  const tokenEnd = accessToken.slice(-4)
  await store.transaction(async db => {
    await requireProof(db, userId, proof)
    const isNew = await createPortalGrant(db, { id, userId, now, expiresAt, tokenName, tokenEnd })
    if (!isNew) throw new Refusal('token-shown')
    await endSurplusGrants(db, userId, null, now)
  })
  return { accessToken, expiresAt }
}
