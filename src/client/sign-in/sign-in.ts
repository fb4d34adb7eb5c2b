// The sign-in plugin. It adds `app.signIn`, with the handlers of the login routes, and `request.visitor`.
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
   * Protects a scope. Call `protect` in the scope before registering routes. An error handler that a product sets in this
   * scope must throw a SignInRequired error again, so that the visitor can sign in.
   */
  protect: (scope: FastifyInstance) => void
  /** A preHandler for public pages that show the name of a signed-in visitor. Sets `request.visitorIfAny`. */
  recognise: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

  /** Whether the visitor has signed out and not yet chosen to sign in again. */
  hasSignedOut: (request: FastifyRequest) => boolean
  /** The portal's own sign-out page; undefined if the portal has no such page. */
  findPortalSignOut: (request: FastifyRequest) => Promise<string | undefined>
  /** For error pages: a link for signing in again, if the browser sent a session cookie. */
  signInAgainLink: (request: FastifyRequest, texts: Texts, returnTo?: string) => NextStep | undefined

  /**
   * Begins a login whose tokens go to `onConnected` and not into the cookie, for jobs that act while the visitor is away.
   * Return the result from the handler of a POST route in the signed-in scope. After the login, the browser opens
   * `returnTo`.
   */
  connect: (request: FastifyRequest, reply: FastifyReply, options: { returnTo: string }) => Promise<unknown>
  /**
   * Renews the tokens of a connection, not of a session. Lock the stored row of the connection during the call, and
   * store the result. Otherwise two processes could renew with the same refresh token at different times, and the
   * portal would end the connection.
   */
  renewConnection: (refreshToken: string) => Promise<Renewal>
  /** Ends a connection at the portal, if the portal offers revocation. Never throws. */
  revokeConnection: (refreshToken: string) => Promise<void>
  /**
   * Calls the application API like `request.visitor.api`, with the access token of a connection. If the API refuses the
   * token, the call throws a PublicError 401.
   */
  connectionApi: (accessToken: string) => Api
}

export type SignInOptions = {
  registration: Registration
  portalUpstream: Upstream
  /** Where this server reaches the application API, without a slash at the end. */
  apiUrl: string
  apiUpstream: Upstream
  sealer: Sealer
  clock: () => Date
  /** The page after a login without `returnTo`. The server does not start without this GET route. */
  home: string
  /**
   * Stores the tokens of a visitor who has connected, in place of earlier tokens. If this function throws, the client
   * revokes the tokens, and the visitor reads that nothing was connected.
   */
  onConnected?: ((connection: Connection, request: FastifyRequest) => Promise<void>) | undefined
  /** Called after each sign-in, before the answer. An error is logged and does not undo the sign-in. */
  afterSignIn?: ((visitor: Visitor, request: FastifyRequest) => Promise<void>) | undefined
  /**
   * Called before each sign-out. The visitor's tokens are being revoked at the same time, so the API may refuse calls.
   * `visitor` is undefined if the session has already ended. An error is logged and does not stop the sign-out.
   */
  beforeSignOut?: ((visitor: Visitor | undefined, request: FastifyRequest) => Promise<void>) | undefined
  /** Returns the product's own data for the session cookie. Called when a session begins. */
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
    const sessions = createSessions(sealer, portal, clock)
    const hooks = createProductHooks(options)
    const { loadSessionData } = hooks
    const visitors = createVisitors({ sessions, sealer, apiUrl, apiUpstream, loadSessionData })
    const { protect, recognise } = createVisitorHooks({ portal, sessions, visitors, home })
    const { keepConnection, ...connections } = createConnections(app, {
      portal,
      sessions,
      clock,
      apiUrl,
      apiUpstream,
      onConnected: options.onConnected,
    })
    const login = createLogin({ portal, loginCookies, sessions, clock, home, afterSignIn, keepConnection })
    const signOut = createSignOut({ portal, sealer, loginCookies, sessions, beforeSignOut })

    app.decorateRequest('visitorIfAny', undefined)
    app.decorateRequest('visitor', {
      getter(this: FastifyRequest) {
        const visitor = this.visitorIfAny
        if (visitor && 'api' in visitor) return visitor
        throw new Error(
          `${this.method} ${this.routeOptions.url} read request.visitor outside the signed-in scope. ` +
            'Register the route in the scope that app.signIn.protect protects, or read request.visitorIfAny.',
        )
      },
    })

    app.decorate('signIn', {
      ...login,
      ...connections,
      signOut,
      protect,
      recognise,
      hasSignedOut,
      findPortalSignOut: request => portal.findSignOutPage(callContext(request)),
      signInAgainLink(request, { signIn: { signInAgain } }, returnTo = home) {
        const isSignedIn = request.visitorIfAny !== undefined || hasSessionCookie(request.cookies ?? {})
        return isSignedIn ? loginLink(returnTo, signInAgain) : undefined
      },
    })

    app.addHook('onReady', async () => {
      if (!app.hasRoute({ method: 'GET', url: home }))
        throw new Error(`A login leads to ${home}, but there is no GET ${home}. Register it, or change "home".`)
      // The call is not awaited, so that the server starts even if the portal does not respond.
      void portal.readMetadata(backgroundContext('start'))
    })

    /** Gives the product a visitor with the new session, before the answer of the callback is sent. */
    async function afterSignIn(
      request: FastifyRequest,
      reply: FastifyReply,
      session: Session,
      cookies: Cookie[],
    ): Promise<void> {
      if (!options.afterSignIn && !options.loadSessionData) return
      request.visitorIfAny = visitors.createFixedVisitor(request, session, afterSetting(request.cookies, cookies))
      await visitors.addSessionData(request, reply, () => session)
      await hooks.afterSignIn(request.visitor, request)
    }

    async function beforeSignOut(request: FastifyRequest, session: Session | undefined): Promise<void> {
      const visitor = session && visitors.createFixedVisitor(request, session, request.cookies)
      await hooks.beforeSignOut(visitor, request)
    }
  },
  { name: 'sign-in', dependencies: ['@fastify/cookie', 'pages', 'forms'] },
)
