// The Fastify plugin for the sign-in. It adds `request.visitor`, and `app.signIn` with the handlers of the login
// routes.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { NextStep } from '../errors.ts'
import { callContext } from '../operations/request-log.ts'
import type { Texts } from '../texts.ts'
import { backgroundContext, type Upstream } from '../upstream.ts'
import { afterSetting, type Cookie } from '../web/cookies.ts'
import type { Sealer } from '../web/seal.ts'
import type { Api } from './api.ts'
import { loginLink } from './ask-to-sign-in.ts'
import { type Connection, createConnections, type Renewal } from './connections.ts'
import { createVisitors } from './create-visitor.ts'
import { createLogin } from './login.ts'
import { createProductHooks } from './product-hooks.ts'
import { createPortal, type Registration } from './protocol/portal.ts'
import { createLoginCookies, hasSignedOut } from './session/login-cookies.ts'
import { createSessions } from './session/session.ts'
import { hasSessionCookie, type Session } from './session/session-cookies.ts'
import { createSignOut } from './sign-out.ts'
import type { SessionData, Visitor } from './visitor.ts'
import { createVisitorHooks } from './visitor-hooks.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export type { Connection, Renewal } from './connections.ts'

export type SignIn = {
  /** GET /login */
  begin: Handler
  /** GET /exchangeToken */
  finish: Handler
  /** GET /cancelled */
  decline: Handler
  /** POST /logout */
  signOut: Handler

  /**
   * Protects a scope. Call `protect` in the scope before registering routes. If a product sets an error handler in this
   * scope, the handler must throw SignInRequired errors again. Otherwise the visitor cannot sign in.
   */
  protect: (scope: FastifyInstance) => void
  /** A preHandler for public pages that show the name of a signed-in visitor. Sets `request.visitorIfAny`. */
  recognise: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

  /**
   * Deletes the cookies of the session, without a call to the portal. Use it in the signed-in scope, if the platform
   * already refuses the visitor's tokens. Afterwards, `request.visitor` throws an error.
   */
  endSession: (request: FastifyRequest) => void
  /** Whether the visitor has signed out, and has not signed in again. */
  hasSignedOut: (request: FastifyRequest) => boolean
  /** Returns the address of the portal's own sign-out page. Returns undefined if the portal has no such page. */
  findPortalSignOut: (request: FastifyRequest) => Promise<string | undefined>
  /**
   * Returns a link that lets the visitor sign in again, for error pages. Returns undefined if the browser sent no
   * session cookie.
   */
  signInAgainLink: (request: FastifyRequest, texts: Texts, returnTo?: string) => NextStep | undefined

  /**
   * Begins a login whose tokens go to `onConnected`, not into a cookie. The product uses these tokens for jobs that run
   * while the visitor is away. Call `connect` in the handler of a POST route in the signed-in scope, and return its
   * result. After the login, the browser opens `returnTo`.
   */
  connect: (request: FastifyRequest, reply: FastifyReply, options: { returnTo: string }) => Promise<unknown>
  /**
   * Renews the tokens of a connection. Before the call, lock the row of your database that contains the connection.
   * Store the result before you release the lock. Without the lock, a second process could send a refresh token that
   * the first process has already used. The portal would then end the connection.
   */
  renewConnection: (refreshToken: string) => Promise<Renewal>
  /** Ends a connection at the portal, if the portal offers revocation. Never throws. */
  revokeConnection: (refreshToken: string) => Promise<void>
  /**
   * Calls the application API like `request.visitor.api`, with the access token of a connection. If the API refuses the
   * token, the call throws a PublicError with status 401.
   */
  connectionApi: (accessToken: string) => Api
}

export type SignInOptions = {
  registration: Registration
  portalUpstream: Upstream
  /** The address at which this server reaches the application API, without a trailing slash. */
  apiUrl: string
  apiUpstream: Upstream
  sealer: Sealer
  clock: () => Date
  /**
   * The path of the page that a login without `returnTo` leads to. If there is no GET route for this path, the server
   * does not start.
   */
  home: string
  /**
   * Stores the tokens of a new connection, and replaces earlier tokens of the same user. If this function throws an
   * error, the client revokes the tokens, and a page tells the visitor that nothing was connected.
   */
  onConnected?: ((connection: Connection, request: FastifyRequest) => Promise<void>) | undefined
  /**
   * Called after each sign-in, before the client answers. The client waits at most three seconds for this function and
   * for each of the two functions below. If this function throws an error, the client logs it, and the
   * visitor stays signed in.
   */
  afterSignIn?: ((visitor: Visitor, request: FastifyRequest) => Promise<void>) | undefined
  /**
   * Called before each sign-out. The client revokes the visitor's tokens at the same time, so the API may refuse calls
   * that this function makes. `visitor` is undefined if the session has already ended. If this function throws an
   * error, the client logs it, and the sign-out continues.
   */
  beforeSignOut?: ((visitor: Visitor | undefined, request: FastifyRequest) => Promise<void>) | undefined
  /**
   * Returns the product's own data for the session cookie. Called when a session begins. If this function fails, the
   * session has no data yet, and the next request calls the function again.
   */
  loadSessionData?: ((visitor: Visitor, request: FastifyRequest) => Promise<SessionData>) | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    signIn: SignIn
  }
}

