// The two ways in which a route knows its visitor: `protect` requires a session, `recognise` does not.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callContext, countRefresh, logAsOwner, logEvent } from '../operations/request-log.ts'
import type { Upstream } from '../upstream.ts'
import { dropBody, hasBodyOtherThanForm } from '../web/bodies.ts'
import { afterSetting, type Cookies, setCookies } from '../web/cookies.ts'
import { sendContinuePage } from '../web/pages.ts'
import type { Sealer } from '../web/seal.ts'
import { localPath } from '../web/security.ts'
import { createApi, SignInRequired } from './api.ts'
import { askToSignIn, mayWithholdCookies } from './ask-to-sign-in.ts'
import { LoginError } from './protocol/login-error.ts'
import type { Portal } from './protocol/portal.ts'
import { type LoadedSession, type Sessions, toVisitorInfo } from './session/session.ts'
import { expireSessionCookies, type Session } from './session/session-cookies.ts'
import type { SessionData, Visitor } from './visitor.ts'

type RequireSessionOptions = {
  portal: Portal
  sessions: Sessions
  sealer: Sealer
  /** The page after a login without `returnTo`. */
  home: string
  apiUrl: string
  apiUpstream: Upstream
  /** Runs the product's hook. Never throws. Returns undefined if there is no hook, or if the hook failed. */
  loadSessionData: (request: FastifyRequest, visitor: Visitor) => Promise<SessionData | undefined>
}

export function createRequireSession(options: RequireSessionOptions) {
  const { sessions, sealer, portal, home, apiUrl, apiUpstream: upstream, loadSessionData } = options

  /**
   * Protects a scope. The routes of the scope have `request.visitor`, and visitors without a session are redirected or
   * asked to sign in.
   *
   * The session is checked in preHandler, after the body was parsed: a form that arrives without a session keeps what the
   * visitor typed (PG-14). Any other body that arrives without a session is refused unread, in onRequest. In onRequest
   * the code only unseals the cookies: if it renewed the session and the parser then refused the body, the new cookies
   * would be lost (RF-09).
   */
  function protect(scope: FastifyInstance): void {
    scope.addHook('onRequest', async (request, reply) => {
      if (!hasBodyOtherThanForm(request) || sessions.identify(request.cookies).visitor) return
      dropBody(request, reply)
      return askToSignIn(request, reply, { portal, home })
    })
    scope.addHook('preHandler', async (request, reply) => {
      const loaded = await sessions.load(request.cookies, callContext(request))
      report(loaded, request, reply)
      if (!loaded.session) return askToSignIn(request, reply, { portal, home })
      const { visitor, currentSession } = createVisitor(request, reply, loaded.session, loaded)
      request.visitorIfAny = visitor
      await addSessionData(request, reply, currentSession)
    })
    scope.setErrorHandler(async (error, request, reply) => {
      if (error instanceof SignInRequired) return askToSignIn(request, reply, { portal, home })
      throw error
    })
  }

  /**
   * A preHandler for public pages: `request.visitorIfAny` is the signed-in visitor, if any. This preHandler does not call
   * the portal.
   */
  async function recognise(request: FastifyRequest, reply: FastifyReply) {
    if (mayWithholdCookies(request)) return reply.send(await sendContinuePage(reply, localPath(request.url) ?? '/'))
    const { visitor, cookies } = sessions.identify(request.cookies)
    setCookies(reply, cookies)
    request.visitorIfAny = visitor
  }

  /**
   * Makes the visitor for a session that was loaded for this request. If the API refuses the access token, the session is
   * renewed once.
   */
  function createVisitor(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    { cookies: set, event }: LoadedSession,
  ): { visitor: Visitor; currentSession: () => Session } {
    const context = callContext(request)
    // The cookies that the browser will have after this response. The refresh token in the request's cookies may have
    // been used already.
    let cookies: Cookies = afterSetting(request.cookies, set)
    let current = session
    let renewal: Promise<void> | undefined

    async function renew() {
      const renewed = await sessions.renew(cookies, context)
      report(renewed, request, reply)
      cookies = afterSetting(cookies, renewed.cookies)
      if (!renewed.session) throw new SignInRequired()
      current = renewed.session
    }

    const api = createApi({
      upstream,
      apiUrl,
      context,
      compile: schema => request.compileValidationSchema(schema),
      accessToken: () => current.accessToken,
      // All calls of this request share one renewal, even if the API refuses them at different times.
      renewAccessToken: () => {
        logRefused(request)
        renewal ??= renew()
        return renewal
      },
      endSession: () => setCookies(reply, expireSessionCookies(sealer, cookies)),
    })
    // A loaded session has an event only if the client asked the portal to renew the session.
    const wasRenewalTried = event !== undefined
    const visitor = { ...toVisitorInfo(session, cookies), api, wasRenewalTried }
    return { visitor, currentSession: () => current }
  }

  /** The visitor during a sign-in or a sign-out. The session is not renewed: its tokens are new, or will be revoked soon. */
  function createFixedVisitor(request: FastifyRequest, session: Session, cookies: Cookies): Visitor {
    const api = createApi({
      upstream,
      apiUrl,
      context: callContext(request),
      compile: schema => request.compileValidationSchema(schema),
      accessToken: () => session.accessToken,
      renewAccessToken: async () => {
        logRefused(request)
        throw new SignInRequired()
      },
      endSession: () => {},
    })
    return { ...toVisitorInfo(session, cookies), api, wasRenewalTried: false }
  }

  /**
   * Loads the product's data when a session begins, and adds it to the session cookie. The product may call the API for
   * this data, and the call may renew the session. So `currentSession` is called again afterwards.
   */
  async function addSessionData(
    request: FastifyRequest,
    reply: FastifyReply,
    currentSession: () => Session,
  ): Promise<void> {
    if (currentSession().data) return
    const data = await loadSessionData(request, request.visitor)
    if (!data) return
    request.visitorIfAny = { ...request.visitor, data }
    try {
      setCookies(reply, sessions.sealWithData(currentSession(), data))
    } catch (error) {
      // The session works without its data, which is then loaded for each request.
      if (!(error instanceof LoginError)) throw error
      logEvent(request, 'session_data_too_long', { level: 'warn' })
    }
  }

  function logRefused(request: FastifyRequest): void {
    logEvent(request, 'access_token_refused', { level: 'warn' })
  }

  /** Sets the cookies of a loaded session, and logs what has happened to the session. */
  function report(loaded: LoadedSession, request: FastifyRequest, reply: FastifyReply): void {
    const { session, cookies, owner = session?.owner, event, cause } = loaded
    setCookies(reply, cookies)
    if (owner) logAsOwner(request, owner)
    if (!event) return
    logEvent(request, event, { cause, level: event === 'session_not_renewed' ? 'warn' : 'info' })
    countRefresh(request, event.slice('session_'.length))
  }

  return { protect, recognise, createFixedVisitor, addSessionData }
}
