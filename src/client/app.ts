// The map of the client: every part, plugin, hook and route, by hand and in order; those of the product are in its own folder.
import fastifyCookie from '@fastify/cookie'
import fastifyFormbody from '@fastify/formbody'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
// Yours: which product this is.
import { product as ours } from './applications/product.ts'
import type { Config } from './config.ts'
import { boundPipelining } from './operations/bound-pipelining.ts'
import { createReady, live } from './operations/health.ts'
import { type CountOutcome, limitRequests, logRequests, newRequestId } from './operations/request-log.ts'
import { endConnectionsOnClose } from './operations/stop.ts'
import { createSignIn, visitorOf } from './sign-in/sign-in.ts'
import { createStartPage } from './start-page.ts'
import { type CountCall, createDispatcher, createUpstream } from './upstream.ts'
import { checkForms } from './web/check-forms.ts'
import { answerClientError, createErrorPages, createNotFound } from './web/error-pages.ts'
import { createForms } from './web/forms.ts'
import { createSealer } from './web/seal.ts'
import { guardRequests, securityHeaders } from './web/security.ts'
import { useViews } from './web/views.ts'

export type Options = {
  logger: Logger
  clock?: () => Date
  /** The connections to the portal and the API; given, it is the giver's to close. */
  dispatcher?: Dispatcher
  /** Adds hooks that watch every request. */
  observeRequests?: (app: FastifyInstance) => void
  /** Counts logins and refreshes by their outcome. */
  countOutcome?: CountOutcome
  countCall?: CountCall
  /** Aborted when the process was told to stop. */
  draining?: AbortSignal
  /** For a whole request, with all calls to the portal and the API. */
  requestDeadlineMs?: number
}

/** Rejects where a part was told of a route or a template that is not there. */
export async function buildClient(config: Config, options: Options, product = ours): Promise<FastifyInstance> {
  const { logger, clock = () => new Date(), draining, requestDeadlineMs = 25_000, countCall } = options
  const dispatcher = options.dispatcher ?? createDispatcher()
  const registration = `${config.clientId}\n${config.loginUrl}\n${config.redirectUri}`
  const sealer = createSealer(config.cookieKeys, registration, clock)
  const upstream = createUpstream('application API', 'api', dispatcher, countCall)
  const forms = createForms(sealer, clock, visitorOf)
  const portalUpstream = createUpstream('login portal', 'portal', dispatcher, countCall)
  const signIn = createSignIn(config, { ...product, upstream: portalUpstream, sealer, clock, logger })

  const showError = createErrorPages(product.name, signIn.signInAnew)
  const headers = securityHeaders(config)
  const routerOptions = { maxParamLength: 200, ignoreTrailingSlash: false }

  const app: FastifyInstance = fastify({
    loggerInstance: logger as FastifyInstance['log'],
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    trustProxy: false,
    bodyLimit: 32 * 1024,
    routerOptions,
    exposeHeadRoutes: false,
    // A slow sender is cut off only if all three are set, and checked often enough.
    requestTimeout: 15_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1_000, ...boundPipelining(logger) },
    // Without a sign of life, for a response that nobody reads. Longer than requestDeadlineMs.
    connectionTimeout: 35_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    // An address that cannot be decoded is refused before any hook runs.
    frameworkErrors: async (error, request, bareReply) => {
      const reply = bareReply as FastifyReply
      reply.send(await showError(error, request as FastifyRequest, reply.headers(headers)))
    },
  })
  app.removeAllContentTypeParsers()
  app.setErrorHandler(showError)
  app.setNotFoundHandler(createNotFound(app, routerOptions))
  endConnectionsOnClose(app)
  options.observeRequests?.(app)
  logRequests(app, options.countOutcome)
  limitRequests(app, requestDeadlineMs)
  app.addHook('onRequest', guardRequests(config.publicUrl, headers))
  await app.register(fastifyCookie)
  await app.register(fastifyFormbody, { bodyLimit: 32 * 1024 })
  useViews(app, { product, visitorIfAny: signIn.visitorIfAny })

  const ready = createReady({ cookieKeyIds: sealer.keyIds, draining, isReady: product.isReady })
  app.get('/health/live', { logLevel: 'warn', exposeHeadRoute: true }, live)
  app.get('/health/ready', { logLevel: 'warn', exposeHeadRoute: true }, ready)

  await app.register(signIn.routes)
  app.get('/', { exposeHeadRoute: true, preHandler: signIn.optional }, createStartPage(signIn))

  await app.register(async signedIn => {
    signedIn.addHook('preHandler', signIn.required)
    const requireAll = checkForms(signedIn)
    await product.pages(signedIn, { config, upstream, clock, ...forms })
    requireAll()
  })

  app.addHook('onClose', async () => {
    if (!options.dispatcher) await dispatcher.destroy()
  })
  return app
}
