// Keeps a visitor signed in: begins the session, renews it before it runs out, and ends it only when it is truly over.
import { randomUUID } from 'node:crypto'
import { Once } from '../../once.ts'
import type { RequestContext } from '../../upstream.ts'
import { type Cookie, type Cookies, expire, type Sealer } from '../../web/seal.ts'
import type { ShownVisitor } from '../../web/views.ts'
import { LoginError } from '../protocol/authorization.ts'
import { type Portal, RefreshRefused, readSubject, refreshTokens, type Tokens } from '../protocol/tokens.ts'
import {
  expireOtherRefreshCookies,
  expireSessionCookies,
  findRefreshToken,
  hasSessionCookie,
  openSession,
  type RefreshToken,
  type SentRefreshToken,
  type Session,
  sealRefreshToken,
  sealSession,
} from './session-cookies.ts'

export type Sessions = ReturnType<typeof createSessions>

/** The session that the request goes on with, the cookies to set, and what has happened, for the log. */
export type Restored = {
  session: Session | undefined
  cookies: Cookie[]
  visitorId?: string
  event?: 'session_renewed' | 'session_ended' | 'session_unreadable' | 'session_not_renewed'
  /** Why the portal ended it, for the log. */
  cause?: string
}

// Yours: after this long a visitor signs in again. Renewing does not extend it.
const longestMs = 30 * 24 * 60 * 60 * 1000
const renewBeforeMs = 60_000
/** Requests that were under way still carry the old refresh token when its successor is there. */
const shareMs = 10_000

export function createSessions(sealer: Sealer, portal: Portal, clock: () => Date) {
  const renewals = new Once<Tokens>(clock, { shareMs })

  /** The session of fresh tokens; nothing of an older session is taken over. Throws LoginError. */
  function begin(tokens: Tokens, name: string, cookies: Cookies): { session: Session; cookies: Cookie[] } {
    const visitorId = readSubject(tokens.accessToken) ?? randomUUID()
    return seal(tokens, { visitorId, name, expiresAt: new Date(clock().getTime() + longestMs) }, cookies)
  }

  /** The session, renewed where it is due. Throws where that fails for now: the visitor stays signed in. */
  async function restore(cookies: Cookies, context: RequestContext): Promise<Restored> {
    const session = openSession(sealer, cookies)
    const leftovers = session ? expireOtherRefreshCookies(sealer, cookies, session) : []
    const isFresh = session !== undefined && clock() < session.refreshAt
    if (session && isFresh) return { session, cookies: [...leftovers, ...sealAnew(session)] }

    const refreshToken = findRefreshToken(sealer, cookies, session)
    if (session && refreshToken) return also(leftovers, await renew(refreshToken, cookies, context, session))
    if (session) return { session, cookies: leftovers }
    if (refreshToken) return renew(refreshToken, cookies, context)
    if (hasSessionCookie(cookies)) return over(sealer, cookies, 'session_unreadable')
    return { session: undefined, cookies: [] }
  }

  /** For an access token that the API refuses before its time. No session where there is nothing to renew it with. */
  async function replace(cookies: Cookies, context: RequestContext): Promise<Restored> {
    const refreshToken = findRefreshToken(sealer, cookies, openSession(sealer, cookies))
    return refreshToken ? renew(refreshToken, cookies, context) : over(sealer, cookies, 'session_ended')
  }

  /** `session`: one that is good without being renewed, and goes on where that fails. */
  async function renew(
    refreshToken: SentRefreshToken,
    cookies: Cookies,
    context: RequestContext,
    session?: Session,
  ): Promise<Restored> {
    const { value, visitorId } = refreshToken
    try {
      const tokens = await renewals.do(value, () => refreshTokens(portal, value, context))
      return { ...seal(tokens, refreshToken, cookies), event: 'session_renewed', visitorId }
    } catch (error) {
      // The refresh token is spent by now, and what it gave cannot be stored.
      if (error instanceof LoginError && error.code === 'token_too_long') return over(sealer, cookies, 'session_ended')
      // Another replica may have renewed meanwhile: its refresh cookie has another name, and its session cookie stays.
      if (error instanceof RefreshRefused) {
        const ended = [expire(refreshToken.cookieName)]
        return { session, cookies: ended, event: 'session_ended', visitorId, cause: error.message }
      }
      if (session) return { session, cookies: [], event: 'session_not_renewed', visitorId }
      throw error
    }
  }

  function seal(tokens: Tokens, visitor: Omit<RefreshToken, 'value'>, cookies: Cookies) {
    const now = clock()
    const { accessToken, refreshToken: value, expiresIn } = tokens
    const { visitorId, name, expiresAt: refreshEndsAt } = visitor
    const refreshCookie = value && sealRefreshToken(sealer, { ...visitor, value }, now)
    const tokenEndMs = now.getTime() + expiresIn * 1000
    const endMs = Math.min(tokenEndMs, refreshEndsAt.getTime())
    const session: Session = {
      accessToken,
      visitorId,
      name,
      refreshEndsAt,
      expiresAt: new Date(endMs),
      // What ends with its refresh token is not worth renewing.
      refreshAt: new Date(endMs < tokenEndMs ? endMs : endMs - Math.min(renewBeforeMs, expiresIn * 100)),
      refreshCookieName: refreshCookie ? refreshCookie.name : '',
    }
    const sealed = [...sealSession(sealer, session), ...(refreshCookie ? [refreshCookie] : [])]
    return { session, cookies: [...expireSessionCookies(sealer, cookies, sealed), ...sealed] }
  }

  function sealAnew(session: Session & { isSealedWithOldKey: boolean }): Cookie[] {
    return session.isSealedWithOldKey ? sealSession(sealer, session) : []
  }

  /** Who is signed in, as far as can be said without asking the portal, and the cookies that are left over. */
  function look(cookies: Cookies): { visitor: ShownVisitor | undefined; cookies: Cookie[] } {
    const session = openSession(sealer, cookies)
    if (session)
      return {
        visitor: describeVisitor(session, cookies),
        cookies: expireOtherRefreshCookies(sealer, cookies, session),
      }
    const refreshToken = findRefreshToken(sealer, cookies)
    if (!refreshToken) return { visitor: undefined, cookies: [] }
    const { visitorId, name, expiresAt } = refreshToken
    return { visitor: { visitorId, name, userId: undefined, expiresAt }, cookies: [] }
  }

  return { begin, restore, replace, look }
}

/** `expiresAt`: as far as this client can know, the end of what renews the session. */
export function describeVisitor(session: Session, cookies: Cookies): ShownVisitor {
  const { accessToken, visitorId, name, refreshCookieName, refreshEndsAt } = session
  const expiresAt = refreshCookieName in cookies ? refreshEndsAt : session.expiresAt
  return { userId: readSubject(accessToken), visitorId, name, expiresAt }
}

function also(cookies: Cookie[], restored: Restored): Restored {
  return { ...restored, cookies: [...cookies, ...restored.cookies] }
}

function over(sealer: Sealer, cookies: Cookies, event: 'session_ended' | 'session_unreadable'): Restored {
  return { session: undefined, cookies: expireSessionCookies(sealer, cookies), event }
}
