// Answers every error with a page for a visitor or with JSON for a script, and writes one line to the log. Requests that
// Node's HTTP parser refuses get plain text, and no line in the log.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { describeCause, type NextStep, PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { closeWith } from '../operations/sockets.ts'
import type { Texts, TextsOf } from '../texts.ts'
import type { Message } from './pages.ts'
import { localPath, maxLinkLength } from './security.ts'

type ErrorHandlerOptions = {
  /** The name of this site. */
  name: string
  /** The path of the first page for signed-in visitors. */
  home: string
  texts: TextsOf<FastifyRequest>
  /**
   * Renders the page. `reply.message` cannot be used here, because Fastify's reply to an undecodable address has no
   * decorators.
   */
  renderMessage: (request: FastifyRequest, message: Message) => string
  /**
   * If the visitor is signed in, the function returns a link for signing in again. This can help if a faulty session
   * has caused the error.
   */
  signInAgain: (request: FastifyRequest, texts: Texts, returnTo?: string) => NextStep | undefined
}

/** Makes the error handler of the whole application. The handler returns the body of the answer. */
export function createErrorHandler({ name, home, texts, renderMessage, signInAgain }: ErrorHandlerOptions) {
  return async (error: Error, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const publicError = toPublicError(error)
    logError(request, publicError)
    const { code, statusCode, retryAfterSeconds } = publicError
    reply.code(statusCode)
    if (retryAfterSeconds) reply.header('retry-after', retryAfterSeconds)

    try {
      const requestTexts = texts.of(request)
      const message = publicError.messageIn(requestTexts)
      if (prefersJson(request)) return { error: { code, message, requestId: request.id } }
      const { titles, otherTitle, tryAgain, goToStart } = requestTexts.web.errorPage
      const isServerError = statusCode >= 500
      const retryPath = isServerError && request.method === 'GET' ? localPath(request.url, maxLinkLength) : undefined
      const retry = retryPath ? { href: retryPath, text: tryAgain } : undefined
      const nextStep = publicError.nextStep ?? retry ?? { href: '/', text: goToStart }
      const returnTo = retryPath ?? publicError.nextStep?.href
      const signInLink = isServerError ? signInAgain(request, requestTexts, returnTo) : undefined
      // After a failed login, the button of the page leads to the login, and then to the page that the visitor wanted.
      // The small link below the button must lead to the same address.
      const isLoginLink = /^\/login(\?|$)/.test(nextStep.href)
      const page = renderMessage(request, {
        title: publicError.titleIn(requestTexts) ?? titles[statusCode] ?? otherTitle,
        message,
        nextStep,
        otherStep:
          statusCode === 404 && !publicError.nextStep ? { href: home, text: requestTexts.start.goHome } : undefined,
        signInAgain: signInLink && isLoginLink ? nextStep : signInLink,
        isError: true,
      })
      reply.type('text/html; charset=utf-8')
      return page
    } catch (renderingError) {
      // Without this catch block, Fastify would answer with the error's message, which may contain a path of this
      // machine.
      const internal = toPublicError(renderingError as Error)
      logError(request, internal)
      reply.code(500)
      const defaultTexts = texts.withoutRequest()
      const message = internal.messageIn(defaultTexts)
      if (prefersJson(request)) return { error: { code: internal.code, message, requestId: request.id } }
      reply.type('text/html; charset=utf-8')
      return pageWithoutTemplate(message, name, defaultTexts)
    }
  }
}

/**
 * True if a script sent the request. A script usually accepts JSON or a stream of events, and a navigation accepts
 * HTML. If a script calls `fetch` without an Accept header, the browser accepts every type, but it also sends
 * `Sec-Fetch-Dest: empty`.
 */
export function prefersJson({ headers }: FastifyRequest): boolean {
  const { accept = '', 'sec-fetch-dest': dest } = headers
  const isForScript = dest === 'empty' || /\b(application\/json|text\/event-stream)\b/i.test(accept)
  return isForScript && !/\btext\/html\b/i.test(accept)
}

/**
 * Makes the handler for requests that do not match a route. If the address has a route for another method, the response
 * is 405 with `Allow`, and not 404 (RFC 9110 15.5.6). The address of a route may contain parameters, expressions and
 * wildcards. So the code looks for routes with find-my-way, the router that Fastify uses.
 */
export function createNotFoundHandler(app: FastifyInstance, routerOptions: { maxParamLength: number }) {
  const router = findMyWay(routerOptions)
  const knownMethods = new Set<HTTPMethod>()
  app.addHook('onRoute', ({ url, method }) => {
    for (const one of [method].flat() as HTTPMethod[]) {
      knownMethods.add(one)
      // Several routes with different constraints can have the same address.
      if (!router.hasRoute(one, url)) router.on(one, url, () => {})
    }
  })
  return ({ url }: FastifyRequest, reply: FastifyReply) => {
    const methods = [...knownMethods].filter(method => router.find(method, url))
    if (methods.length === 0) throw new PublicError('not_found', 404, texts => texts.web.errors.noPage)
    reply.header('allow', methods.join(', '))
    throw new PublicError('method_not_allowed', 405, texts => texts.web.errors.wrongMethod)
  }
}

/**
 * Errors of Fastify and of plugins keep their status, but get a fixed message, because the original message may quote
 * the request. The log contains the code of the error, and says which part of the request is not valid.
 */
function toPublicError(error: Error & Partial<FastifyError>): PublicError {
  if (error instanceof PublicError) return error
  const { statusCode = 500, code, validationContext } = error
  const isRefusal = statusCode >= 400 && statusCode < 500
  if (isRefusal || statusCode === 503) {
    const sentence = ({ web: { errors } }: Texts) => errors.byStatus[statusCode] ?? errors.otherStatus
    const publicCode = isRefusal ? 'bad_request' : 'unavailable'
    return new PublicError(publicCode, statusCode, sentence, { cause: { code, validationContext } })
  }
  return new PublicError('internal', 500, texts => texts.web.errors.internal, { cause: error })
}

/**
 * Logs an error without the headers, bodies and other data that a library may have attached to it. An error with status
 * 500 is usually a bug, so the log contains the stack of its cause. A PublicError is not a bug, and needs no stack.
 */
export function logError(request: FastifyRequest, { code, statusCode, cause }: PublicError): void {
  const level = statusCode >= 500 ? 'error' : 'warn'
  logEvent(request, code, {
    status: statusCode,
    cause: describeCause(cause, { withStack: statusCode === 500 && !(cause instanceof PublicError) }),
    level,
  })
}

/** The page that is shown if a template throws an error. */
function pageWithoutTemplate(message: string, siteName: string, { lang, web }: Texts): string {
  const { otherTitle, goToStart } = web.errorPage
  return [
    `<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>${otherTitle} · ${siteName}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>',
    `<h1>${otherTitle}</h1><p>${message}</p><p><a href="/">${goToStart}</a></p></main></body></html>`,
  ].join('\n')
}

/**
 * Returns a listener that answers if Node's HTTP parser refuses a request, or if a request arrives too slowly. At this
 * point, there is no request object yet. The answer does not repeat the input.
 */
export function createClientErrorHandler(texts: () => Texts) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
    const text = texts().web.errors.byStatus[status] ?? ''
    closeWith(
      socket,
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
        'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n' +
        `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
  }
}
