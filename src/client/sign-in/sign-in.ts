// The door of signing in: a plugin with the routes, two hooks, and an accessor. Other parts use nothing else of this folder.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type NextStep, PublicError } from '../errors.ts'
import { contextOf } from '../operations/request-log.ts'
import { outsideRequests, type Upstream } from '../upstream.ts'
import { logFault } from '../web/error-pages.ts'
import type { Cookies, Sealer } from '../web/seal.ts'
import { navigationsOnly } from '../web/security.ts'
import { signInTo } from './ask-to-sign-in.ts'
import { createLogin } from './login.ts'
import type { Logger, Registration } from './protocol/authorization.ts'
import { createPortal } from './protocol/tokens.ts'
import { createRequireSession, type Visitor, visitorIfAny, visitorWith } from './require-session.ts'
import { createLogins, hasSignedOut } from './session/login-cookies.ts'
import { createSessions } from './session/session.ts'
import { hasSessionCookie, type Session } from './session/session-cookies.ts'
import { createSignOut } from './sign-out.ts'

export { type CallAsVisitor, type Caller, type Visitor, visitorIfAny, visitorOf } from './require-session.ts'

export type SignInOptions = {
  /** To the login portal. */
  upstream: Upstream
  sealer: Sealer
  clock: () => Date
  logger: Logger
  /** Where a login ends that has no other page to go back to: a GET route, or the start stops. */
  home: string
  /** Awaited before the answer. Its fault is logged, and never undoes the sign-in. `call` renews nothing here. */
  afterSignIn?: (visitor: Visitor, request: FastifyRequest) => Promise<void>
  /**
   * The same; `visitor` is undefined where the session has ended already. The visitor's tokens are being revoked
   * meanwhile, so the API may refuse `call`.
   */
  beforeSignOut?: (visitor: Visitor | undefined, request: FastifyRequest) => Promise<void>
}

/** What the routes and hooks have in common. */
export type Parts = ReturnType<typeof createParts>
export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(registration: Registration, options: SignInOptions) {
  const parts = createParts(registration, options)
  const { home, portal } = parts

  async function routes(app: FastifyInstance): Promise<void> {
    const login = createLogin(parts)
    app.decorateRequest('visitor', undefined)
    app.get('/login', { onRequest: navigationsOnly }, login.begin)
    app.get('/exchangeToken', { onRequest: navigationsOnly }, login.finish)
    app.get('/cancelled', login.decline)
    app.post('/logout', createSignOut(parts))
    app.addHook('onReady', async () => {
      if (!app.hasRoute({ method: 'GET', url: home }))
        throw new Error(`A login ends at ${home}, and there is no GET ${home}.`)
      void portal.readMetadata(outsideRequests('start'))
    })
  }

  return {
    /** The four routes, and what the hooks need: register it in the scope above them. */
    routes: Object.assign(routes, { [Symbol.for('skip-override')]: true }),
    ...createRequireSession(parts),
    visitorIfAny,
    hasSignedOut,
    findPortalSignOut: (request: FastifyRequest) => portal.findSignOutPage(contextOf(request)),

    /** What a fault offers to whoever is signed in, or seems so: the sign-in itself may be what is wrong. */
    signInAnew(request: FastifyRequest, returnTo = home): NextStep | undefined {
      const isSignedIn = visitorIfAny(request) !== undefined || hasSessionCookie(request.cookies ?? {})
      return isSignedIn ? signInTo(returnTo, 'Sign in again') : undefined
    },
  }
}

function createParts(registration: Registration, options: SignInOptions) {
  const { upstream, sealer, clock, logger, home, afterSignIn, beforeSignOut } = options
  const portal = createPortal(registration, upstream, clock, logger)
  const sessions = createSessions(sealer, portal, clock)
  return {
    portal,
    logins: createLogins(sealer, clock),
    sessions,
    sealer,
    clock,
    home,
    afterSignIn:
      afterSignIn &&
      ((session: Session, cookies: Cookies, request: FastifyRequest) =>
        runHook(request, () => afterSignIn(visitorWith(session, cookies, request), request))),
    beforeSignOut:
      beforeSignOut &&
      ((session: Session | undefined, request: FastifyRequest) =>
        runHook(request, () => beforeSignOut(session && visitorWith(session, request.cookies, request), request))),
  }
}

/** Runs what the product does beside a sign-in or sign-out, for as long as the request has time. */
async function runHook(request: FastifyRequest, work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timeLeftMs = contextOf(request).endsAt - performance.now()
  const timer = setTimeout(() => late.reject(new Error('It took longer than the request may.')), timeLeftMs)
  try {
    await Promise.race([work(), late.promise])
  } catch (error) {
    logFault(request, new PublicError('hook_failed', 500, 'never shown', { cause: error }))
  } finally {
    clearTimeout(timer)
  }
}
