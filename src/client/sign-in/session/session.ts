// Begins, loads, renews and ends sessions.
import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { describeCause, PublicError } from '../../errors.ts'
import { ExpiringMap, shareWork } from '../../expiring-map.ts'
import type { RequestContext } from '../../upstream.ts'
import { afterSetting, type Cookie, type Cookies, expire } from '../../web/cookies.ts'
import type { Sealer } from '../../web/seal.ts'
import { LoginError } from '../protocol/login-error.ts'
import { type Portal, RefreshRefused, type RenewedTokens, readSubject, type Tokens } from '../protocol/portal.ts'
import type { SessionData, VisitorInfo } from '../visitor.ts'
import {
  expireOtherRefreshCookies,
  expireSessionCookies,
  findRefreshToken,
  hasSessionCookie,
  type RefreshToken,
  type SentRefreshToken,
  type Session,
  sealRefreshToken,
  sealSession,
  unsealRefreshTokens,
  unsealSession,
} from './session-cookies.ts'

export type Sessions = ReturnType<typeof createSessions>

/** If `session` is undefined, the visitor has to sign in. Set `cookies` on the reply in every case. */
export type LoadedSession = {
  session: Session | undefined
  cookies: Cookie[]
  /**
   * What has happened to the session, for the log. If `session` is set, `session_ended` means that the session ends when
   * its access token expires, because the portal has refused the refresh token.
   */
  event?: 'session_renewed' | 'session_ended' | 'session_unreadable' | 'session_not_renewed'
  /** The owner of the session, for the log. `owner` is set even if the session has ended. */
  owner?: string
  /** Why the renewal failed, for the log. */
  cause?: unknown
}

// Yours: after this time, a visitor must sign in again. Renewals do not extend this time.
const maxSessionMs = 30 * 24 * 60 * 60 * 1000
const renewBeforeMs = 60_000
/**
 * Until the browser gets the answer to a sign-out or a renewal, it may send other requests with the old cookies. So a
 * request that arrives less than a minute after the sign-out or the renewal may have old cookies. The browser gets the
 * renewed cookies only when the page is ready, and a page with several slow calls can take most of a minute.
 */
const oldCookieMs = 60_000
/**
 * How long the client remembers a sign-out and a replaced refresh token. This time must be longer than the longest
 * request: a route for uploads can have a deadline of several minutes (`deadlineMs`). This time must also be longer
 * than the longest renewal and `oldCookieMs` together.
 */
const rememberEndMs = 60 * 60 * 1000

/** `expiresIn` counts from the time `receivedAt`, even if the client uses the tokens later. */
type ReceivedTokens = Tokens & { receivedAt: Date }
/** The result of a renewal, which several requests can use. */
type SharedTokens = RenewedTokens & { receivedAt: Date }

