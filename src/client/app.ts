// Builds the client's Fastify server. buildServer registers the plugins, the hooks, the login routes, the health checks
// and the start page. buildClient calls buildServer and adds the product: the pages that require a session. Comments
// that begin with "Yours:" mark what you replace in your own client. Codes such as CK-13 in comments are rules, which
// docs/reference/platform.md explains.
import fastifyCookie from '@fastify/cookie'
import fastifyFormbody from '@fastify/formbody'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { applications } from './applications/applications.ts'
import type { Config } from './config.ts'
import { boundPipelining } from './operations/bound-pipelining.ts'
import { createDeadlines } from './operations/deadlines.ts'
import { createReady, live } from './operations/health.ts'
import { type CountOutcome, logRequests, newRequestId } from './operations/request-log.ts'
import { endConnectionsOnClose } from './operations/stop.ts'
import type { ProductConfig } from './settings.ts'
import { type SignInOptions, signIn } from './sign-in/sign-in.ts'
import { signInTexts } from './sign-in/texts.ts'
import { startTexts } from './start-texts.ts'
import { createTexts, type SomeTexts, type Texts } from './texts.ts'
import { type CountCall, createDispatcher, createUpstream } from './upstream.ts'
import { upstreamTexts } from './upstream-texts.ts'
import { ajvOptions, buildValidator } from './web/ajv.ts'
import { formLimit, refuseLongBodies } from './web/bodies.ts'
import { createClientErrorHandler, createErrorHandler, createNotFoundHandler } from './web/error-pages.ts'
import { forms } from './web/forms.ts'
import { type PagesOptions, pages } from './web/pages.ts'
import { createSealer } from './web/seal.ts'
import { guardRequests, navigationsOnly, securityHeaders } from './web/security.ts'
import { webTexts } from './web/texts.ts'

export type ServerOptions = {
  logger: Logger
  clock?: () => Date
  /** The connections to the portal and the API. If the caller passes a dispatcher, the caller must close it. */
  dispatcher?: Dispatcher
  /** Adds hooks that measure every request, for the metrics. */
  observeRequests?: (app: FastifyInstance) => void
  countOutcome?: CountOutcome
  countCall?: CountCall
  /** This signal is aborted when the process receives SIGTERM or SIGINT. */
  draining?: AbortSignal
  /**
   * The time limit, in milliseconds, for all calls to the portal and the API that one request makes. The default is
   * 25,000.
   */
  requestDeadlineMs?: number
  /** Reads templates again each time they are rendered, for development. */
  reloadTemplates?: boolean
}

// Yours: the name of this site and its pages. To run your own code when a visitor signs in, signs out or makes a
// connection, pass the functions `afterSignIn`, `loadSessionData`, `beforeSignOut` and `onConnected` to buildServer, in
// the same way as `name`. The type SiteOptions lists all options.
/** Builds the server with the pages for applications. */
export async function buildClient(
  config: Config & { product: ProductConfig },
  options: ServerOptions,
): Promise<FastifyInstance> {
  const app = await buildServer(config, options, {
    name: 'Applications',
    home: '/applications',
    newPage: '/applications/new',
    links: (_visitor, { applications }) => [{ href: '/applications', text: applications.home }],
  })

  // Routes that are registered here are public. If a public route needs to know the visitor, give the route the
  // preHandler app.signIn.recognise, as the start page does.

  await app.register(async signedIn => {
    // Routes that are registered here need a session, and have request.visitor.
    app.signIn.protect(signedIn)
    await signedIn.register(applications, { config, clock: options.clock ?? (() => new Date()) })
  })
  return app
}

/** The options that buildClient passes to buildServer. */
export type SiteOptions = Omit<PagesOptions, 'reloadTemplates' | 'texts' | 'clock'> &
  Pick<SignInOptions, 'afterSignIn' | 'beforeSignOut' | 'onConnected' | 'loadSessionData'> & {
    /**
     * Texts that replace the English texts. If this is an object, its texts apply to every request. If this is a
     * function, it chooses the texts for a request, for example by the request's `Accept-Language` header or by
     * `visitorIfAny.data`.
     */
    texts?: SomeTexts | ((request: FastifyRequest) => SomeTexts)
    /**
     * Returns whether the pages of the product can serve requests. GET /health/ready calls this function, so it must be
     * fast. If the function throws an error, the client is not ready.
     */
    isReady?: () => boolean
  }

/**
 * Builds the server with all plugins and hooks, the login routes, the health checks and the start page. The caller adds
 * the routes of the product: the pages that require a session.
 */
