// Makes the servers of the sandbox. All servers have the same limits and deadlines. They give every request an id, and
// write one log line per request.
import { hash, randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import AjvCompiler from '@fastify/ajv-compiler'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { clientAndReason } from '../observe/observe.ts'
import { closeWith } from './connections.ts'
import { prepareToListen } from './listen.ts'
import { boundPipelining } from './pipelining.ts'
import { type Dialect, RepeatedHost, reportRefusal } from './report-refusal.ts'

export const jsonBodyLimit = 64 * 1024
export const formBodyLimit = 32 * 1024

/** Supervisors kill a process that takes longer than about 10 seconds to stop. */
const stopDeadlineMs = 8000

type ToBody = (statusCode: number, message: string) => unknown

/**
 * Ajv does not change the caller's values, and reports all problems of a body. Finding all problems takes little time,
 * because the size of a body is limited.
 */
const ajv: FastifyServerOptions['ajv'] = {
  customOptions: {
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    allErrors: true,
    // Each error then contains the schema that the value does not match.
    verbose: true,
  },
  onCreate(instance) {
    // Check the length first, because the time to parse an address grows faster than its length.
    instance.addFormat('uri', (text: string) => text.length <= longestUrl && URL.canParse(text))
  },
}
const longestUrl = 2048

/**
 * All sandboxes of a process share the compiled schemas. Compiling the schemas takes a third of the start-up time, and
 * a test file can start many sandboxes.
 */
const buildValidator = AjvCompiler()

/** The client logs the same hash for the same user. */
function hashUser(userId: string): string {
  return hash('sha256', userId, 'base64url').slice(0, 12)
}

interface ServerOptions {
  logger: FastifyBaseLogger
  /**
   * Makes the body of the answer if a request fails before Fastify has found a route. This happens, for example, if the
   * address has a broken percent-encoding, or if the request has too many headers.
   */
  toBody: ToBody
  /** If the address of a request cannot be read, the log line names this dialect. */
  dialect?: Dialect
  /** The addresses and networks of proxies whose X-Forwarded-For header is trusted. */
  trustedProxies?: string[]
  /** Whether a HEAD request runs the GET handler of the same path. */
  exposeHeadRoutes?: boolean
}

/** Makes a Fastify instance without routes. Sets only options that differ from Fastify's defaults or that a rule demands. */
export function createServer({
  logger,
  toBody,
  dialect,
  trustedProxies = [],
  exposeHeadRoutes = false,
}: ServerOptions): FastifyInstance {
  const server = Fastify({
    // The log distinguishes users, but does not contain their ids (LG-04).
    loggerInstance: logger.child({}, { serializers: { user: hashUser, caller: hashUser } }),
    // Do not let Fastify log requests: the query string in its log lines can contain codes and state values.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: request => requestIdOf(request.headers['x-request-id']),
    // Fastify has not run any hooks for this request, so this function does what the hooks usually do.
    frameworkErrors(error, _request, reply: FastifyReply) {
      const { request } = reply
      const statusCode = error.statusCode ?? 400
      const message = 'This address cannot be read.'
      request.server.observeRequest?.(request, reply)
      if (dialect) reportRefusal(reply, error, { statusCode, reason: 'address-unreadable', message }, dialect)
      reply
        .status(statusCode)
        .headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
        .send(toBody(statusCode, message))
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, toBody),
    trustProxy: trustedProxies,
    exposeHeadRoutes,
    bodyLimit: formBodyLimit,
    // All three settings are needed: Node uses the larger of the first two, and checks the deadlines only once in each
    // interval.
    requestTimeout: 10_000,
    http: { headersTimeout: 5000, connectionsCheckingInterval: 1000, ...boundPipelining() },
    // Ends a connection on which nothing is sent, for example because the client does not read the response.
    connectionTimeout: 35_000,
    // Fastify has the same default, but F-45 demands this value.
    keepAliveTimeout: 72_000,
    return503OnClosing: false,
    ajv,
    schemaController: { compilersFactory: { buildValidator } },
  })
  // The schemas of answers are only for the API description. Fastify does not check answers with these schemas, but
  // tests do.
  server.setSerializerCompiler(() => JSON.stringify)
  server.removeContentTypeParser('text/plain')
  // Node sends the answers of a connection in the order of its requests. The sandbox therefore handles a request only
  // when its answer can be sent next. If the sandbox made the answer earlier, the answer would stay in memory until the
  // sender has read all earlier answers. If the connection ends first, the sandbox drops the waiting requests.
  server.addHook('onRequest', (_request, reply, next) => {
    if (reply.raw.socket) next()
    else reply.raw.once('socket', () => next())
  })
  server.decorateRequest('stepNotes')
  finishRequests(server)
  prepareToListen(server)
  server.addHook('onRequest', async request => {
    // If a request has two Host headers, Node uses the first one, but a proxy in front of the sandbox may have used the
    // second (RFC 9112 3.2). The requests of `inject` have no headersDistinct.
    if ((request.raw.headersDistinct?.host?.length ?? 0) > 1) throw new RepeatedHost('two Host headers')
  })
  let isClosing = false
  server.addHook('preClose', async () => {
    isClosing = true
  })
  server.addHook('onSend', async (_request, reply) => {
    // While the sandbox stops, it still answers requests that arrive. It then closes their connections, so that the
    // next request goes to another instance.
    if (isClosing) reply.header('connection', 'close')
  })
  server.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        // Log the pattern of the route, not the path of the request: strangers can put anything into a path.
        route: request.routeOptions.url ?? '(none)',
        statusCode: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        ...clientAndReason(request),
      },
      'request',
    )
  })
  return server
}

/**
 * Makes `close()` wait until the open requests are answered, so that the database is closed after them. At the deadline,
 * the remaining connections are closed. `close()` waits until their responses have ended, but not for their handlers. A
 * handler that still runs may then fail, because the database is closed.
 */
function finishRequests(server: FastifyInstance): void {
  const open = new Set<FastifyRequest>()
  let onNone = () => {}

  server.addHook('onRequest', async (request, reply) => {
    open.add(request)
    // Node also emits this event if the client has closed the connection.
    reply.raw.once('close', () => {
      open.delete(request)
      if (open.size === 0) onNone()
    })
  })

  server.addHook('preClose', async () => {
    setTimeout(() => server.server.closeAllConnections(), stopDeadlineMs).unref()
  })

  server.addHook('onClose', async () => {
    if (open.size > 0) await new Promise<void>(resolve => (onNone = resolve))
  })
}

/** Answers if Node cannot read a request at all. The answer does not contain any text from the request. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, toBody: ToBody): void {
  // The connection is already being closed, or the sender has closed it.
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const statuses = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_INVALID_METHOD: 501 }
  const status = statuses[error.code as keyof typeof statuses] ?? 400
  const reason = STATUS_CODES[status] ?? ''
  const body = toBody(status, reason)
  const isText = typeof body === 'string'
  const text = isText ? body : JSON.stringify(body)
  closeWith(
    socket,
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${isText ? 'text/plain' : 'application/json'}; charset=utf-8\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

function requestIdOf(header: unknown): string {
  return typeof header === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(header) ? header : randomUUID()
}
