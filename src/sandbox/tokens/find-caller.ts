// Who calls: reads an Authorization header, and asks the store whether its access token still counts.
import { decodeJwt } from 'jose/jwt/decode'
import type { Services } from '../services.ts'
import { findAppAccessToken } from '../store/app-access-tokens.ts'
import { findLiveGrant } from '../store/grants.ts'
import { isId } from '../values/is-id.ts'
import { type AccessTokenClaims, generationOf, grantIdOf, readAccessToken } from './access-token.ts'

/**
 * What an access token is: made on the portal's own page, given to a client at a login, or listed with an application's
 * credentials. The first two do what their user may; the third acts for its application alone.
 */
export type TokenKind = 'portal' | 'client' | 'application'

/** On whose behalf a request is made, and through which client. */
export interface Caller {
  kind: TokenKind
  /** Of an application's token: who made the application, which lends the token none of their rights. */
  userId: string
  /** Of the portal's own tokens its address; of an application's token its own id. */
  clientId: string
}

/** Why nobody is known to call. */
export type CallerFault = 'token-missing' | 'token-malformed' | 'token-expired' | 'token-revoked'

/** A token that is not accepted. If its signature is right, the client and user in it are known. Otherwise they are claimed. */
export interface RefusedToken {
  refusal: CallerFault
  userId?: string
  clientId?: string
  claimedClientId?: string
}

/** Whose access token it is (RFC 6750 2.1), or why it does not count. */
export async function findCaller(
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  authorization: string | undefined,
): Promise<Caller | RefusedToken> {
  if (!/^Bearer +\S/i.test(authorization ?? '')) return { refusal: 'token-missing' }
  const token = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization ?? '')?.[1]
  if (!token) return { refusal: 'token-malformed' }
  const { addresses, keyRing, clock } = services
  const claims = await readAccessToken(keyRing, token, { issuer: addresses.portalUrl, now: clock() })
  if (claims === 'token-malformed') return { refusal: claims, ...claimIn(token) }
  // Its signature is right: that is looked at first.
  if (claims === 'token-expired') return { refusal: claims, ...ownerOf(decodeJwt<AccessTokenClaims>(token), services) }
  const refusal = await findFault(services, claims)
  if (refusal) return { refusal, ...ownerOf(claims, services) }
  return { kind: kindOf(claims, addresses.portalUrl), userId: claims.sub, clientId: claims.aud }
}

function ownerOf({ sub, aud }: AccessTokenClaims, { addresses }: Pick<Services, 'addresses'>) {
  return { userId: sub, ...(aud !== addresses.portalUrl && { clientId: aud }) }
}

function claimIn(token: string): { claimedClientId?: string } {
  try {
    const { aud } = decodeJwt(token)
    return isId(aud) ? { claimedClientId: aud } : {}
  } catch {
    return {}
  }
}

function kindOf({ type, aud }: AccessTokenClaims, portalUrl: string): TokenKind {
  if (type === 'App') return 'application'
  return aud === portalUrl ? 'portal' : 'client'
}

/**
 * A user's token lives with its grant, an application's own with its record; both are gone when the application is,
 * so a token whose client was removed finds nothing. The tokens that the portal gives its own users have no client:
 * their audience is the portal.
 */
async function findFault(
  { store, addresses }: Pick<Services, 'addresses' | 'store'>,
  claims: AccessTokenClaims,
): Promise<CallerFault | undefined> {
  const { type, jti, sub, aud } = claims
  if (type === 'App') {
    const token = await findAppAccessToken(store.read, jti)
    if (token?.clientId !== aud) return 'token-revoked'
    return token.expired === null ? undefined : 'token-expired'
  }
  const grant = type === 'User' ? await findLiveGrant(store.read, grantIdOf(claims)) : undefined
  if (grant?.userId !== sub || (grant.clientId ?? addresses.portalUrl) !== aud) return 'token-revoked'
  return generationOf(claims) <= (grant.expiredGeneration ?? -1) ? 'token-expired' : undefined
}
