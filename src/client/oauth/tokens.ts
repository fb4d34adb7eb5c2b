// Reads the portal's token response, trusting nothing in it.
import { type Answer, isRecord } from '../upstream.ts'
import type { Portal } from './portal.ts'

export type Tokens = {
  accessToken: string
  /** Seconds from now: a whole number from 1 to 400 days. */
  expiresIn: number
  refreshToken: string | undefined
  /** The `sub` of the access token; undefined where the token is no JWT. */
  subject: string | undefined
}

/** RFC 6750 2.1, b64token: nothing that could end a header line early. */
const bearerToken = /^[A-Za-z0-9._~+/-]+=*$/

/** Browsers keep no cookie for longer. */
const longestSeconds = 400 * 24 * 60 * 60

/**
 * Shape: RFC 6749 5.1 and part 2 of the specification. `state` must come back as sent where one is given; a refresh
 * sends none. Throws PublicError 502.
 */
export function readTokens(portal: Portal, answer: Answer, state: string | undefined): Tokens {
  const refuse = (detail: string) => portal.upstream.unexpected(`token response: ${detail}`)
  const { json } = answer
  if (answer.status !== 200 || !isRecord(json)) throw refuse('not a JSON object')
  const { access_token, token_type, expires_in, refresh_token } = json
  if (state !== undefined && json.state !== state) throw refuse('the state of another login')
  if (typeof access_token !== 'string' || !bearerToken.test(access_token)) throw refuse('access_token')
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') throw refuse('token_type')
  // Anything else would become a cookie that never expires: browsers read Max-Age=NaN or 1.5 that way.
  if (typeof expires_in !== 'number' || !Number.isFinite(expires_in) || expires_in <= 0) throw refuse('expires_in')
  if (refresh_token !== undefined && (typeof refresh_token !== 'string' || !bearerToken.test(refresh_token)))
    throw refuse('refresh_token')
  return {
    accessToken: access_token,
    expiresIn: Math.min(Math.max(1, Math.floor(expires_in)), longestSeconds),
    refreshToken: refresh_token,
    subject: readSubject(access_token),
  }
}

/**
 * Unverified, which is enough here: the token came from the portal itself over a connection of ours, and the name is
 * used only to tell visitors apart (and to ask for their groups, with this same token).
 */
export function readSubject(accessToken: string): string | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    if (isRecord(payload) && typeof payload.sub === 'string' && /^[\x21-\x7e]{1,100}$/.test(payload.sub))
      return payload.sub
  } catch {
    // Not a JWT: the specification says it is one, but nothing here depends on it.
  }
  return undefined
}
