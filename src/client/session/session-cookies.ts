// The cookies of a signed-in visitor: the session with its access token, and the grant with its refresh token.
import { hash } from 'node:crypto'
import { PublicError } from '../errors.ts'
import { type Cookie, type Cookies, expire } from './cookies.ts'
import type { Sealer } from './seal.ts'

export type Session = {
  accessToken: string
  /** Tells visitors apart: the access token's subject, or a random id made at login. */
  visitorId: string
  expiresAt: Date
  /** From here on the access token is renewed before it is used. */
  refreshAt: Date
  /** The name of the cookie of its grant; empty where it has none. */
  grantName: string
}

/** What a session is renewed with; it outlives the session. */
export type Grant = { refreshToken: string; visitorId: string; expiresAt: Date }

const sessionName = '__Host-session'
const secondPartName = '__Host-session-2'
const grantPrefix = '__Host-refresh-'
/** Browsers drop a cookie of over 4,096 bytes without a word, and keep the one it was to replace. */
const longestPart = 4_000
const longestSession = 4_900
const longestGrant = 300

/** Throws PublicError where the access token is too long to be kept. */
export function sealSession(sealer: Sealer, session: Session): Cookie[] {
  const { accessToken, visitorId, expiresAt, refreshAt, grantName } = session
  const payload = JSON.stringify([accessToken, visitorId, refreshAt.getTime(), grantName])
  const cookie = sealer.sealCookie(sessionName, payload, expiresAt, 'strict')
  const { value } = cookie
  if (value.length <= longestPart) return [cookie]
  if (value.length <= longestSession)
    return [
      { ...cookie, value: value.slice(0, longestPart) },
      { ...cookie, name: secondPartName, value: value.slice(longestPart) },
    ]
  const message = 'The login portal gave an access token that is too long for a cookie. Its operator has to shorten it.'
  throw new PublicError('token_too_long', 502, message, { cause: `${accessToken.length} characters` })
}

export function openSession(sealer: Sealer, cookies: Cookies): (Session & { isSealedWithOldKey: boolean }) | undefined {
  const value = cookies[sessionName]
  // A second part may be left over from an older session: it counts only where a full first part does not open alone.
  const rest = value?.length === longestPart ? cookies[secondPartName] : undefined
  const opened = sealer.open(sessionName, value) ?? (rest ? sealer.open(sessionName, value + rest) : undefined)
  if (!opened) return undefined
  const [accessToken, visitorId, refreshAt, grantName] = JSON.parse(opened.payload.toString())
  const { expiresAt, isSealedWithOldKey } = opened
  return { accessToken, visitorId, expiresAt, refreshAt: new Date(refreshAt), grantName, isSealedWithOldKey }
}

/**
 * Undefined where the refresh token is too long for its cookie: the session then ends with its access token.
 * The name holds a hash of the token: of two replicas that renew at once, the one that comes too late takes away the
 * cookie of the old token by name, and never the other's new one.
 */
export function sealGrant(sealer: Sealer, grant: Grant, now: Date): Cookie | undefined {
  const payload = JSON.stringify([grant.refreshToken, grant.visitorId, now.getTime()])
  const cookie = sealer.sealCookie(grantNameOf(grant), payload, grant.expiresAt, 'strict')
  return cookie.name.length + cookie.value.length <= longestGrant ? cookie : undefined
}

/** Newest first. There can be several: a callback does not see the Strict cookies of whoever was signed in before. */
export function openGrants(sealer: Sealer, cookies: Cookies): Grant[] {
  const grants: (Grant & { sealedAt: number })[] = []
  for (const name of grantNamesIn(cookies)) {
    const opened = sealer.openCookie(name, cookies)
    if (!opened) continue
    const [refreshToken, visitorId, sealedAt] = JSON.parse(opened.payload.toString())
    grants.push({ refreshToken, visitorId, sealedAt, expiresAt: opened.expiresAt })
  }
  return grants.sort((one, other) => other.sealedAt - one.sealedAt)
}

/** The session's own grant; without a session the newest. */
export function findGrant(sealer: Sealer, cookies: Cookies, session: Session | undefined): Grant | undefined {
  return openGrants(sealer, cookies).find(grant => !session || grantNameOf(grant) === session.grantName)
}

/** Until when the visitor stays signed in, as far as this client can know: to the end of what renews the session. */
export function endOf(sealer: Sealer, cookies: Cookies, session: Session): Date {
  return findGrant(sealer, cookies, session)?.expiresAt ?? session.expiresAt
}

export function endGrant(grant: Grant): Cookie {
  return expire(grantNameOf(grant))
}

/** Takes away the grants of earlier logins, perhaps of another visitor, as soon as they are seen beside a session. */
export function endOtherGrants(cookies: Cookies, session: Session): Cookie[] {
  const others = grantNamesIn(cookies).filter(name => name !== session.grantName)
  return others.map(expire)
}

/** Takes away what the browser has of a session, but for what is set anew. */
export function endSession(cookies: Cookies, setAnew: Cookie[] = []): Cookie[] {
  const names = [sessionName, secondPartName].filter(name => name in cookies)
  return [...names, ...grantNamesIn(cookies)].filter(name => !setAnew.some(cookie => cookie.name === name)).map(expire)
}

export function hasSession(cookies: Cookies): boolean {
  return endSession(cookies).length > 0
}

/** Others on this host can set cookies, too: only names that we could have given are acted on. */
function grantNamesIn(cookies: Cookies): string[] {
  return Object.keys(cookies).filter(name => /^__Host-refresh-[\w-]{8}$/.test(name))
}

function grantNameOf({ refreshToken }: Grant): string {
  return grantPrefix + hash('sha256', refreshToken, 'base64url').slice(0, 8)
}
