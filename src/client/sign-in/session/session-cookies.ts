// The cookies of a signed-in visitor: one cookie contains the session with its access token, and another contains the
// refresh token.
import { hash } from 'node:crypto'
import { type Cookie, type Cookies, expire, limitExpired } from '../../web/cookies.ts'
import type { Sealer } from '../../web/seal.ts'
import { LoginError } from '../protocol/login-error.ts'
import type { SessionData } from '../visitor.ts'

export type Session = {
  accessToken: string
  /** The visitor's user id, or a random id if the access token does not contain a user id. */
  owner: string
  /** The visitor's name. It can be empty. */
  name: string
  /** When the session cookie and the access token expire (CK-01). The session may end earlier, at `signInEndsAt`. */
  tokenExpiresAt: Date
  /** After this time, the client renews the access token before using it. */
  renewAt: Date
  /**
   * The name of the cookie that contains the refresh token. If this name is empty, the session ends at
   * `tokenExpiresAt`.
   */
  refreshCookieName: string
  /** The time at which the visitor must sign in again. Renewals do not change this time. */
  signInEndsAt: Date
  /** The product's own data. Undefined until the product's data has been loaded. */
  data: SessionData | undefined
}

/** A refresh token, with the other values in its cookie. The cookie expires at `signInEndsAt`. */
export type RefreshToken = Pick<Session, 'owner' | 'name' | 'signInEndsAt'> & { value: string }

/** A refresh token that the browser sent, with the name of its cookie. */
export type SentRefreshToken = RefreshToken & { cookieName: string }

/**
 * The sealed payloads. Times are in milliseconds since 1970. Change `payloadVersion` when you change a field. The
 * client does not read sessions of another version, so visitors with such sessions have to sign in again. An empty
 * field is left out, because every byte of JSON reduces the space for the access token.
 */
const payloadVersion = 1
type SessionPayload = {
  v: number
  token: string
  owner: string
  name?: string | undefined
  renewAt: number
  /** The name of the refresh cookie, without its prefix. */
  refreshCookie?: string | undefined
  /** The session's `signInEndsAt`. */
  refreshEndsAt: number
  data?: SessionData | undefined
}
/** `at` is the time at which the cookie was sealed. */
type RefreshPayload = { v: number; token: string; owner: string; name?: string | undefined; at: number }

const sessionName = '__Host-session'
const secondPartName = '__Host-session-2'
const refreshPrefix = '__Host-refresh-'
/**
 * If a cookie is longer than 4,096 bytes, browsers silently drop it, and keep the earlier cookie with the same name.
 */
const maxPartLength = 4_000
/**
 * The maximum number of characters in the values of both session cookies together. Including their names, the two
 * cookies together are shorter than 5,000 bytes.
 */
const maxSessionLength = 4_964
const maxRefreshCookieLength = 300

/**
 * Returns one or two cookies. If the session does not fit into two cookies, the visitor's name is left out. If the
 * session is then still too long, the access token is too long, and the function throws LoginError.
 */
export function sealSession(sealer: Sealer, session: Session): Cookie[] {
  const payload: SessionPayload = {
    v: payloadVersion,
    token: session.accessToken,
    owner: session.owner,
    name: session.name || undefined,
    renewAt: session.renewAt.getTime(),
    refreshCookie: session.refreshCookieName.slice(refreshPrefix.length) || undefined,
    refreshEndsAt: session.signInEndsAt.getTime(),
    data: session.data,
  }
  const cookie = sealer.sealCookie(sessionName, payload, session.tokenExpiresAt, 'strict')
  const { value } = cookie
  if (value.length <= maxPartLength) return [cookie]
  if (value.length <= maxSessionLength)
    return [
      { ...cookie, value: value.slice(0, maxPartLength) },
      { ...cookie, name: secondPartName, value: value.slice(maxPartLength) },
    ]
  if (session.name) return sealSession(sealer, { ...session, name: '' })
  throw new LoginError('token_too_long', `${session.accessToken.length} characters`)
}

