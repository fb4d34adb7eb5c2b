// Turns every fault into a page that says what happened and what to do, and into one line of the log.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { hasSession } from '../session/session-cookies.ts'
import { askToSignIn, signInTo } from './ask-to-sign-in.ts'
import type { Forms } from './forms.ts'
import { localPath } from './local-path.ts'
import { SignInNeeded, sessionOf } from './require-session.ts'
import { showMessage } from './views.ts'

const home = { href: '/', text: 'Go to the start page' }

export function useErrorPages(app: FastifyInstance, forms: Forms): void {
  const methodsOf = collectMethods(app)

  app.setErrorHandler<FastifyError>(async (error, request, reply) => {
    try {
      if (error instanceof SignInNeeded) return await askToSignIn(forms, request, reply)
      return await showFault(error, request, reply)
    } catch (fault) {
      // Fastify would answer by itself, with a path of this machine.
      const internal = asPublicError(fault as Error)
      logFault(request, internal)
      return answerPlainly(reply, internal)
    }
  })
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(request.url)
    if (methods.length === 0)
      throw new PublicError('not_found', 404, 'There is no page at this address. It may have been mistyped.')
    reply.header('allow', methods.join(', '))
    throw new PublicError('method_not_allowed', 405, 'This address cannot be used in this way.')
  })
}

function showFault(error: Error & { statusCode?: number }, request: FastifyRequest, reply: FastifyReply) {
  const fault = error instanceof PublicError ? error : asPublicError(error)
  logFault(request, fault)
  const { statusCode, message, retryAfterSeconds } = fault
  const retry = statusCode >= 500 && request.method === 'GET' ? localPath(request.url) : undefined
  const nextStep = fault.nextStep ?? (retry ? { href: retry, text: 'Try again' } : home)
  if (retryAfterSeconds) reply.header('retry-after', retryAfterSeconds)
  const title = titles[statusCode] ?? 'That did not work'
  // What is wrong may be the sign-in itself: nobody should have to know the address of the way out.
  const isSignedIn = sessionOf(request) !== undefined || hasSession(request.cookies ?? {})
  const signInAnew = isSignedIn ? signInTo(retry ?? '/applications', 'Sign in anew') : undefined
  return showMessage(reply.code(statusCode), { title, message, nextStep, signInAnew, isFault: true })
}

const titles: Record<number, string> = {
  403: 'Not allowed',
  404: 'Not found',
  500: 'Something went wrong',
  502: 'Something else is out of order',
  503: 'Too busy at the moment',
  504: 'That took too long',
}

/** Faults that Fastify finds before a handler runs, in words for a visitor; its own may quote what was sent. */
function asPublicError(error: Error & { statusCode?: number }): PublicError {
  const messages: Record<number, string> = {
    400: 'The request could not be understood.',
    413: 'That is more than can be sent at once. Please shorten it.',
    414: 'There is no page at this address: it is too long.',
    415: 'Forms are accepted here, and nothing else.',
  }
  const message = messages[error.statusCode ?? 500]
  if (message) return new PublicError('bad_request', error.statusCode ?? 400, message)
  const sorry = 'A fault of this site. Please try again; it has been noted.'
  return new PublicError('internal', 500, sorry, { cause: error })
}

/** Errors are reduced to what can hold no secret: no headers, no bodies, nothing that a library has attached. */
export function logFault(request: FastifyRequest, { code, statusCode, cause }: PublicError): void {
  const level = statusCode >= 500 ? 'error' : 'warn'
  logEvent(request, code, { status: statusCode, cause: describe(cause, code === 'internal'), level })
}

function describe(cause: unknown, withStack = false): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, message, stack } = cause
  const code = 'code' in cause ? String(cause.code) : undefined
  // Node collects the attempts for each address of a name in an AggregateError with an empty message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}

/** A path that exists for another method is a 405, not a 404. */
function collectMethods(app: FastifyInstance): (url: string) => string[] {
  const routes: { pattern: RegExp; method: string }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`)
    for (const one of [method].flat()) routes.push({ pattern, method: one })
  })
  return url => {
    const path = url.split('?', 1)[0]!
    return [...new Set(routes.filter(route => route.pattern.test(path)).map(route => route.method))]
  }
}

/** An address that cannot be decoded is refused before a request has cookies, views or hooks. */
export function answerBadAddress(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const fault = asPublicError(error)
  logEvent(request, fault.code, { status: fault.statusCode, level: 'warn' })
  answerPlainly(reply, fault)
}

/** Complete by itself, for where there are no views. */
function answerPlainly(reply: FastifyReply, { statusCode, message }: PublicError): FastifyReply {
  const page = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>That did not work · Applications</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>',
    `<h1>That did not work</h1><p>${message}</p><p><a href="/">Go to the start page</a></p></main></body></html>`,
  ]
  return reply.code(statusCode).type('text/html; charset=utf-8').send(page.join('\n'))
}

/** RFC 9112 3.2. */
export const refuseWithoutHost: onRequestAsyncHookHandler = async ({ headers, raw }) => {
  if (headers.host === undefined && raw.httpVersion === '1.1')
    throw new PublicError('bad_request', 400, 'The request could not be understood.')
}

/** Faults that Node finds before there is a request; the answer quotes nothing of what was sent. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
  const words = {
    400: 'The request could not be understood.',
    408: 'The request took too long to arrive.',
    431: 'Your browser sends too many cookies to this site. Delete the cookies of this site, then open it again.',
  }[status]!
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n' +
      `Content-Length: ${Buffer.byteLength(words)}\r\n\r\n${words}`,
  )
}
