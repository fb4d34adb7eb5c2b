// The cookies of a signed-in visitor: the session with its access token, and the refresh token in one of its own.
import { hash } from 'node:crypto'
import { type Cookie, type Cookies, chooseToExpire, expire, type Sealer } from '../../web/seal.ts'
import { LoginError } from '../protocol/authorization.ts'

/** `visitorId` tells visitors apart: the access token's subject, or a random id made at login. `name`: to be shown. */
type SignedIn = { visitorId: string; name: string; expiresAt: Date }

export type Session = SignedIn & {
  accessToken: string
  /** From here on the access token is renewed before it is used. */
  refreshAt: Date
  /** The name of the cookie of its refresh token, which ends it; empty where it has none. */
  refreshCookieName: string
  refreshEndsAt: Date
}

/** A session is renewed with it, and ends with it. */
export type RefreshToken = SignedIn & { value: string }

/** `cookieName`: of the cookie that it came in. */
export type SentRefreshToken = RefreshToken & { cookieName: string }

const sessionName = '__Host-session'
const secondPartName = '__Host-session-2'
const refreshPrefix = '__Host-refresh-'
/** Browsers drop a cookie of over 4,096 bytes without a word, and keep the one it was to replace. */
const longestPart = 4_000
const longestSession = 4_900
const longestRefreshCookie = 300

/** Throws LoginError where the access token is too long for cookies; before that, the name is left out. */
export function sealSession(sealer: Sealer, session: Session): Cookie[] {
  const { accessToken, visitorId, name, expiresAt, refreshAt, refreshCookieName, refreshEndsAt } = session
  const payload = [accessToken, visitorId, +refreshAt, refreshCookieName, +refreshEndsAt, name]
  const cookie = sealer.sealCookie(sessionName, payload, expiresAt, 'strict')
  const { value } = cookie
  if (value.length <= longestPart) return [cookie]
  if (value.length <= longestSession)
    return [
      { ...cookie, value: value.slice(0, longestPart) },
      { ...cookie, name: secondPartName, value: value.slice(longestPart) },
    ]
  if (name) return sealSession(sealer, { ...session, name: '' })
  throw new LoginError('token_too_long', `${accessToken.length} characters`)
}

export function openSession(sealer: Sealer, cookies: Cookies): (Session & { isSealedWithOldKey: boolean }) | undefined {
  const value = cookies[sessionName]
  // A second part may be left over from an older session: it counts only where a full first part does not open alone.
  const rest = value?.length === longestPart ? cookies[secondPartName] : undefined
  const opened = sealer.open(sessionName, value) ?? (rest ? sealer.open(sessionName, value + rest) : undefined)
  if (!opened) return undefined
  type Payload = [string, string, number, string, number?, string?]
  const { payload, expiresAt, isSealedWithOldKey } = opened
  const [accessToken, visitorId, refreshAt, refreshCookieName, refreshEndsAt = +expiresAt, name = ''] =
    payload as Payload
  const times = { expiresAt, refreshAt: new Date(refreshAt), refreshEndsAt: new Date(refreshEndsAt) }
  return { accessToken, visitorId, name, refreshCookieName, isSealedWithOldKey, ...times }
}

/**
 * Undefined where the refresh token is too long for its cookie: the session then ends with its access token. Before that,
 * the name is left out. The cookie's name holds a hash of the token, because of two replicas that renew at once the one
 * that comes too late takes away a cookie by name: that of the old token, and never the other's new one.
 */
export function sealRefreshToken(sealer: Sealer, token: RefreshToken, now: Date): Cookie | undefined {
  const payload = [token.value, token.visitorId, now.getTime(), token.name]
  const cookieName = refreshPrefix + hash('sha256', token.value, 'base64url').slice(0, 8)
  const cookie = sealer.sealCookie(cookieName, payload, token.expiresAt, 'strict')
  if (cookie.name.length + cookie.value.length <= longestRefreshCookie) return cookie
  return token.name ? sealRefreshToken(sealer, { ...token, name: '' }, now) : undefined
}

/** Newest first. There can be several: a callback does not see the Strict cookies of whoever was signed in before. */
export function openRefreshTokens(sealer: Sealer, cookies: Cookies): SentRefreshToken[] {
  const tokens = refreshCookieNames(cookies).flatMap(cookieName => {
    const opened = sealer.openCookie(cookieName, cookies)
    if (!opened) return []
    const [value, visitorId, sealedAt, name = ''] = opened.payload as [string, string, number, string?]
    return [{ cookieName, value, visitorId, name, sealedAt, expiresAt: opened.expiresAt }]
  })
  return tokens.sort((one, other) => other.sealedAt - one.sealedAt)
}

/** The session's own; without a session the newest. */
export function findRefreshToken(sealer: Sealer, cookies: Cookies, session?: Session): SentRefreshToken | undefined {
  const tokens = openRefreshTokens(sealer, cookies)
  return session ? tokens.find(({ cookieName }) => cookieName === session.refreshCookieName) : tokens[0]
}

/** Takes away the refresh cookies of earlier logins, perhaps of another visitor: a session tells which one is its own. */
export function expireOtherRefreshCookies(sealer: Sealer, cookies: Cookies, session: Session): Cookie[] {
  const others = refreshCookieNames(cookies).filter(name => name !== session.refreshCookieName)
  return chooseToExpire(others, cookies, sealer).map(expire)
}

/** Takes away all cookies of a session, except those that `replacements` replace. */
export function expireSessionCookies(sealer: Sealer, cookies: Cookies, replacements: Cookie[] = []): Cookie[] {
  const isLeft = (name: string) => !replacements.some(cookie => cookie.name === name)
  const refreshNames = chooseToExpire(refreshCookieNames(cookies).filter(isLeft), cookies, sealer)
  return [...sessionCookieNames(cookies).filter(isLeft), ...refreshNames].map(expire)
}

/** Whether the browser sent a cookie of a session, readable or not. */
export function hasSessionCookie(cookies: Cookies): boolean {
  return sessionCookieNames(cookies).length + refreshCookieNames(cookies).length > 0
}

function sessionCookieNames(cookies: Cookies): string[] {
  return [sessionName, secondPartName].filter(name => name in cookies)
}

/** Others on this host can set cookies, too: only names that we could have given are acted on. */
function refreshCookieNames(cookies: Cookies): string[] {
  return Object.keys(cookies).filter(name => /^__Host-refresh-[\w-]{8}$/.test(name))
}
