// Answers to what goes wrong before there are pages, or in the making of one.
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'

/** Faults that Fastify finds before a handler runs, in words for a visitor; its own may quote what was sent. */
export function asPublicError(error: Error & { statusCode?: number }): PublicError {
  const messages: Record<number, string> = {
    400: 'The request could not be understood.',
    413: 'This is too long to send at once. Please shorten it.',
    414: 'There is no page at this address: it is too long.',
    415: 'Forms are accepted here, and nothing else.',
  }
  const message = messages[error.statusCode ?? 500]
  if (message) return new PublicError('bad_request', error.statusCode ?? 400, message)
  const sorry = 'Something went wrong on this site, and it has been logged. Please try again.'
  return new PublicError('internal', 500, sorry, { cause: error })
}

/** An address that cannot be decoded is refused before a request has cookies, views or hooks. */
export function answerBadAddress(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
  productName: string,
): void {
  const fault = asPublicError(error)
  logEvent(request, fault.code, { status: fault.statusCode, level: 'warn' })
  answerPlainly(reply, fault, productName)
}

/** Complete by itself, for where there are no views. */
export function answerPlainly(
  reply: FastifyReply,
  { statusCode, message }: PublicError,
  productName: string,
): FastifyReply {
  const page = [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>That did not work · ${productName}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>',
    `<h1>That did not work</h1><p>${message}</p><p><a href="/">Go to the start page</a></p></main></body></html>`,
  ]
  return reply.code(statusCode).type('text/html; charset=utf-8').send(page.join('\n'))
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
