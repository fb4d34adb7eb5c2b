// Turns every fault into a page that says what happened and what to do, and into one line of the log.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { type NextStep, PublicError } from '../errors.ts'
import { closeWith } from '../operations/connections.ts'
import { logEvent } from '../operations/request-log.ts'
import { localPath } from './security.ts'
import { showMessage } from './views.ts'

/** Thrown where a request gets another answer than its handler's, and that is no fault. */
export class OtherAnswer extends Error {
  readonly send: (request: FastifyRequest, reply: FastifyReply) => unknown

  constructor(send: OtherAnswer['send']) {
    super('another answer')
    this.send = send
  }
}

/** What a fault of ours or the platform's offers to whoever is signed in: the sign-in itself may be what is wrong. */
type SignInAnew = (request: FastifyRequest, returnTo?: string) => NextStep | undefined

const startPage = { href: '/', text: 'Go to the start page' }

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  500: 'Something went wrong',
  502: 'The platform is not working properly',
  503: 'Too busy right now',
  504: 'The platform took too long to answer',
}

/** Makes the handler of all errors. What it returns is to be sent. */
export function createErrorPages(productName: string, signInAnew: SignInAnew) {
  return async (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      if (error instanceof OtherAnswer) return await error.send(request, reply)
      return await showFault(asPublicError(error), request, reply)
    } catch (fault) {
      // Fastify would answer by itself, with a path of this machine.
      const internal = asPublicError(fault as Error)
      logFault(request, internal)
      reply.code(500).type('text/html; charset=utf-8')
      return plainPage(internal.message, productName)
    }
  }

  function showFault(fault: PublicError, request: FastifyRequest, reply: FastifyReply) {
    logFault(request, fault)
    const { statusCode, message, retryAfterSeconds } = fault
    const retry = statusCode >= 500 && request.method === 'GET' ? localPath(request.url) : undefined
    const nextStep = fault.nextStep ?? (retry ? { href: retry, text: 'Try again' } : startPage)
    if (retryAfterSeconds) reply.header('retry-after', retryAfterSeconds)
    const title = titles[statusCode] ?? 'That did not work'
    // What is wrong with the request itself is no better after a new sign-in.
    const anew = statusCode >= 500 ? signInAnew(request, retry) : undefined
    // A failed login has its own way to sign in again, which leads to the page that the visitor wanted.
    const offer = anew && (fault.nextStep ?? anew)
    return showMessage(reply.code(statusCode), { title, message, nextStep, signInAnew: offer, isFault: true })
  }
}

/**
 * Makes the handler of requests without a route. A path that exists for another method is a 405, not a 404. Paths are
 * matched by the router that Fastify itself uses, because a path may hold parameters, expressions and wildcards.
 */
export function createNotFound(app: FastifyInstance, routerOptions: { maxParamLength: number }) {
  const router = findMyWay(routerOptions)
  const known = new Set<HTTPMethod>()
  app.addHook('onRoute', ({ url, method }) => {
    for (const one of [method].flat() as HTTPMethod[]) {
      known.add(one)
      // Fastify takes one path several times if the routes have different constraints.
      if (!router.hasRoute(one, url)) router.on(one, url, () => {})
    }
  })
  return ({ url }: FastifyRequest, reply: FastifyReply) => {
    const methods = [...known].filter(method => router.find(method, url))
    if (methods.length === 0)
      throw new PublicError('not_found', 404, 'There is no page at this address. Please check it for typing mistakes.')
    reply.header('allow', methods.join(', '))
    throw new PublicError('method_not_allowed', 405, 'This page does not take that kind of request.')
  }
}

/** Faults that Fastify finds before a handler runs get words for a visitor; its own may quote what was sent. */
function asPublicError(error: Error & { statusCode?: number }): PublicError {
  if (error instanceof PublicError) return error
  const { statusCode = 500 } = error
  const messages: Record<number, string> = {
    400: 'The request could not be understood.',
    413: 'This is too long to send at once. Please shorten it.',
    414: 'There is no page at this address: it is too long.',
    415: 'Forms are accepted here, and nothing else.',
  }
  const message = messages[statusCode]
  if (message) return new PublicError('bad_request', statusCode, message)
  const sorry = 'Something went wrong on this site, and it has been logged. Please try again.'
  return new PublicError('internal', 500, sorry, { cause: error })
}

/** Errors are reduced to what can hold no secret: no headers, no bodies, nothing that a library has attached. */
export function logFault(request: FastifyRequest, { code, statusCode, cause }: PublicError): void {
  const level = statusCode >= 500 ? 'error' : 'warn'
  logEvent(request, code, { status: statusCode, cause: describeCause(cause, code === 'internal'), level })
}

export function describeCause(cause: unknown, withStack = false): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, message, stack } = cause
  const code = 'code' in cause ? String(cause.code) : undefined
  // Node collects the attempts for each address of a name in an AggregateError with an empty message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}

/** Complete by itself, for where the templates are at fault. */
function plainPage(message: string, productName: string): string {
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>That did not work · ${productName}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>',
    `<h1>That did not work</h1><p>${message}</p><p><a href="/">Go to the start page</a></p></main></body></html>`,
  ].join('\n')
}

/** Answers faults that Node finds before there is a request. The answer quotes nothing of what was sent. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // The connection is closing already, or the sender has gone.
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
  const words = {
    400: 'The request could not be understood.',
    408: 'The request took too long to arrive.',
    431: 'Your browser sends too many cookies to this site. Delete the cookies of this site, then open it again.',
  }[status]!
  closeWith(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n' +
      `Content-Length: ${Buffer.byteLength(words)}\r\n\r\n${words}`,
  )
}