export async function buildServer(config: Config, options: ServerOptions, site: SiteOptions): Promise<FastifyInstance> {
  const { logger, clock = () => new Date(), requestDeadlineMs = 25_000, countCall, reloadTemplates = false } = options
  const dispatcher = options.dispatcher ?? createDispatcher()
  // Cookies are valid only for this registration at this portal. If one of these settings changes, visitors must sign
  // in again.
  const sealedFor = [config.clientId, config.loginUrl, config.redirectUri].join('\n')
  const sealer = createSealer(config.cookieKeys, sealedFor, clock)
  const headers = securityHeaders(config)
  const deadlines = createDeadlines(requestDeadlineMs)
  const english = { lang: 'en', web: webTexts, signIn: signInTexts, upstream: upstreamTexts, start: startTexts }
  const texts = createTexts(english as Texts, site.texts)
  const routerOptions = { maxParamLength: 200, ignoreTrailingSlash: false }
  const handleError = createErrorHandler({
    name: site.name,
    home: site.home,
    texts,
    // `app` is set before the first request.
    renderMessage: (request, message) => app.renderMessage(request, message),
    signInAgain: (request, requestTexts, returnTo) => app.signIn.signInAgainLink(request, requestTexts, returnTo),
  })

  const app: FastifyInstance = fastify({
    loggerInstance: logger as FastifyInstance['log'],
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    trustProxy: false,
    bodyLimit: formLimit,
    routerOptions,
    exposeHeadRoutes: false,
    ajv: ajvOptions,
    schemaController: { compilersFactory: { buildValidator } },
    // Node closes the connection of a slow sender only if requestTimeout, headersTimeout and
    // connectionsCheckingInterval are all set. A route can set `deadlineMs` to get more time.
    requestTimeout: 15_000,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      // guardRequests refuses requests without a Host header. With `true`, Node itself would refuse them, and its
      // response would not have the security headers.
      requireHostHeader: false,
      ...boundPipelining(logger),
    },
    // The server closes a connection if nothing was sent or received for this time, for example because the browser
    // does not read the response. This timeout must be longer than the time limit of a request.
    connectionTimeout: requestDeadlineMs + 10_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: deadlines.afterDeadline(createClientErrorHandler(texts.withoutRequest)),
    // If Fastify cannot decode an address, it refuses the request before any hook runs. So the security headers are set
    // here.
    frameworkErrors: async (error, request, reply) => {
      const body = await handleError(error, request as FastifyRequest, (reply as FastifyReply).headers(headers))
      ;(reply as FastifyReply).send(body)
    },
  })

  // The server parses only forms. If your pages accept JSON or uploads, add a parser in the scope of these pages.
  app.removeAllContentTypeParsers()
  app.setErrorHandler(handleError)
  app.setNotFoundHandler(createNotFoundHandler(app, routerOptions))

  // Without this listener, Node itself answers with 417 if the header Expect has an unknown value, and this response
  // does not have the security headers. A server may ignore such a value (RFC 9110 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  endConnectionsOnClose(app)
  options.observeRequests?.(app)
  deadlines.set(app)
  logRequests(app, options.countOutcome)
  app.addHook('onRequest', guardRequests(config.publicUrl, headers))
  app.addHook('preValidation', refuseLongBodies)
  let areCallsEnded = false
  app.decorate('endCalls', () => {
    areCallsEnded = true
    void dispatcher.destroy()
  })
  app.addHook('onClose', async () => {
    // Waits until all calls to the portal and the API have ended.
    if (!options.dispatcher && !areCallsEnded) await dispatcher.close()
  })

  await app.register(fastifyCookie)
  await app.register(fastifyFormbody, { bodyLimit: formLimit })
  await app.register(pages, { ...site, texts, clock, reloadTemplates })
  await app.register(forms, { sealer, clock })
  await app.register(signIn, {
    ...site,
    registration: config,
    portalUpstream: createUpstream('portal', dispatcher, countCall),
    apiUrl: config.apiInternalUrl,
    apiUpstream: createUpstream('api', dispatcher, countCall),
    sealer,
    clock,
  })

  const ready = createReady({ cookieKeyIds: sealer.keyIds, draining: options.draining, isReady: site.isReady })
  app.get('/health/live', { logLevel: 'warn', exposeHeadRoute: true }, live)
  app.get('/health/ready', { logLevel: 'warn', exposeHeadRoute: true }, ready)

  app.get('/login', { onRequest: navigationsOnly }, app.signIn.begin)
  app.get('/exchangeToken', { onRequest: navigationsOnly }, app.signIn.finish)
  app.get('/cancelled', app.signIn.decline)
  app.post('/logout', app.signIn.signOut)

  // Yours: the start page, for visitors with and without a session. The template of the start page is
  // views/client/home.eta, and the texts are in start-texts.ts.
  app.get('/', { exposeHeadRoute: true, preHandler: app.signIn.recognise }, (request, reply) =>
    app.notices.take(request, reply, async notice => {
      const hasSignedOut = !request.visitorIfAny && app.signIn.hasSignedOut(request)
      const portalSignOut = hasSignedOut ? await app.signIn.findPortalSignOut(request) : undefined
      return reply.page('home', {
        title: request.texts.start.title,
        notice,
        hasSignedOut,
        portalSignOut,
        // The page that describes the application API for developers.
        guideUrl: `${config.apiUrl}/apps/v1/docs`,
      })
    }),
  )
  return app
}
