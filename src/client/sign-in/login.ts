// A login, from its first step to its last: GET /login, then at the portal, then GET /exchangeToken or GET /cancelled.
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type NextStep, PublicError } from '../errors.ts'
import { AlreadyDone, Once } from '../once.ts'
import { contextOf, countLogin, logAsVisitor, logEvent } from '../operations/request-log.ts'
import { afterSetting, expire, setCookies } from '../web/seal.ts'
import { isVisitorsChoice, localPath } from '../web/security.ts'
import { showGoOn, showMessage } from '../web/views.ts'
import { showSignedOut, signInTo } from './ask-to-sign-in.ts'
import {
  authorizeUrl,
  type Callback,
  checkCode,
  checkIssuer,
  checkState,
  LoginError,
  readCallback,
} from './protocol/authorization.ts'
import { exchangeCode, fetchName, type Tokens } from './protocol/tokens.ts'
import { arrivedMark, hasSignedOut, type Login, loginLifetimeMs, signedOutMark } from './session/login-cookies.ts'
import { hasSessionCookie } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'
import { inWords } from './words.ts'

export function createLogin({ portal, logins, sessions, clock, home, afterSignIn }: Parts) {
  /** A code is good once, and the browser may deliver it several times: by Back, by reload, or by itself. */
  const exchanges = new Once<Tokens>(clock, { shareMs: 0, refuseMs: loginLifetimeMs })

  /** GET /login: remembers the login in a cookie of this browser, and sends the browser to the portal. */
  async function begin(request: FastifyRequest, reply: FastifyReply) {
    const returnTo = localPath((request.query as { returnTo?: unknown }).returnTo) ?? home
    if (hasSignedOut(request) && !isVisitorsChoice(request, portal.redirectUri))
      return showSignedOut(request, reply, portal, returnTo)

    // RFC 6749 10.12: 128 random bits, which nobody guesses.
    const state = randomBytes(16).toString('base64url')
    const { usesPkce } = await portal.readMetadata(contextOf(request))
    const codeVerifier = usesPkce ? randomBytes(32).toString('base64url') : undefined
    setCookies(reply, logins.begin(request.cookies, state, { returnTo, codeVerifier }))
    return reply.redirect(authorizeUrl(portal, state, codeVerifier), 302)
  }

  /** GET /exchangeToken: the browser comes back from the portal. Every step and every check, in order. */
  async function finish(request: FastifyRequest, reply: FastifyReply) {
    const context = contextOf(request)
    // Where the visitor wanted to go. Only the login cookie knows it.
    let returnTo: string | undefined
    try {
      // Anyone can make this address: until a cookie says that this browser began the login, nothing is asked or set.
      const callback = readCallback(request.query as Record<string, unknown>)
      checkState(callback)
      const login = findLoginOfThisBrowser(request, callback)
      returnTo = login.returnTo
      // A login has one answer, whatever it says.
      setCookies(reply, [logins.expire(callback.state)])
      await checkIssuer(callback, portal, context)
      if (callback.error) return await showRefusal(reply, callback, login)
      checkCode(callback, portal)

      // Server to server, with the client secret and the PKCE verifier; tokens.ts checks what comes back.
      const tokens = await exchangeOnce(callback, login, request)
      const name = await fetchName(portal, tokens, context)

      // Nothing of an older session is taken over: whoever put one there must not share the new one.
      const { session, cookies } = sessions.begin(tokens, name, request.cookies)
      setCookies(reply, [...cookies, arrivedMark, ...(hasSignedOut(request) ? [expire(signedOutMark.name)] : [])])
      logAsVisitor(request, session.visitorId)
      logEvent(request, 'login_succeeded')
      countLogin(request, 'login_succeeded')
      await afterSignIn?.(session, afterSetting(request.cookies, cookies), request)

      return await showGoOn(reply, returnTo)
    } catch (error) {
      const fault = inWords(error)
      if (!(fault instanceof PublicError)) {
        countLogin(request, 'internal')
        throw fault
      }
      countLogin(request, fault.code)
      const isSignedIn = fault.code === 'login_used' && hasSessionCookie(request.cookies)
      fault.nextStep ??= isSignedIn ? { href: returnTo ?? home, text: 'Continue' } : loginTo(returnTo, 'Sign in again')
      throw fault
    }
  }

  /** RFC 6749 10.12: whoever brings a state without the cookie of its login did not begin it. */
  function findLoginOfThisBrowser({ cookies }: FastifyRequest, { state }: Callback): Login {
    const login = logins.find(cookies, state)
    if (login) return login
    if (exchanges.has(state)) throw new LoginError('login_used')
    throw new LoginError(Object.keys(cookies).length > 0 ? 'login_unknown' : 'login_without_cookies')
  }

  async function exchangeOnce(callback: Callback, { codeVerifier }: Login, request: FastifyRequest): Promise<Tokens> {
    const exchange = () => exchangeCode(portal, callback, codeVerifier, contextOf(request))
    return exchanges.do(callback.state, exchange).catch(error => {
      throw error instanceof AlreadyDone ? new LoginError('login_used') : error
    })
  }

  /** GET /cancelled: the portal's way back for a visitor who declines. It may add the state, and need not. */
  async function decline(request: FastifyRequest, reply: FastifyReply) {
    const { state } = request.query as { state?: unknown }
    const login = typeof state === 'string' ? logins.find(request.cookies, state) : undefined
    if (login) setCookies(reply, [logins.expire(state as string)])
    return showDeclined(reply, login)
  }

  /** RFC 6749 4.1.2.1. The words come from the address: shown as text, in quotation marks, and not for long. */
  function showRefusal(reply: FastifyReply, { error, error_description }: Callback, login: Login) {
    if (error === 'access_denied') return showDeclined(reply, login)
    const known = /^[a-z_]{1,40}$/.test(error) ? error : 'other'
    logEvent(reply.request, 'login_refused', { error: known, level: 'warn' })
    countLogin(reply.request, 'login_refused')
    const reason = (error_description || error).slice(0, 200)
    return showMessage(reply.code(400), {
      title: 'The login portal did not sign you in',
      message: `It said: “${reason}”. Please try again; if it happens again, tell the operator of this site.`,
      nextStep: loginTo(login.returnTo, 'Sign in again'),
      isFault: true,
    })
  }

  function showDeclined(reply: FastifyReply, login: Login | undefined) {
    logEvent(reply.request, 'login_declined')
    countLogin(reply.request, 'login_declined')
    return showMessage(reply, {
      title: 'You did not sign in',
      message:
        'You declined at the login portal, so nothing was shared with this site. You can sign in whenever you like.',
      nextStep: loginTo(login?.returnTo, 'Sign in'),
    })
  }

  /** A new login that leads to the same page. */
  function loginTo(returnTo: string | undefined, text: string): NextStep {
    return returnTo === undefined || returnTo === home ? { href: '/login', text } : signInTo(returnTo, text)
  }

  return { begin, decline, finish }
}
