// The map of the client: every part, plugin, hook and route, by hand and in order.
import fastifyCookie from '@fastify/cookie'
import fastifyFormbody from '@fastify/formbody'
import fastify, { type FastifyContextConfig, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { createApplicationApi } from './application-api.ts'
import type { Config } from './config.ts'
import { createPortalMetadata } from './oauth/metadata.ts'
import type { Portal } from './oauth/portal.ts'
import { boundPipelining } from './operations/bound-pipelining.ts'
import { type CountEvent, logRequests, newRequestId } from './operations/request-log.ts'
import { applicationFormRoutes } from './routes/application-form.ts'
import { applicationRoutes } from './routes/applications.ts'
import { healthRoutes } from './routes/health.ts'
import { homeRoutes } from './routes/home.ts'
import { loginRoutes } from './routes/login.ts'
import { logoutRoutes } from './routes/logout.ts'
import { createSealer } from './session/seal.ts'
import { createSessionKeeper } from './session/session-keeper.ts'
import { createDispatcher, createUpstream, outsideRequests } from './upstream.ts'
import { serveAssets } from './web/assets.ts'
import { crossSiteGuard, navigationsOnly } from './web/cross-site-guard.ts'
import { answerBadAddress, answerClientError, refuseWithoutHost, useErrorPages } from './web/error-pages.ts'
import { createForms } from './web/forms.ts'
import { limitRequests } from './web/request-context.ts'
import { requireSession } from './web/require-session.ts'
import { securityHeaders } from './web/security-headers.ts'
import { useViews } from './web/views.ts'

export type Options = {
  logger: Logger
  clock?: () => Date
  /** The connections to the portal and the API; given, it is the giver's to close. */
  dispatcher?: Dispatcher
  /** Adds hooks that watch every request: metrics, tracing. */
  observeRequests?: (app: FastifyInstance) => void
  /** What is counted by name: logins, refreshes. */
  countEvent?: CountEvent
  isDraining?: () => boolean
  /** For a whole request, with all calls to the portal and the API. */
  requestDeadlineMs?: number
}

export async function buildClient(config: Config, options: Options): Promise<FastifyInstance> {
  const { logger, clock = () => new Date(), isDraining = () => false, requestDeadlineMs = 25_000 } = options
  const dispatcher = options.dispatcher ?? createDispatcher()
  const portal: Portal = { ...config, upstream: createUpstream('login portal', 'portal', dispatcher) }
  const metadata = createPortalMetadata(portal, clock)
  const api = createApplicationApi(config.apiInternalUrl, createUpstream('application API', 'api', dispatcher))
  const registration = `${config.clientId}\n${config.loginUrl}\n${config.redirectUri}`
  const sealer = createSealer(config.cookieKeys, registration, clock)
  const keeper = createSessionKeeper(sealer, portal, clock)
  const forms = createForms(sealer, clock)

  const headers = securityHeaders(config)
  const pipelining = boundPipelining()

  const app: FastifyInstance = fastify({
    loggerInstance: logger as FastifyInstance['log'],
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    trustProxy: false,
    bodyLimit: 32 * 1024,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false },
    exposeHeadRoutes: false,
    // A slow sender is cut off only if all three are set, and checked often enough.
    requestTimeout: 15_000,
    // Of a request without a host Node would answer by itself, and without our headers: see refuseWithoutHost.
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1_000, requireHostHeader: false, ...pipelining.http },
    // Without a sign of life, for a response that nobody reads. Longer than requestDeadlineMs.
    connectionTimeout: 35_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    // An address that cannot be decoded is refused before any hook runs.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers)
      answerBadAddress(error, request as FastifyRequest, reply)
    },
  })
  pipelining.guard(app)
  app.removeAllContentTypeParsers()
  app.decorateRequest('session', undefined)
  useErrorPages(app, forms)
  options.observeRequests?.(app)
  logRequests(app, options.countEvent)
  limitRequests(app, requestDeadlineMs)
  app.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
  app.addHook('onRequest', refuseWithoutHost)
  app.addHook('onRequest', crossSiteGuard(config.publicUrl))
  await app.register(fastifyCookie)
  await app.register(fastifyFormbody, { bodyLimit: 32 * 1024 })
  await useViews(app, serveAssets(app), config.loginUrl)

  const health = healthRoutes({ sealer, isDraining })
  app.get('/health/live', { logLevel: 'warn', exposeHeadRoute: true }, health.live)
  app.get('/health/ready', { logLevel: 'warn', exposeHeadRoute: true }, health.ready)

  const home = homeRoutes({ sealer })
  const login = loginRoutes({ portal, metadata, sealer, keeper, clock })
  const logout = logoutRoutes({ portal, metadata, sealer })
  app.get('/', { exposeHeadRoute: true }, home.show)
  app.get('/login', { onRequest: navigationsOnly }, login.begin)
  app.get('/exchangeToken', { onRequest: navigationsOnly }, login.finish)
  app.get('/cancelled', login.cancelled)
  app.post('/logout', logout.signOut)

  const applications = applicationRoutes({ api, forms, clock })
  const applicationForm = applicationFormRoutes({ api, forms, clock })
  await app.register(async signedIn => {
    signedIn.addHook('preHandler', requireSession(keeper))
    signedIn.get('/applications', applications.list)
    signedIn.get('/applications/new', applicationForm.showNew)
    signedIn.post('/applications', formAt('/applications/new'), applicationForm.create)
    signedIn.get('/applications/:id', applications.show)
    signedIn.get('/applications/:id/edit', applicationForm.showEdit)
    signedIn.post('/applications/:id/edit', formAt('/applications/:id/edit'), applicationForm.edit)
    signedIn.post('/applications/:id/secret', formAt('/applications/:id'), applications.refreshSecret)
    signedIn.get('/applications/:id/delete', applications.confirmRemoval)
    signedIn.post('/applications/:id/delete', formAt('/applications/:id/delete'), applications.remove)
  })

  app.addHook('onReady', async () => void metadata.read(outsideRequests('start')))
  app.addHook('onClose', async () => {
    if (!options.dispatcher) await dispatcher.destroy()
  })
  return app
}

/** Where the form of a POST stands: a visitor whose session has ended comes back to it after signing in. */
function formAt(path: string) {
  const formPage = (request: FastifyRequest) =>
    path.replace(':id', encodeURIComponent((request.params as { id: string }).id))
  return { config: { formPage } as FastifyContextConfig }
}
