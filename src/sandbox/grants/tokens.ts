// Tokens of a client: issued for a family, renewed with a refresh token, and revoked. This file also makes the access
// tokens of the portal's own page.
import type { StepNotes } from '../observe/notes.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import { type ProvenUser, requireProof } from '../people/sessions.ts'
import type { Services } from '../services.ts'
import { deleteAppAccessToken } from '../store/app-access-tokens.ts'
import { createPortalGrant, endSurplusGrants, revokeGrant } from '../store/grants.ts'
import {
  describeToken,
  findFamilyId,
  findReplacedToken,
  RenewedTooOften,
  replaceRefreshToken,
  type TokenFamily,
} from '../store/refresh-tokens.ts'
import { grantIdOf, signUserToken, userTokenLifetime, verifyAccessToken } from '../tokens/access-token.ts'
import { deriveSuccessor, hashToken } from '../tokens/opaque-token.ts'

export interface IssuedTokens {
  accessToken: string
  expiresInSeconds: number
  refreshToken: string
}

/** An access token of a family, with the family's newest refresh token. */
export async function issueTokens(
  { addresses, lifetimes, keyRing, clock }: Pick<Services, 'addresses' | 'lifetimes' | 'keyRing' | 'clock'>,
  { grantId, userId, generation, clientId, refreshToken }: TokenFamily & { clientId: string; refreshToken: string },
): Promise<IssuedTokens> {
  const lifetimeSeconds = lifetimes(clientId).accessTokenSeconds
  const order = { issuer: addresses.portalUrl, grantId, generation, userId, clientId, now: clock(), lifetimeSeconds }
  return { accessToken: await signUserToken(keyRing, order), expiresInSeconds: lifetimeSeconds, refreshToken }
}

// A second tab, or a client that lost the answer, sends a replaced token again within this time.
const graceMs = 10_000

/**
 * Takes a refresh token and issues its successor with a new access token (RFC 6749 6, RFC 9700 4.14.2). The client is
 * authenticated. If several callers send the token at the same time, all of them get the same successor. Throws Refusal.
 */
export async function renewTokens(
  services: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  { clientId, refreshToken }: { clientId: string; refreshToken: string },
  notes: StepNotes,
): Promise<IssuedTokens> {
  const { store, keyRing, lifetimes, clock } = services
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
  return issueTokens(services, { ...family, clientId, refreshToken: successor })
}

/**
 * For ten seconds, the portal repeats its answer for the token that was replaced last. Any other replaced token may be
 * stolen: the portal cannot know whether the client or a thief sends it. So the family ends.
 */
async function repeatOrRevoke(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string; now: Date },
): Promise<TokenFamily | undefined> {
  const replaced = await findReplacedToken(store.read, token)
  if (!replaced) return undefined
  // The other instance's clock may be a little ahead, so the difference can be negative. Math.abs does not accept a
  // clock that is days ahead.
  const distanceMs = Math.abs(token.now.getTime() - replaced.replacedAt.getTime())
  if (replaced.isLatest && distanceMs < graceMs) return replaced
  await store.write(db => revokeGrant(db, replaced.grantId, token.now))
  return undefined
}

async function whyRefused(
  { store }: Pick<Services, 'store'>,
  token: { tokenHash: string; clientId: string },
): Promise<Reason> {
  const found = await describeToken(store.read, token.tokenHash)
  if (!found) return 'refresh-token-unknown'
  if (found.clientId !== token.clientId) return 'refresh-token-of-another-client'
  return found.isReplaced ? 'refresh-token-used' : 'refresh-token-expired'
}

/**
 * A refresh token of a family (replaced or not) or an access token (RFC 7009 2.1) ends the whole family. If the token
 * is one of the app access tokens in an application's credentials, only this token ends. Returns false for unknown
 * tokens and for tokens of other clients.
 */
export async function revokeToken(
  { addresses, store, keyRing, clock }: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  token: string,
  clientId: string,
): Promise<boolean> {
  const claims = await verifyAccessToken(keyRing, token, { issuer: addresses.portalUrl, now: clock() })
  const isOwn = claims?.aud === clientId
  if (isOwn && claims.type === 'App') return store.write(db => deleteAppAccessToken(db, claims.jti, clientId))
  const grantId = isOwn ? grantIdOf(claims) : await findFamilyId(store.read, { tokenHash: hashToken(token), clientId })
  if (grantId) await store.write(db => revokeGrant(db, grantId, clock()))
  return grantId !== undefined
}

/**
 * Makes an access token with which a person creates a first application, because there is no client yet. The audience
 * of the token is the portal itself. Throws Refusal if the form with this id was used before, or if the user has signed
 * out.
 */
export async function makePortalToken(
  { addresses, store, keyRing, clock }: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  { id, userId, proof, tokenName }: ProvenUser & { id: string; tokenName: string },
): Promise<{ accessToken: string; expiresAt: Date }> {
  const now = clock()
  const expiresAt = new Date(now.getTime() + userTokenLifetime * 1000)
  const order = { issuer: addresses.portalUrl, grantId: id, userId, clientId: addresses.portalUrl, now }
  const accessToken = await signUserToken(keyRing, order)
  const tokenEnd = accessToken.slice(-4)
  await store.transaction(async db => {
    await requireProof(db, userId, proof)
    const isNew = await createPortalGrant(db, { id, userId, now, expiresAt, tokenName, tokenEnd })
    if (!isNew) throw new Refusal('token-shown')
    await endSurplusGrants(db, userId, null, now)
  })
  return { accessToken, expiresAt }
}