export function createSessions(
  sealer: Sealer,
  portal: Portal,
  clock: () => Date,
  log: Pick<FastifyBaseLogger, 'warn'>,
) {
  const renewals = new ExpiringMap<Promise<SharedTokens>>(clock)
  /** When visitors signed out, in milliseconds since 1970. The keys are the tokens of these visitors. */
  const signOuts = new ExpiringMap<number>(clock)
  /** When renewals replaced refresh tokens, in milliseconds since 1970. The keys are the old refresh tokens. */
  const replaced = new ExpiringMap<number>(clock)

  /**
   * Begins a session after a login. The new session contains no data from an earlier session. Throws LoginError if a
   * token is too long.
   */
  function begin(
    tokens: ReceivedTokens,
    name: string,
    cookies: Cookies,
    context: RequestContext,
  ): { session: Session; cookies: Cookie[] } {
    const owner = readSubject(tokens.accessToken) ?? randomUUID()
    const signInEndsAt = new Date(clock().getTime() + maxSessionMs)
    return sealTokens(tokens, { owner, name, signInEndsAt }, undefined, cookies, context)
  }

  /**
   * Loads the session from the cookies, and renews it if it is due. Throws PublicError if the access token has expired
   * and the portal cannot be reached. In this case the browser keeps the cookies, so that a later request can renew the
   * session.
   */
  async function load(cookies: Cookies, context: RequestContext): Promise<LoadedSession> {
    const session = unsealSession(sealer, cookies)
    if (!session) {
      const refreshToken = findRefreshToken(sealer, cookies)
      if (refreshToken) return renewWith(refreshToken, cookies, context, {})
      return hasSessionCookie(cookies) ? end(cookies, 'session_unreadable') : { session: undefined, cookies: [] }
    }
    if (session.signInEndsAt <= clock()) return end(cookies, 'session_ended')

    const outdated = expireOtherRefreshCookies(sealer, cookies, session)
    if (clock() < session.renewAt) return { session, cookies: outdated }
    const refreshToken = findRefreshToken(sealer, cookies, session)
    if (!refreshToken) return { session, cookies: outdated }
    const renewed = await renewWith(refreshToken, cookies, context, { fallback: session, data: session.data })
    return { ...renewed, cookies: [...outdated, ...renewed.cookies] }
  }

  /**
   * Renews the session before it is due, because the API has refused its access token. Throws the same errors as
   * `load`.
   */
  async function renew(cookies: Cookies, context: RequestContext): Promise<LoadedSession> {
    const session = unsealSession(sealer, cookies)
    const refreshToken = findRefreshToken(sealer, cookies, session)
    if (!refreshToken) return end(cookies, 'session_ended')
    return renewWith(refreshToken, cookies, context, { data: session?.data })
  }

  /**
   * Gets new tokens. Callers with the same refresh token share one renewal, even if a caller comes up to a minute after
   * the renewal. The portal would end the session if the client sent it a refresh token that was replaced more than ten
   * seconds ago (RF-06). Throws the same errors as `portal.refresh`. Also throws RefreshRefused if the visitor has
   * signed out, during the renewal or before it.
   */
  async function renewTokens(refreshToken: string, context: RequestContext): Promise<SharedTokens> {
    const tokens = await shareWork(renewals, refreshToken, oldCookieMs, async () => {
      const renewed = await portal.refresh(refreshToken, context)
      // If the visitor has signed out during the renewal, the sign-out has revoked only the old tokens. So the new
      // tokens are revoked here. If this revocation fails, the new tokens stay valid until they expire, but nobody has
      // them.
      if (signOuts.get(refreshToken) !== undefined)
        await portal.revoke(renewed.refreshToken, context).catch(() => undefined)
      const receivedAt = clock()
      if (renewed.refreshToken !== refreshToken) replaced.set(refreshToken, receivedAt.getTime(), rememberEndMs)
      return { ...renewed, receivedAt }
    })
    // If the old refresh token stays valid, the next request can renew again. That request must not get this result,
    // because the access token in it may already have expired.
    if (tokens.refreshToken === refreshToken) renewals.delete(refreshToken)
    if (signOuts.get(refreshToken) !== undefined) throw new RefreshRefused('signed out')
    return tokens
  }

  /**
   * Records a sign-out. Without this record, a request that is still running could sign the browser in again (CK-13).
   * `tokens` contains the refresh tokens that the browser sent. If the session has no refresh token, `tokens` also
   * contains its access token.
   */
  function noteSignOut(tokens: string[]): void {
    for (const token of tokens) signOuts.set(token, clock().getTime(), rememberEndMs)
  }

  /**
   * Whether a response must leave out the cookies `set`. This is the case if a sign-out (CK-13), or a renewal by
   * another request (CK-18), happened after the request arrived, or less than a minute before it arrived. `sent`
   * contains the cookies of the request, and `receivedAtMs` is the time at which the request arrived. Each replica
   * knows only the sign-outs and renewals that it has handled itself.
   */
  function isOutdated(sent: Cookies, set: Cookie[], receivedAtMs: number): boolean {
    const mayHaveOldCookies = (changedAtMs: number | undefined) =>
      changedAtMs !== undefined && receivedAtMs < changedAtMs + oldCookieMs
    const kept = afterSetting(sent, set)
    const session = unsealSession(sealer, kept)
    const refreshToken = findRefreshToken(sealer, kept, session)
    if (refreshToken && mayHaveOldCookies(replaced.get(refreshToken.value))) return true
    const tokens = [refreshToken, ...unsealRefreshTokens(sealer, sent)].map(token => token?.value)
    return [session?.accessToken, ...tokens].some(
      token => token !== undefined && mayHaveOldCookies(signOuts.get(token)),
    )
  }

  /**
   * Renews the session with this refresh token. If the renewal fails, the session `fallback` continues, because its
   * access token is still valid. `data` goes into the new session.
   */
  async function renewWith(
    refreshToken: SentRefreshToken,
    cookies: Cookies,
    context: RequestContext,
    { fallback, data }: { fallback?: Session; data?: Session['data'] },
  ): Promise<LoadedSession> {
    const { value, owner } = refreshToken
    try {
      const tokens = await renewTokens(value, context)
      return { ...sealTokens(tokens, refreshToken, data, cookies, context), event: 'session_renewed', owner }
    } catch (error) {
      // The session ends: the old refresh token is used up, and the new tokens are too long for the cookies.
      if (error instanceof LoginError && error.code === 'token_too_long') return end(cookies, 'session_ended')
      // Another replica may have renewed the session at the same time. This line deletes only the cookie of the old
      // refresh token. The other replica has set a cookie with another name, so its session continues.
      if (error instanceof RefreshRefused) {
        const outdated = [expire(refreshToken.cookieName)]
        return { session: fallback, cookies: outdated, event: 'session_ended', owner, cause: error.message }
      }
      if (fallback && error instanceof PublicError) {
        const { code, cause } = error
        const reason = { code, cause: describeCause(cause) }
        return { session: fallback, cookies: [], event: 'session_not_renewed', owner, cause: reason }
      }
      throw error
    }
  }

  /** Makes a session from tokens, with all its cookies. */
  function sealTokens(
    tokens: ReceivedTokens,
    signedIn: Omit<RefreshToken, 'value'>,
    data: Session['data'],
    cookies: Cookies,
    context: RequestContext,
  ): { session: Session; cookies: Cookie[] } {
    const { accessToken, refreshToken, expiresIn, receivedAt } = tokens
    const { owner, name, signInEndsAt } = signedIn
    const refreshCookie = refreshToken && sealRefreshToken(sealer, { ...signedIn, value: refreshToken }, clock())
    if (refreshToken && !refreshCookie)
      log.warn({ event: 'refresh_token_too_long', reqId: context.requestId, characters: refreshToken.length })
    const tokenEndMs = receivedAt.getTime() + expiresIn * 1000
    const renewMs = tokenEndMs - Math.min(renewBeforeMs, expiresIn * 100)
    // The session ends at `signInEndsAt`, and cannot be renewed after that.
    const outlivesSignIn = tokenEndMs > signInEndsAt.getTime()
    const session: Session = {
      accessToken,
      owner,
      name,
      tokenExpiresAt: new Date(tokenEndMs),
      renewAt: outlivesSignIn ? signInEndsAt : new Date(renewMs),
      refreshCookieName: refreshCookie ? refreshCookie.name : '',
      signInEndsAt,
      data,
    }
    const sealed = [...sealWithDataIfItFits(session), ...(refreshCookie ? [refreshCookie] : [])]
    return { session, cookies: [...expireSessionCookies(sealer, cookies, sealed), ...sealed] }
  }

  /**
   * A renewed access token may be so long that the product's data no longer fits into the cookie. In that case, the
   * client leaves out the data, and loads it again later.
   */
  function sealWithDataIfItFits(session: Session): Cookie[] {
    try {
      return sealSession(sealer, session)
    } catch (error) {
      if (!session.data) throw error
      return sealSession(sealer, { ...session, data: undefined })
    }
  }

  function end(cookies: Cookies, event: 'session_ended' | 'session_unreadable'): LoadedSession {
    return { session: undefined, cookies: expireSessionCookies(sealer, cookies), event }
  }

  /** Reads the visitor from the cookies, without a call to the portal. Used for public pages. */
  function identify(cookies: Cookies): { visitor: VisitorInfo | undefined; cookies: Cookie[] } {
    const session = unsealSession(sealer, cookies)
    if (session && session.signInEndsAt <= clock()) return { visitor: undefined, cookies: [] }
    if (session) {
      const outdated = expireOtherRefreshCookies(sealer, cookies, session)
      return { visitor: toVisitorInfo(session, cookies), cookies: outdated }
    }
    const refreshToken = findRefreshToken(sealer, cookies)
    if (!refreshToken) return { visitor: undefined, cookies: [] }
    const { owner, name, signInEndsAt } = refreshToken
    const visitor = { userId: undefined, sessionOwner: owner, name, expiresAt: signInEndsAt, data: {} }
    return { visitor, cookies: [] }
  }

  return {
    begin,
    load,
    renew,
    renewTokens,
    noteSignOut,
    isOutdated,
    identify,
    /** Returns the cookies of the session, with the product's data. */
    sealWithData: (session: Session, data: SessionData): Cookie[] => sealSession(sealer, { ...session, data }),
  }
}

/**
 * `cookies` contains the cookies that the browser has. If the refresh cookie is missing, the session ends when its
 * access token expires.
 */
export function toVisitorInfo(session: Session, cookies: Cookies): VisitorInfo {
  const { accessToken, owner, name, refreshCookieName, signInEndsAt, data = {} } = session
  const outlivesSignIn = session.tokenExpiresAt > signInEndsAt
  const expiresAt = refreshCookieName in cookies || outlivesSignIn ? signInEndsAt : session.tokenExpiresAt
  return { userId: readSubject(accessToken), sessionOwner: owner, name, expiresAt, data }
}
