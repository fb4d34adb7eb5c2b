// Answers every error: a page for a visitor, JSON for a script, and one line in the log.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { describeCause, type NextStep, PublicError } from '../errors.ts'
import { closeWith } from '../operations/connections.ts'
import { logEvent } from '../operations/request-log.ts'
import type { Message } from './pages.ts'
import { localPath } from './security.ts'

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  500: 'Something went wrong',
  502: 'The platform is not working properly',
  503: 'Too busy right now',
  504: 'The platform took too long to answer',
}

type ErrorHandlerOptions = {
  /** The name of this site. */
  name: string
  /** Renders the page. Not `reply.message`: for an undecodable address Fastify passes a reply without decorators. */
  renderMessage: (request: FastifyRequest, message: Message) => string
  /** A link for signing in again, if the visitor is signed in: the sign-in itself may be what is broken. */
  signInAgain: (request: FastifyRequest, returnTo?: string) => NextStep | undefined
}

/** The error handler of the whole application. Returns the body of the answer. */
export function createErrorHandler({ name, renderMessage, signInAgain }: ErrorHandlerOptions) {
  return async (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const publicError = toPublicError(error)
    logError(request, publicError)
    const { code, statusCode, message, retryAfterSeconds } = publicError
    reply.code(statusCode)
    if (retryAfterSeconds) reply.header('retry-after', retryAfterSeconds)
    if (prefersJson(request)) return { error: { code, message, requestId: request.id } }

    try {
      const isServerError = statusCode >= 500
      const retryPath = isServerError && request.method === 'GET' ? localPath(request.url) : undefined
      const retry = retryPath ? { href: retryPath, text: 'Try again' } : undefined
      const signInLink = isServerError ? signInAgain(request, retryPath) : undefined
      const page = renderMessage(request, {
        title: titles[statusCode] ?? 'That did not work',
        message,
        nextStep: publicError.nextStep ?? retry ?? { href: '/', text: 'Go to the start page' },
        // A failed login has its own link for signing in again, which leads to the page that the visitor wanted.
        signInAgain: signInLink && (publicError.nextStep ?? signInLink),
        isError: true,
      })
      reply.type('text/html; charset=utf-8')
      return page
    } catch (renderingError) {
      // Without this, Fastify would answer with the message of the error, which may contain a path of this machine.
      const internal = toPublicError(renderingError as Error)
      logError(request, internal)
      reply.code(500).type('text/html; charset=utf-8')
      return pageWithoutTemplate(internal.message, name)
    }
  }
}

/**
 * A page asks for HTML, and a script for JSON or a stream of events. `fetch` asks for anything unless it is told; browsers
 * then say that the answer is for a script.
 */
export function prefersJson({ headers }: FastifyRequest): boolean {
  const { accept = '', 'sec-fetch-dest': dest } = headers
  const isForScript = dest === 'empty' || /\b(application\/json|text\/event-stream)\b/i.test(accept)
  return isForScript && !/\btext\/html\b/i.test(accept)
}

/**
 * The handler of requests without a route. An address that exists for other methods gets a 405 with `Allow` instead of a
 * 404 (RFC 9110 15.5.6). Addresses are matched by the router that Fastify uses, because they may contain parameters,
 * expressions and wildcards.
 */
export function createNotFoundHandler(app: FastifyInstance, routerOptions: { maxParamLength: number }) {
  const router = findMyWay(routerOptions)
  const knownMethods = new Set<HTTPMethod>()
  app.addHook('onRoute', ({ url, method }) => {
    for (const one of [method].flat() as HTTPMethod[]) {
      knownMethods.add(one)
      // Fastify accepts the same address several times if the routes have different constraints.
      if (!router.hasRoute(one, url)) router.on(one, url, () => {})
    }
  })
  return ({ url }: FastifyRequest, reply: FastifyReply) => {
    const methods = [...knownMethods].filter(method => router.find(method, url))
    if (methods.length === 0)
      throw new PublicError('not_found', 404, 'There is no page at this address. Please check it for typing mistakes.')
    reply.header('allow', methods.join(', '))
    throw new PublicError('method_not_allowed', 405, 'This page does not take that kind of request.')
  }
}

const fixedMessages: Record<number, string> = {
  400: 'The request could not be understood.',
  404: 'There is nothing at this address.',
  413: 'This is too long to send at once. Please shorten it.',
  414: 'There is no page at this address: it is too long.',
  415: 'This content type is not accepted here.',
  429: 'There were too many requests. Please wait a moment, then try again.',
  503: 'This site is too busy right now. Please try again soon.',
}

/**
 * Errors of Fastify and of plugins keep their status and get a fixed message, because the original one may quote what was
 * sent. The log gets the code of the error and where the validation failed.
 */
function toPublicError(error: Error & Partial<FastifyError>): PublicError {
  if (error instanceof PublicError) return error
  const { statusCode = 500, code, validationContext } = error
  const isRefusal = statusCode >= 400 && statusCode < 500
  if (isRefusal || statusCode === 503) {
    const message = fixedMessages[statusCode] ?? 'The request was not accepted.'
    return new PublicError('bad_request', statusCode, message, { cause: { code, validationContext } })
  }
  const sorry = 'Something went wrong on this site, and it has been logged. Please try again.'
  return new PublicError('internal', 500, sorry, { cause: error })
}

/** Logs an error without headers, bodies and everything else that a library may have attached to it. */
export function logError(request: FastifyRequest, { code, statusCode, cause }: PublicError): void {
  const level = statusCode >= 500 ? 'error' : 'warn'
  logEvent(request, code, { status: statusCode, cause: describeCause(cause, code === 'internal'), level })
}

/** For errors in the templates themselves. */
function pageWithoutTemplate(message: string, siteName: string): string {
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>That did not work · ${siteName}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>',
    `<h1>That did not work</h1><p>${message}</p><p><a href="/">Go to the start page</a></p></main></body></html>`,
  ].join('\n')
}

/** Answers what Node's HTTP parser refuses, before there is a request. The answer quotes nothing that was sent. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
  const text = {
    400: 'The request could not be understood.',
    408: 'The request took too long to arrive.',
    431: 'Your browser sends too many cookies to this site. Delete the cookies of this site, then open it again.',
  }[status]!
  closeWith(
    socket,
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}
