// Identifies the caller: reads the access token from the Authorization header, and asks the store whether the token is
// still valid.
import { decodeJwt } from 'jose/jwt/decode'
import type { Services } from '../services.ts'
import { findAppAccessToken } from '../store/app-access-tokens.ts'
import { findLiveGrant } from '../store/grants.ts'
import { isId } from '../values/is-id.ts'
import { type AccessTokenClaims, grantIdOf, hasExpiredEarly, readAccessToken } from './access-token.ts'

/**
 * The three kinds of access tokens: a token from the portal's own page, a token that a client received at a login, and
 * a token that belongs to an application's credentials. With a token of the first kind, a caller has all rights of the
 * user. With a token of the second kind, a caller has the same rights, except the right to change the members of
 * groups. A token of the third kind gives access only to its application.
 */
export type TokenKind = 'portal' | 'client' | 'application'

/** The user on whose behalf a request is made, and the client that makes it. */
export interface Caller {
  kind: TokenKind
  /**
   * If the token is an application's own token, this is the user who made the application, but the token does not give
   * this user's rights.
   */
  userId: string
  /**
   * For a token from the portal's own page, the address of the portal. For an application's own token, the id of this
   * application.
   */
  clientId: string
}

/** The reasons why a caller cannot be identified. */
export type CallerReason = 'token-missing' | 'token-malformed' | 'token-expired' | 'token-revoked'

/**
 * A refused token. If the signature of the token is right, `clientId` and `userId` come from the token. Otherwise there
 * is at most a `claimedClientId`, which anybody could have written into the token.
 */
interface RefusedToken {
  refusal: CallerReason
  userId?: string
  clientId?: string
  claimedClientId?: string
}

/** Finds the caller to whom the access token belongs (RFC 6750 2.1), or the reason why the token is refused. */
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
  // The signature is right, because readAccessToken checks it before it checks whether the token has expired.
  if (claims === 'token-expired') return { refusal: claims, ...ownerOf(decodeJwt<AccessTokenClaims>(token), services) }
  const refusal = await whyInvalid(services, claims)
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
 * Finds out why a token with a right signature is not valid. A user's token ends with its grant, and an application's
 * own token ends with its record. When an application is removed, queries no longer find its grants and records.
 * Therefore a token of a removed client is refused. A token from the portal's own page has no client: its audience is
 * the portal.
 */
async function whyInvalid(
  { store, addresses }: Pick<Services, 'addresses' | 'store'>,
  claims: AccessTokenClaims,
): Promise<CallerReason | undefined> {
  const { type, jti, sub, aud } = claims
  if (type === 'App') {
    const token = await findAppAccessToken(store.read, jti)
    if (token?.clientId !== aud) return 'token-revoked'
    return token.expired === null ? undefined : 'token-expired'
  }
  const grant = type === 'User' ? await findLiveGrant(store.read, grantIdOf(claims)) : undefined
  if (grant?.userId !== sub || (grant.clientId ?? addresses.portalUrl) !== aud) return 'token-revoked'
  return hasExpiredEarly(claims, grant) ? 'token-expired' : undefined
}
