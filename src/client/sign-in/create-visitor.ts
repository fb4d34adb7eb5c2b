// Makes the visitor of a request from a session. The visitor contains the product's data, and methods that call the
// application API.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callContext, countRefresh, logAsOwner, logEvent } from '../operations/request-log.ts'
import type { Upstream } from '../upstream.ts'
import { afterSetting, type Cookies, setCookies } from '../web/cookies.ts'
import type { Sealer } from '../web/seal.ts'
import { createApi, SignInRequired } from './api.ts'
import { LoginError } from './protocol/login-error.ts'
import { type LoadedSession, type Sessions, toVisitorInfo } from './session/session.ts'
import { expireSessionCookies, type Session } from './session/session-cookies.ts'
import type { SessionData, Visitor } from './visitor.ts'

type VisitorsOptions = {
  sessions: Sessions
  sealer: Sealer
  apiUrl: string
  apiUpstream: Upstream
  /** Runs the product's hook. Never throws. Returns undefined if there is no hook, or if the hook failed. */
  loadSessionData: (request: FastifyRequest, visitor: Visitor) => Promise<SessionData | undefined>
}

export type Visitors = ReturnType<typeof createVisitors>

export function createVisitors(options: VisitorsOptions) {
  const { sessions, sealer, apiUrl, apiUpstream: upstream, loadSessionData } = options

  /**
   * Creates the visitor object from the session of this request. If the API refuses the access token, the client renews
   * the session once.
   */
  function createVisitor(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Session,
    { cookies: set, event }: LoadedSession,
  ): { visitor: Visitor; currentSession: () => Session } {
    const context = callContext(request)
    // The cookies that the browser will have after this response. Use these cookies and not the request's cookies,
    // because the refresh token in the request may have been used already.
    let cookies: Cookies = afterSetting(request.cookies, set)
    let current = session
    let renewal: Promise<void> | undefined

    async function renew() {
      const renewed = await sessions.renew(cookies, context)
      applyLoadedSession(renewed, request, reply)
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
        logRefusedToken(request)
        renewal ??= renew()
        return renewal
      },
      endSession: () => setCookies(reply, expireSessionCookies(sealer, cookies)),
    })
    // If `event` is set, the client has tried to renew the session.
    const wasRenewalTried = event !== undefined
    const visitor = { ...toVisitorInfo(session, cookies), api, wasRenewalTried }
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
      compile: schema => request.compileValidationSchema(schema),
      accessToken: () => session.accessToken,
      renewAccessToken: async () => {
        logRefusedToken(request)
        throw new SignInRequired()
      },
      endSession: () => {},
    })
    return { ...toVisitorInfo(session, cookies), api, wasRenewalTried: false }
  }

  /**
   * Loads the product's data when a session begins, and adds it to the session cookie. If the product calls the API for
   * this data, the call may renew the session. So the code calls `currentSession` again after the data is loaded.
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
      // The data does not fit into the cookie. The session continues without the data in its cookie, and each request
      // loads the data again.
      if (!(error instanceof LoginError)) throw error
      logEvent(request, 'session_data_too_long', { level: 'warn' })
    }
  }

  return { createVisitor, createFixedVisitor, addSessionData }
}

/** Sets the cookies of a loaded session, and logs what has happened to the session. */
export function applyLoadedSession(loaded: LoadedSession, request: FastifyRequest, reply: FastifyReply): void {
  const { session, cookies, owner = session?.owner, event, cause } = loaded
  setCookies(reply, cookies)
  if (owner) logAsOwner(request, owner)
  if (!event) return
  logEvent(request, event, { cause, level: event === 'session_not_renewed' ? 'warn' : 'info' })
  countRefresh(request, event.slice('session_'.length))
}

function logRefusedToken(request: FastifyRequest): void {
  logEvent(request, 'access_token_refused', { level: 'warn' })
}
