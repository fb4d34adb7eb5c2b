// Access tokens. They are JWTs in the profile of RFC 9068, signed with ES256.
import { randomUUID, sign } from 'node:crypto'
import { JOSEError, JWKSNoMatchingKey, JWTExpired } from 'jose/errors'
import { jwtVerify } from 'jose/jwt/verify'
import { longestTokenSeconds } from '../store/grants.ts'
import type { KeyRing, SigningKey } from './key-ring.ts'

/** The lifetimes of a user's token and of an application's own token, in seconds. */
export const userTokenLifetime = longestTokenSeconds
export const appTokenLifetime = 63_072_000

export interface AccessTokenClaims {
  /** The portal's public address. */
  iss: string
  /** The id of the user on whose behalf the token is used. */
  sub: string
  /** The client id. */
  aud: string
  iat: number
  exp: number
  /**
   * A user's token has the form `grant.random_generation`: the id of its grant, a random part, and the generation of
   * the family when the token was issued. The jti of an application's own token is the id of the token's record.
   */
  jti: string
  type: 'User' | 'App'
}

interface NewAccessToken {
  issuer: string
  userId: string
  clientId: string
  now: Date
}

/**
 * Makes a user's token, which ends with its grant. The token expires after `lifetimeSeconds`, or after 24 hours if
 * `lifetimeSeconds` is left out.
 */
export function signUserToken(
  key: SigningKey,
  token: NewAccessToken & { grantId: string; generation?: number; lifetimeSeconds?: number },
): string {
  const jti = `${token.grantId}.${randomUUID()}_${token.generation ?? 0}`
  return signAccessToken(key, { ...claimsOf(token, token.lifetimeSeconds ?? userTokenLifetime), jti, type: 'User' })
}

/** Makes one of the tokens that belong to an application's credentials. The token is valid for two years. */
export function signAppToken(key: SigningKey, token: NewAccessToken & { tokenId: string }): string {
  return signAccessToken(key, { ...claimsOf(token, appTokenLifetime), jti: token.tokenId, type: 'App' })
}

/** Returns the id of the grant that a user's token belongs to. */
export function grantIdOf({ jti }: AccessTokenClaims): string {
  return jti.split('.')[0] ?? ''
}

/**
 * Returns the generation of the token: how many times the refresh token of its family had been replaced when the token
 * was issued. A token from an earlier version of the sandbox has no generation number, and counts as generation 0.
 */
export function generationOf({ jti }: AccessTokenClaims): number {
  return Number(/_(\d+)$/.exec(jti)?.[1] ?? 0)
}

/** Whether the laboratory has made this access token expire early. `grant`: the grant to which the token belongs. */
export function hasExpiredEarly(claims: AccessTokenClaims, grant: { expiredGeneration: number | null }): boolean {
  return generationOf(claims) <= (grant.expiredGeneration ?? -1)
}

function claimsOf({ issuer, userId, clientId, now }: NewAccessToken, lifetime: number) {
  const iat = Math.floor(now.getTime() / 1000)
  return { iss: issuer, sub: userId, aud: clientId, client_id: clientId, iat, exp: iat + lifetime }
}

// This function is faster than its alternatives, and signing is most of the work of an exchange. For a signature, jose
// needs three times as much CPU time, and node:crypto with `dsaEncoding: 'ieee-p1363'` needs twice as much. If this
// code were wrong, every verification would fail, so a mistake could not stay hidden.
export function signAccessToken({ id, privateKey }: SigningKey, claims: AccessTokenClaims): string {
  const header = { alg: 'ES256', typ: 'at+jwt', kid: id }
  const content = `${encode(header)}.${encode(claims)}`
  return `${content}.${toJoseSignature(sign('sha256', Buffer.from(content), privateKey)).toString('base64url')}`
}

/**
 * Converts a signature. OpenSSL's signature is a DER sequence of two numbers. JOSE needs only the two numbers, with 32
 * bytes each (RFC 7518 3.4).
 */
export function toJoseSignature(der: Buffer): Buffer {
  // The sequence starts with two bytes. Each number has a tag, a length and then its bytes.
  const first = der.subarray(4, 4 + der[3]!)
  const second = der.subarray(4 + first.length + 2)
  return Buffer.concat([to32Bytes(first), to32Bytes(second)])
}

/** DER drops leading zero bytes, and adds a zero byte if the number would otherwise be negative. */
function to32Bytes(number: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(32), number]).subarray(-32)
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Returns the claims of a token that we signed and that has not expired. Returns undefined for any other token. */
export async function verifyAccessToken(
  keyRing: KeyRing,
  token: string,
  order: { issuer: string; now: Date },
): Promise<AccessTokenClaims | undefined> {
  const read = await readAccessToken(keyRing, token, order)
  return typeof read === 'string' ? undefined : read
}

/**
 * Returns the claims of a token that we signed, or the reason why the token is not accepted. This function does not
 * check whether the token was revoked: only the store knows this. Only one algorithm and one type of token are
 * accepted. From the header of the token, only the id of the key is used. This id must be the id of one of our own keys
 * (RFC 8725 3.1, 3.11).
 */
export async function readAccessToken(
  keyRing: KeyRing,
  token: string,
  { issuer, now }: { issuer: string; now: Date },
): Promise<AccessTokenClaims | 'token-expired' | 'token-malformed'> {
  try {
    const { payload } = await jwtVerify<AccessTokenClaims>(
      token,
      async header => {
        const key = typeof header.kid === 'string' ? await keyRing.findSigningKey(header.kid) : undefined
        if (!key) throw new JWKSNoMatchingKey()
        return key.publicKey
      },
      {
        algorithms: ['ES256'],
        typ: 'at+jwt',
        issuer,
        currentDate: now,
        // Accept a token that another instance has just made, even if that instance's clock is a little ahead. There is
        // no tolerance after the token expires, because clients know this time to the second.
        clockTolerance: 60,
        // None of our tokens can be older than this. If this limit is set, jose also refuses tokens from the future.
        maxTokenAge: appTokenLifetime,
        requiredClaims: ['sub', 'aud', 'iat', 'exp', 'jti', 'type'],
      },
    )
    if (payload.exp * 1000 <= now.getTime()) return 'token-expired'
    return isTokenId(payload.jti) ? payload : 'token-malformed'
  } catch (error) {
    if (error instanceof JWTExpired) return 'token-expired'
    if (error instanceof JOSEError) return 'token-malformed'
    throw error
  }
}

/**
 * Checks the id of a token. jose checks that the claim exists, but not its value. The value must be a string that can
 * be used in a query: PostgreSQL does not accept the character NUL.
 */
function isTokenId(jti: unknown): boolean {
  return typeof jti === 'string' && /^[\w-]{1,64}(\.[\w-]{1,64})?$/.test(jti)
}