export function unsealSession(sealer: Sealer, cookies: Cookies): Session | undefined {
  const value = cookies[sessionName]
  // A long session has two cookies, but the second cookie may also be left over from an older session. So the client
  // first tries to unseal the first cookie alone, and uses the second cookie only if this fails.
  const secondPart = value?.length === maxPartLength ? cookies[secondPartName] : undefined
  const unsealed =
    sealer.unseal(sessionName, value) ?? (secondPart ? sealer.unseal(sessionName, value + secondPart) : undefined)
  if (!unsealed) return undefined
  const payload = unsealed.payload as SessionPayload | null
  if (payload?.v !== payloadVersion) return undefined
  return {
    accessToken: payload.token,
    owner: payload.owner,
    name: payload.name ?? '',
    tokenExpiresAt: unsealed.expiresAt,
    renewAt: new Date(payload.renewAt),
    refreshCookieName: payload.refreshCookie ? refreshPrefix + payload.refreshCookie : '',
    signInEndsAt: new Date(payload.refreshEndsAt),
    data: payload.data,
  }
}

/**
 * Returns undefined if the refresh token is too long for its cookie. The session then ends when its access token
 * expires.
 *
 * The cookie's name contains a hash of the token. If two replicas renew at the same time, each replica deletes the
 * cookie of the old token by its name. So the slower replica cannot delete the new cookie of the faster replica.
 */
export function sealRefreshToken(sealer: Sealer, token: RefreshToken, now: Date): Cookie | undefined {
  const { value, owner, name } = token
  const payload: RefreshPayload = { v: payloadVersion, token: value, owner, name: name || undefined, at: now.getTime() }
  const cookieName = refreshPrefix + hash('sha256', value, 'base64url').slice(0, 8)
  const cookie = sealer.sealCookie(cookieName, payload, token.signInEndsAt, 'strict')
  if (cookie.name.length + cookie.value.length <= maxRefreshCookieLength) return cookie
  return name ? sealRefreshToken(sealer, { ...token, name: '' }, now) : undefined
}

/**
 * Returns the refresh tokens, newest first. There can be several refresh cookies: browsers do not send Strict cookies
 * to the callback, so the callback cannot delete the cookies of an earlier visitor.
 */
export function unsealRefreshTokens(sealer: Sealer, cookies: Cookies): SentRefreshToken[] {
  const tokens = refreshCookieNames(cookies).flatMap(cookieName => {
    const unsealed = sealer.unsealCookie(cookieName, cookies)
    const payload = unsealed?.payload as RefreshPayload | null | undefined
    if (!unsealed || payload?.v !== payloadVersion) return []
    const { token: value, owner, name = '', at } = payload
    return [{ cookieName, value, owner, name, at, signInEndsAt: unsealed.expiresAt }]
  })
  return tokens.sort((a, b) => b.at - a.at)
}

/**
 * Returns the refresh token of the session. If there is no session, the function returns the newest refresh token. If
 * the refresh cookie had no room for the visitor's name, the name comes from the session.
 */
export function findRefreshToken(sealer: Sealer, cookies: Cookies, session?: Session): SentRefreshToken | undefined {
  const tokens = unsealRefreshTokens(sealer, cookies)
  if (!session) return tokens[0]
  const token = tokens.find(({ cookieName }) => cookieName === session.refreshCookieName)
  return token && { ...token, name: token.name || session.name }
}

/**
 * Returns cookies that make the browser delete the refresh cookies of earlier logins. These refresh cookies may belong
 * to another visitor.
 */
export function expireOtherRefreshCookies(sealer: Sealer, cookies: Cookies, session: Session): Cookie[] {
  const others = refreshCookieNames(cookies).filter(name => name !== session.refreshCookieName)
  return limitExpired(others, cookies, sealer).map(expire)
}

/** Returns cookies that make the browser delete all cookies of a session, except the cookies in `replacements`. */
export function expireSessionCookies(sealer: Sealer, cookies: Cookies, replacements: Cookie[] = []): Cookie[] {
  const isReplaced = (name: string) => replacements.some(cookie => cookie.name === name)
  const refreshNames = refreshCookieNames(cookies).filter(name => !isReplaced(name))
  return [
    ...sessionCookieNames(cookies).filter(name => !isReplaced(name)),
    ...limitExpired(refreshNames, cookies, sealer),
  ].map(expire)
}

/** Whether the browser sent a session cookie or a refresh cookie. Cookies that the client cannot unseal also count. */
export function hasSessionCookie(cookies: Cookies): boolean {
  return sessionCookieNames(cookies).length > 0 || refreshCookieNames(cookies).length > 0
}

function sessionCookieNames(cookies: Cookies): string[] {
  return [sessionName, secondPartName].filter(name => name in cookies)
}

/**
 * Other programs on this host can also set cookies. So this function returns only names that this client could have
 * used.
 */
function refreshCookieNames(cookies: Cookies): string[] {
  return Object.keys(cookies).filter(name => /^__Host-refresh-[\w-]{8}$/.test(name))
}