export const signIn = fastifyPlugin<SignInOptions>(
  async (app, options) => {
    const { registration, portalUpstream, apiUrl, apiUpstream, sealer, clock, home } = options
    const portal = createPortal(registration, portalUpstream, clock, app.log)
    const loginCookies = createLoginCookies(sealer, clock)
    const sessions = createSessions(sealer, portal, clock, app.log)
    const hooks = createProductHooks(options)
    const { runLoadSessionData } = hooks
    const visitors = createVisitors({ sessions, sealer, apiUrl, apiUpstream, runLoadSessionData })
    const { protect, recognise } = createVisitorHooks({ portal, sessions, visitors, home })
    const { keepConnection, ...connections } = createConnections(app, {
      portal,
      sessions,
      clock,
      apiUrl,
      apiUpstream,
      onConnected: options.onConnected,
    })
    const login = createLogin({ portal, loginCookies, sessions, clock, home, runSignInHooks, keepConnection })
    const signOut = createSignOut({ portal, sealer, loginCookies, sessions, runSignOutHook })

    app.decorateRequest('receivedAtMs', 0)
    app.addHook('onRequest', async request => {
      request.receivedAtMs = clock().getTime()
    })
    app.decorateRequest('queuedCookies', undefined)
    app.decorateRequest('renewal', undefined)
    app.decorateRequest('hasSetCookies', false)
    app.decorateRequest('visitorIfAny', undefined)
    app.decorateRequest('visitor', {
      getter(this: FastifyRequest) {
        const visitor = this.visitorIfAny
        if (visitor && 'api' in visitor) return visitor
        throw new Error(
          `${this.method} ${this.routeOptions.url} read request.visitor outside the signed-in scope. ` +
            'Register the route in a scope that app.signIn.protect protects, or read request.visitorIfAny.',
        )
      },
    })

    app.decorate('signIn', {
      ...login,
      ...connections,
      signOut,
      protect,
      recognise,
      endSession: visitors.endSession,
      hasSignedOut,
      findPortalSignOut: request => portal.findSignOutPage(callContext(request)),
      signInAgainLink(request, { signIn: { signInAgain } }, returnTo = home) {
        const isSignedIn = request.visitorIfAny !== undefined || hasSessionCookie(request.cookies ?? {})
        return isSignedIn ? loginLink(returnTo, signInAgain) : undefined
      },
    })

    app.addHook('onReady', async () => {
      if (!app.hasRoute({ method: 'GET', url: home }))
        throw new Error(`A login leads to ${home}, but there is no GET ${home}. Register this route, or change "home".`)
      // The call is not awaited, so that the server starts even if the portal does not respond.
      void portal.readMetadata(backgroundContext('start'))
    })

    /**
     * Calls the product's hooks before the client answers the callback. The visitor already has the new session. Returns
     * the cookies of the session with the product's data.
     */
    async function runSignInHooks(request: FastifyRequest, session: Session, cookies: Cookie[]): Promise<Cookie[]> {
      if (!options.afterSignIn && !options.loadSessionData) return []
      const visitor = visitors.createFixedVisitor(request, session, afterSetting(request.cookies, cookies))
      const cookiesWithData = await visitors.setVisitor(request, visitor, () => session)
      await hooks.runAfterSignIn(request.visitor, request)
      return cookiesWithData
    }

    async function runSignOutHook(request: FastifyRequest, session: Session | undefined): Promise<void> {
      const visitor = session && visitors.createFixedVisitor(request, session, request.cookies)
      await hooks.runBeforeSignOut(visitor, request)
    }
  },
  { name: 'sign-in', dependencies: ['@fastify/cookie', 'pages', 'forms'] },
)
