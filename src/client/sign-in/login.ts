// The handlers of the login routes. GET /login redirects the browser to the portal. After the visitor has signed in at
// the portal, the portal redirects the browser to GET /exchangeToken. If the visitor declines, the portal redirects the
// browser to GET /cancelled.
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type NextStep, PublicError } from '../errors.ts'
import { ExpiringMap } from '../expiring-map.ts'
import { callContext, countLogin, logAsOwner, logEvent } from '../operations/request-log.ts'
import { type Cookie, expire, setCookies } from '../web/cookies.ts'
import { renderContinuePage } from '../web/pages.ts'
import { isOwnNavigation, localPath } from '../web/security.ts'
import { loginLink, renderSignedOutPage } from './ask-to-sign-in.ts'
import {
  authorizationUrl,
  type Callback,
  checkCode,
  checkIssuer,
  readCallback,
  readState,
} from './protocol/authorization.ts'
import { LoginError } from './protocol/login-error.ts'
import type { Portal, Tokens } from './protocol/portal.ts'
import {
  arrivedCookie,
  hashUserId,
  hasSignedOut,
  type LoginCookies,
  loginLifetimeMs,
  type PendingLogin,
  signedOutCookie,
} from './session/login-cookies.ts'
import type { Sessions } from './session/session.ts'
import { hasSessionCookie, type Session } from './session/session-cookies.ts'

type LoginOptions = {
  portal: Portal
  loginCookies: LoginCookies
  sessions: Sessions
  clock: () => Date
  /** The path of the page that a login without `returnTo` leads to. */
  home: string
  /**
   * Runs the product's hooks. `cookies` are the cookies of the new session. Returns the cookies that replace some of
   * them, because the session now contains the product's data. Never throws.
   */
  runSignInHooks: (request: FastifyRequest, session: Session, cookies: Cookie[]) => Promise<Cookie[]>
  /**
   * Called after a login that `connect` began. Checks that the tokens belong to the user whose id has the hash
   * `connectsFor`, and passes the tokens to the product's `onConnected`. Throws PublicError if the check or
   * `onConnected` fails.
   */
  keepConnection: (request: FastifyRequest, tokens: Tokens, connectsFor: string) => Promise<void>
}

/**
 * Replaces the title of the error page. If a connection fails, the visitor is still signed in, so the usual title would
 * be wrong.
 */
function setConnectionTitle(error: LoginError): void {
  error.title = texts => texts.signIn.connectionFailed
}

