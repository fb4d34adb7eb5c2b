// Identifies the caller: reads the Authorization header, and asks the store whether the access token is still valid.
import { decodeJwt } from 'jose/jwt/decode'
import type { Services } from '../services.ts'
import { findAppAccessToken } from '../store/app-access-tokens.ts'
import { findLiveGrant } from '../store/grants.ts'
import { isId } from '../values/is-id.ts'
import { type AccessTokenClaims, generationOf, grantIdOf, readAccessToken } from './access-token.ts'

/**
 * The kind of an access token: made on the portal's own page, given to a client at a login, or listed with an
 * application's credentials. With a token of the first two kinds, a caller may do what the user may. A token of the
 * third kind gives access only to its application.
 */
export type TokenKind = 'portal' | 'client' | 'application'

/** The user on whose behalf a request is made, and the client. */
export interface Caller {
  kind: TokenKind
  /** For an application's token: the user who made the application. The token has none of this user's rights. */
  userId: string
  /** For the portal's own tokens: the address of the portal. For an application's token: its own id. */
  clientId: string
}

/** Why the caller is unknown. */
export type CallerFault = 'token-missing' | 'token-malformed' | 'token-expired' | 'token-revoked'

/**
 * A refused token. If its signature is right, the client and the user in it are known. Otherwise the client and the user
 * are only claimed.
 */
export interface RefusedToken {
  refusal: CallerFault
  userId?: string
  clientId?: string
  claimedClientId?: string
}

/** The caller whose access token it is (RFC 6750 2.1), or why the token is refused. */
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
  // The signature is right, because it is checked first.
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
 * A user's token ends with its grant. An application's own token ends with its record. When an application is removed,
 * its grants and its record end. A token of a removed client therefore finds no record. Tokens that the portal gives
 * its own users have no client: their audience is the portal.
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
