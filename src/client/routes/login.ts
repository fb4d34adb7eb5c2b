// Signing in: GET /login sends the browser to the portal, GET /exchangeToken takes it back, GET /cancelled if it declined.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { beginLogin, readStateTime } from '../oauth/begin-login.ts'
import { exchangeCode, readCallback, refuseCallback } from '../oauth/finish-login.ts'
import type { PortalMetadata } from '../oauth/metadata.ts'
import type { Portal } from '../oauth/portal.ts'
import type { Tokens } from '../oauth/tokens.ts'
import { AlreadyDone, Once } from '../once.ts'
import { logEvent } from '../operations/request-log.ts'
import { arrivedMark, expire, signedOutMark } from '../session/cookies.ts'
import { endLogin, loginLifetimeMs, openLogin, startLogin } from '../session/login-cookies.ts'
import type { Sealer } from '../session/seal.ts'
import { hasSession } from '../session/session-cookies.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { showSignedOut } from '../web/ask-to-sign-in.ts'
import { isVisitorsChoice } from '../web/cross-site-guard.ts'
import { localPath } from '../web/local-path.ts'
import { contextOf } from '../web/request-context.ts'
import { setCookies } from '../web/set-cookies.ts'
import { showGoOn, showMessage } from '../web/views.ts'

type Parts = { portal: Portal; metadata: PortalMetadata; sealer: Sealer; keeper: SessionKeeper; clock: () => Date }
type Query = Record<string, unknown>

const signInAgain = { href: '/login', text: 'Sign in again' }
const applications = { href: '/applications', text: 'Your applications' }

export function loginRoutes({ portal, metadata, sealer, keeper, clock }: Parts) {
  /** A code is good once, and the browser may deliver it several times: by Back, by reload, or by itself. */
  const exchanges = new Once<Tokens>(clock, { keepMs: 0, refuseMs: loginLifetimeMs })

  return {
    async begin(request: FastifyRequest, reply: FastifyReply) {
      const { returnTo } = request.query as Query
      const isSignedOut = signedOutMark.name in request.cookies
      if (isSignedOut && !isVisitorsChoice(request, portal.redirectUri))
        return showSignedOut(reply, localPath(returnTo))
      const { usesPkce } = await metadata.read(contextOf(request))
      const now = clock()
      const { url, state, codeVerifier } = beginLogin(portal, usesPkce, now)
      const login = { returnTo: localPath(returnTo) ?? applications.href, codeVerifier }
      setCookies(reply, startLogin(sealer, request.cookies, state, login, now))
      return reply.redirect(url, 302)
    },

    async finish(request: FastifyRequest, reply: FastifyReply) {
      const callback = readCallback(portal, request.query as Query)
      const login = openLogin(sealer, request.cookies, callback.state)
      if (!login) throw whyUnknown(request, callback.state)
      setCookies(reply, [endLogin(callback.state)])
      // Only now, because nothing is asked for a state that nobody has.
      if (!callback.namesIssuer && (await metadata.read(contextOf(request))).isIssuerRequired)
        throw refuseCallback('no iss')
      if ('error' in callback) return showRefusal(reply, callback)

      const tokens = await exchanges
        .do(callback.state, () => exchangeCode(portal, callback, login.codeVerifier, contextOf(request)))
        .catch(error => {
          if (error instanceof PublicError) error.nextStep ??= signInAgain
          throw error instanceof AlreadyDone ? usedAlready(request) : error
        })
      const { session, cookies } = keeper.begin(tokens, request.cookies)
      const marks = signedOutMark.name in request.cookies ? [arrivedMark, expire(signedOutMark.name)] : [arrivedMark]
      setCookies(reply, [...cookies, ...marks])
      logEvent(request, 'login_succeeded', { visitorId: session?.visitorId })
      return showGoOn(reply, login.returnTo)
    },

    /** The cancel_url of the specification; the portal may add the state, and need not. */
    async cancelled(request: FastifyRequest, reply: FastifyReply) {
      const { state } = request.query as Query
      if (typeof state === 'string' && openLogin(sealer, request.cookies, state)) setCookies(reply, [endLogin(state)])
      logEvent(request, 'login_declined')
      return showCancelled(reply)
    },
  }

  /** The state opens no login of this browser. The first reason that fits is told; none of them lets the login go on. */
  function whyUnknown(request: FastifyRequest, state: string): PublicError {
    if (exchanges.has(state)) return usedAlready(request)
    const startedAt = readStateTime(state)
    if (startedAt && clock().getTime() - startedAt.getTime() >= loginLifetimeMs)
      return refused('login_expired', 'Signing in took longer than ten minutes. Please sign in again.')
    if (Object.keys(request.cookies).length > 0)
      return refused(
        'login_unknown',
        'This sign-in was not begun in this browser, or it is over. Please sign in again.',
      )
    return refused(
      'login_without_cookies',
      'Your browser sent no cookie of this site, and cookies are required for signing in. Please allow them and sign in again; or, if you began in another browser, go on there.',
    )
  }
}

function refused(code: string, message: string, nextStep = signInAgain): PublicError {
  return new PublicError(code, 400, message, { nextStep })
}

function usedAlready(request: FastifyRequest): PublicError {
  const nextStep = hasSession(request.cookies) ? applications : signInAgain
  return refused('login_used', 'This sign-in link was used already: it is good only once.', nextStep)
}

/** RFC 6749 4.1.2.1. The words come from the address: shown as text, in quotation marks, and not for long. */
function showRefusal(reply: FastifyReply, { error, errorDescription }: { error: string; errorDescription: string }) {
  if (error === 'access_denied') {
    logEvent(reply.request, 'login_declined')
    return showCancelled(reply)
  }
  const known = /^[a-z_]{1,40}$/.test(error) ? error : 'other'
  logEvent(reply.request, 'login_refused', { error: known, level: 'warn' })
  const reason = (errorDescription || error).slice(0, 200)
  return showMessage(reply.code(400), {
    title: 'The login portal did not sign you in',
    message: `It said: “${reason}”. Please try again; if it happens again, tell the operator of this site.`,
    nextStep: signInAgain,
    isFault: true,
  })
}

function showCancelled(reply: FastifyReply) {
  return showMessage(reply, {
    title: 'You did not sign in',
    message:
      'You declined at the login portal, so nothing was shared with this site. You can sign in whenever you like.',
    nextStep: { href: '/login', text: 'Sign in' },
  })
}
