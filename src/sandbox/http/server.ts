// Shared by both listeners of the sandbox: limits, deadlines, request ids, and one log line per request.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
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
import { whoAndWhy } from '../observe/observe.ts'
import { closeWith } from './connections.ts'
import { reportRefusal } from './http-refusal.ts'
import { prepareToListen } from './listen.ts'
import { boundPipelining } from './pipelining.ts'

export const jsonBodyLimit = 64 * 1024
export const formBodyLimit = 32 * 1024

/** Supervisors kill a process that takes longer than about 10 seconds to stop. */
const stopDeadlineMs = 8000

type ToBody = (statusCode: number, message: string) => unknown

/** Ajv does not change the caller's values, and reports every problem at once. This is cheap because bodies are limited. */
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
 * All sandboxes of a process share the compiled schemas. Compiling them takes a third of the time of a start, and a test
 * may start a sandbox for each case.
 */
const buildValidator = AjvCompiler()

/**
 * A Fastify instance without routes. Every option that matters is set here. `toBody` makes the body of errors that happen
 * before there is a route: an address with a broken percent-encoding, or too many headers. `dialect` names these refusals
 * in the log. Without `dialect`, such refusals are not reported.
 */
export function createServer(logger: FastifyBaseLogger, toBody: ToBody, dialect?: 'api' | 'call'): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    // Do not use Fastify's own request lines: they contain the query string, in which codes and states travel.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: request => requestIdOf(request.headers['x-request-id']),
    // Fastify has run no hook for this request.
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
    trustProxy: false,
    exposeHeadRoutes: false,
    bodyLimit: formBodyLimit,
    routerOptions: { maxParamLength: 100, ignoreTrailingSlash: false, caseSensitive: true },
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    // All three settings are needed: Node uses the larger of the first two, and checks only once per interval.
    requestTimeout: 10_000,
    http: { headersTimeout: 5000, connectionsCheckingInterval: 1000, ...boundPipelining() },
    // Ends a connection without traffic, for example if the client does not read the response.
    connectionTimeout: 35_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    ajv,
    schemaController: { compilersFactory: { buildValidator } },
  })
  // The schemas of answers are only for the API description: Fastify does not check answers with them. Tests check that the answers match.
  server.setSerializerCompiler(() => JSON.stringify)
  server.removeContentTypeParser('text/plain')
  // Node sends the answers of a connection in the order of its requests. So the sandbox makes an answer only when it
  // can be sent next. If the sandbox made the answer earlier, it would stay in memory as long as the sender does not
  // read. If the connection ends first, the sandbox drops the waiting requests.
  server.addHook('onRequest', (_request, reply, next) => {
    if (reply.raw.socket) next()
    else reply.raw.once('socket', () => next())
  })
  finishRequests(server)
  prepareToListen(server)
  server.addHook('onRequest', async request => {
    if (countHosts(request.raw) > 1) throw Object.assign(new Error('two Host headers'), { statusCode: 400 })
  })
  let isClosing = false
  server.addHook('preClose', async () => {
    isClosing = true
  })
  server.addHook('onSend', async (_request, reply) => {
    // Requests that still arrive are answered, but their connections are then closed, so that the next request goes to
    // another instance.
    if (isClosing) reply.header('connection', 'close')
  })
  server.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        // Log the pattern, not the path: strangers can put anything into a path.
        route: request.routeOptions.url ?? '(none)',
        statusCode: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        ...whoAndWhy(request),
      },
      'request',
    )
  })
  return server
}

/**
 * Lets `close()` answer the open requests until the deadline. When a connection is cut, its request
 * ends a moment later. `close()` also waits for the end of these requests, so that the database is closed last.
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

/** Answers errors that Node finds before there is a request. The answer contains no text of the request. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, toBody: ToBody): void {
  // The connection is closing already, or the sender has left.
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

/** Node keeps the first of two Host headers. A proxy in front may have kept the other Host header (RFC 9112 3.2). */
function countHosts({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length
}
