// Makes the visitor of a request from a session. The visitor object holds the product's data and the methods that call
// the application API.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callContext, countRefresh, logAsOwner, logEvent } from '../operations/request-log.ts'
import type { Upstream } from '../upstream.ts'
import type { Cookie, Cookies } from '../web/cookies.ts'
import type { Sealer } from '../web/seal.ts'
import { createApi, SignInRequired } from './api.ts'
import { LoginError } from './protocol/login-error.ts'
import { cookiesAfterResponse, queueCookies } from './session/queued-cookies.ts'
import { type LoadedSession, type Sessions, toVisitorInfo } from './session/session.ts'
import { expireSessionCookies, type Session } from './session/session-cookies.ts'
import type { SessionData, Visitor } from './visitor.ts'

type VisitorsOptions = {
  sessions: Sessions
  sealer: Sealer
  apiUrl: string
  apiUpstream: Upstream
  /** Runs the product's hook. Never throws. Returns undefined if there is no hook, or if the hook failed. */
  runLoadSessionData: (visitor: Visitor, request: FastifyRequest) => Promise<SessionData | undefined>
}

export type Visitors = ReturnType<typeof createVisitors>

export function createVisitors(options: VisitorsOptions) {
  const { sessions, sealer, apiUrl, apiUpstream: upstream, runLoadSessionData } = options

  /**
   * Creates the visitor object from the session of this request. If the API refuses the access token, the client renews
   * the session once.
   */
  function createVisitor(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    wasRenewalTried: boolean,
  ): { visitor: Visitor; currentSession: () => Session } {
    const context = callContext(request)
    let current = session

    async function renew() {
      // The browser can no longer get new cookies. The code that made this call runs longer than its request: it is a
      // hook that did not finish in time, a stream or a WebSocket.
      if (request.hasSetCookies || reply.sent) throw new SignInRequired()
      // This call does not use the cookies of the request, because the refresh token in these cookies may already have
      // been used.
      const renewed = await sessions.renew(cookiesAfterResponse(request), context).catch(error => {
        countRefresh(request, 'not_renewed')
        throw error
      })
      applyLoadedSession(renewed, request)
      // The session cookie stays, because another replica may have renewed the session and replaced this cookie (RF-04).
      if (!renewed.session) throw new SignInRequired()
      current = renewed.session
    }

    const api = createApi({
      upstream,
      apiUrl,
      context,
      accessToken: () => current.accessToken,
      // All calls of this request share one renewal, even if the API refuses them at different times.
      renewAccessToken: () => {
        logRefusedToken(request)
        request.renewal ??= renew()
        return request.renewal
      },
      expireSession: () => expireSession(request),
    })
    const visitor = { ...toVisitorInfo(session, cookiesAfterResponse(request)), api, wasRenewalTried }
    return { visitor, currentSession: () => current }
  }

  /**
   * Makes the visitor during a sign-in or a sign-out. The client does not renew this session: after a sign-in the
   * tokens are new, and during a sign-out the client revokes them.
   */
  function createFixedVisitor(request: FastifyRequest, session: Session, cookies: Cookies): Visitor {
    const api = createApi({
      upstream,
      apiUrl,
      context: callContext(request),
      accessToken: () => session.accessToken,
      renewAccessToken: async () => {
        logRefusedToken(request)
        throw new SignInRequired()
      },
      expireSession: () => {},
    })
    return { ...toVisitorInfo(session, cookies), api, wasRenewalTried: false }
  }

  /**
   * Sets the visitor of the request. If the session does not contain the product's data yet, the function loads the
   * data, and returns the cookies of the session with this data. If the product calls the API for this data, the call
   * may renew the session. So the code calls `currentSession` again after the data is loaded.
   */
  async function setVisitor(
    request: FastifyRequest,
    visitor: Visitor,
    currentSession: () => Session,
  ): Promise<Cookie[]> {
    request.visitorIfAny = visitor
    if (currentSession().data) return []
    const data = await runLoadSessionData(visitor, request)
    if (!data) return []
    request.visitorIfAny = { ...visitor, data }
    try {
      return sessions.sealWithData(currentSession(), data)
    } catch (error) {
      // The data does not fit into the cookie. So the session continues with a cookie that does not contain the data,
      // and each request loads the data again.
      if (!(error instanceof LoginError)) throw error
      logEvent(request, 'session_data_too_long', { level: 'warn' })
      return []
    }
  }

  /** Makes the response delete the cookies of the session. */
  function expireSession(request: FastifyRequest): void {
    queueCookies(request, expireSessionCookies(sealer, cookiesAfterResponse(request)))
  }

  /** Makes the response delete the cookies of the session. From now on, the request has no visitor. */
  function endSession(request: FastifyRequest): void {
    expireSession(request)
    request.visitorIfAny = undefined
  }

  return { createVisitor, createFixedVisitor, setVisitor, endSession }
}

/** Queues the cookies of a loaded session, and logs what has happened to the session. */
export function applyLoadedSession(loaded: LoadedSession, request: FastifyRequest): void {
  const { session, cookies, owner = session?.owner, event, cause } = loaded
  queueCookies(request, cookies)
  if (owner) logAsOwner(request, owner)
  if (!event) return
  logEvent(request, event, { cause, level: event === 'session_not_renewed' ? 'warn' : 'info' })
  countRefresh(request, event.slice('session_'.length))
}

function logRefusedToken(request: FastifyRequest): void {
  logEvent(request, 'access_token_refused', { level: 'warn' })
}