export function createLogin({
  portal,
  loginCookies,
  sessions,
  clock,
  home,
  runSignInHooks,
  keepConnection,
}: LoginOptions) {
  /**
   * The logins that `completeLogin` is completing, keyed by their `state`. After a login is complete, its value is
   * `finished` for ten minutes. A code works only once, so the client uses this map to recognise a repeated callback
   * request. Browsers repeat this request if the connection breaks, or if the visitor reloads an error page.
   */
  const logins = new ExpiringMap<Promise<Cookie[]> | 'finished'>(clock)

  /** GET /login: stores the login in a cookie in this browser and redirects to the portal. */
  async function begin(request: FastifyRequest, reply: FastifyReply) {
    const { returnTo: given } = request.query as { returnTo?: unknown }
    const returnTo = localPath(given) ?? home
    if (hasSignedOut(request) && !isOwnNavigation(request, portal.registration.redirectUri))
      return renderSignedOutPage(request, reply, portal, returnTo)

    return redirectToPortal(request, reply, { returnTo })
  }

  /**
   * Begins a login whose tokens go to the product. The visitor must be signed in, and the user id must be known. At the
   * callback, the browser does not send the Strict cookies of the session. So the login cookie contains a hash of the
   * user id, and the callback compares this hash with the hash of the user id in the new tokens.
   */
  async function connect(request: FastifyRequest, reply: FastifyReply, { returnTo }: { returnTo: string }) {
    if (request.method === 'GET')
      throw new Error(`GET ${request.routeOptions.url} calls connect. Use a POST route, which other sites cannot call.`)
    if (localPath(returnTo) === undefined) throw new Error(`connect: ${returnTo} is not a path of this site.`)
    const { userId } = request.visitor
    if (!userId) {
      const error = new LoginError('user_unknown')
      setConnectionTitle(error)
      throw error
    }
    return redirectToPortal(request, reply, { returnTo, connectsFor: hashUserId(userId) })
  }

  async function redirectToPortal(
    request: FastifyRequest,
    reply: FastifyReply,
    login: Omit<PendingLogin, 'codeVerifier'>,
  ) {
    // 128 random bits, which nobody can guess (RFC 6749 10.12).
    const state = randomBytes(16).toString('base64url')
    const { usesPkce } = await portal.readMetadata(callContext(request))
    const codeVerifier = usesPkce ? randomBytes(32).toString('base64url') : undefined
    setCookies(reply, loginCookies.begin(request.cookies, state, { ...login, codeVerifier }))
    return reply.redirect(
      authorizationUrl(portal.registration, state, codeVerifier),
      request.method === 'GET' ? 302 : 303,
    )
  }

  /**
   * GET /exchangeToken: the callback, to which the portal redirects the browser. This handler contains all checks of the
   * callback, in order. Then `completeLogin` exchanges the code and begins the session.
   */
  async function finish(request: FastifyRequest, reply: FastifyReply) {
    let login: PendingLogin | undefined
    let state = ''
    try {
      // Anyone can make a link to the callback. So the client does not make a call or set a cookie until the login
      // cookie has shown that this browser began the login.
      const query = request.query as Record<string, unknown>
      state = readState(query)
      login = findLogin(request, state)
      setCookies(reply, [loginCookies.expire(state)])
      const callback = readCallback(query)
      await checkIssuer(callback, portal, callContext(request))
      if (callback.error) return await renderPortalError(reply, callback, login)
      checkCode(callback, portal)

      setCookies(reply, await completeOnce(callback, login, request))
      if (!login.connectsFor && hasSignedOut(request)) setCookies(reply, [expire(signedOutCookie.name)])
      return await renderContinuePage(reply, login.returnTo)
    } catch (error) {
      countLogin(request, error instanceof PublicError ? error.code : 'internal')
      if (error instanceof PublicError) error.nextStep ??= nextStepAfter(error, request, login)
      if (login?.connectsFor && error instanceof LoginError) setConnectionTitle(error)
      throw error
    } finally {
      // Each `state` is accepted only once (CL-05). A login that fails before the exchange also uses up its `state`,
      // because somebody may have kept a copy of the login cookie. If the map already has an entry, this entry must
      // stay: a second request may still be waiting for its result.
      if (login && !logins.get(state)) logins.set(state, 'finished', loginLifetimeMs)
    }
  }

  /**
   * Finds the login that this browser began with this `state` value. Throws LoginError if this browser has no login
   * with this value (RFC 6749 10.12).
   */
  function findLogin({ cookies }: FastifyRequest, state: string): PendingLogin {
    const login = loginCookies.find(cookies, state)
    if (login) return login
    if (logins.get(state)) throw new LoginError('login_used')
    throw new LoginError(Object.keys(cookies).length > 0 ? 'login_unknown' : 'login_without_cookies')
  }

  /**
   * Completes the login, and returns the cookies to set. If the browser sends the same callback request again while the
   * client completes the login, both requests get the same cookies. If the browser sends the request later, the function
   * throws LoginError.
   */
  async function completeOnce(callback: Callback, login: PendingLogin, request: FastifyRequest): Promise<Cookie[]> {
    const known = logins.get(callback.state)
    if (known === 'finished') throw new LoginError('login_used')
    if (known) return known
    const cookies = completeLogin(callback, login, request)
    logins.set(callback.state, cookies, Number.POSITIVE_INFINITY)
    try {
      return await cookies
    } finally {
      logins.set(callback.state, 'finished', loginLifetimeMs)
    }
  }

  /**
   * Exchanges the code. Then begins a session and runs the product's hooks, or passes the tokens to the product if
   * `connect` began the login. Returns the cookies to set.
   */
  async function completeLogin(callback: Callback, login: PendingLogin, request: FastifyRequest): Promise<Cookie[]> {
    const context = callContext(request)
    // The exchange goes from server to server, with the client secret. exchangeCode checks every field of the response,
    // including the state.
    const tokens = await portal.exchangeCode(callback, login.codeVerifier, context)
    const receivedAt = clock()
    if (login.connectsFor) {
      await keepConnection(request, tokens, login.connectsFor)
      logEvent(request, 'connected')
      countLogin(request, 'connected')
      return []
    }
    const name = await portal.fetchName(tokens, context)

    // The new session contains no data from an earlier session in this browser, because an attacker may have set the
    // cookies of the earlier session.
    const { session, cookies } = sessions.begin({ ...tokens, receivedAt }, name, request.cookies, context)
    logAsOwner(request, session.owner)
    logEvent(request, 'login_succeeded')
    countLogin(request, 'login_succeeded')
    return [...cookies, arrivedCookie, ...(await runSignInHooks(request, session, cookies))]
  }

  /**
   * GET /cancelled: the visitor declined at the portal. If the address contains a `state`, the login with this `state`
   * ends. If the address contains no `state`, all logins stay open. The page then uses the newest login to find out
   * which page the visitor wanted.
   */
  async function decline(request: FastifyRequest, reply: FastifyReply) {
    const { state } = request.query as { state?: unknown }
    const login = typeof state === 'string' ? loginCookies.find(request.cookies, state) : undefined
    if (typeof state === 'string' && login) setCookies(reply, [loginCookies.expire(state)])
    const newest = state === undefined ? loginCookies.findNewest(request.cookies) : undefined
    return renderDeclinedPage(reply, login ?? newest)
  }

  /**
   * Answers a callback that contains an error from the portal (RFC 6749 4.1.2.1). The text of the error comes from the
   * address, and anyone can make a link with other text. So the page shows the text in quotation marks, and shortens
   * it.
   */
  function renderPortalError(reply: FastifyReply, { error, error_description }: Callback, login: PendingLogin) {
    if (error === 'access_denied') return renderDeclinedPage(reply, login)
    const known = /^[a-z_]{1,40}$/.test(error) ? error : 'other'
    logEvent(reply.request, 'login_refused', { error: known, level: 'warn' })
    countLogin(reply.request, 'login_refused')
    const reason = (error_description || error).slice(0, 200)
    const { portalRefused, connectionFailed, signInAgain } = reply.request.texts.signIn
    return reply
      .code(400)
      .message({
        title: login.connectsFor ? connectionFailed : portalRefused.title,
        message: portalRefused.message(reason),
        nextStep: loginAgain(reply.request, login, signInAgain),
        isError: true,
      })
  }

  function renderDeclinedPage(reply: FastifyReply, login: PendingLogin | undefined) {
    logEvent(reply.request, 'login_declined')
    countLogin(reply.request, 'login_declined')
    const { web, signIn: texts } = reply.request.texts
    return reply.message({
      ...(login?.connectsFor ? texts.connectionDeclined : texts.declined),
      nextStep: loginAgain(reply.request, login, texts.signIn),
      otherStep: { href: '/', text: web.errorPage.goToStart },
    })
  }

  function nextStepAfter(error: PublicError, request: FastifyRequest, login: PendingLogin | undefined): NextStep {
    const texts = request.texts.signIn
    const isSignedIn = error.code === 'login_used' && hasSessionCookie(request.cookies)
    return isSignedIn
      ? { href: login?.returnTo ?? home, text: texts.continue }
      : loginAgain(request, login, texts.signInAgain)
  }

  /**
   * Makes a link to a new login. This login leads to the page that the visitor wanted. If the failed login was for a
   * connection, the link leads to the product's page, where the visitor can begin again.
   */
  function loginAgain({ texts }: FastifyRequest, login: PendingLogin | undefined, text: string): NextStep {
    if (login?.connectsFor) return { href: login.returnTo, text: texts.signIn.goBack }
    return login && login.returnTo !== home ? loginLink(login.returnTo, text) : { href: '/login', text }
  }

  return { begin, connect, finish, decline }
}
