// Error pages of the portal.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../parts.ts'
import { storeFaultOf } from '../store/store-fault.ts'
import { Busy } from '../turns.ts'
import { answerLoginRequestError, LoginRequestError } from './login-request-error.ts'

/** Shown to the visitor as a page. `message` is for their eyes; `next` is a way on, a local path. */
export class PageError extends Error {
  readonly statusCode: number
  readonly next: { href: string; label: string } | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    statusCode: number,
    message: string,
    { next, retryAfterSeconds }: { next?: { href: string; label: string }; retryAfterSeconds?: number } = {},
  ) {
    super(message)
    this.statusCode = statusCode
    this.next = next
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function showErrorPages(scope: FastifyInstance, parts: Pick<Parts, 'store' | 'clock'>): void {
  scope.setErrorHandler(async (error, request, reply) => {
    if (error instanceof LoginRequestError) {
      request.log.info({ code: error.code, reason: error.message }, 'an authorization was refused')
      return answerLoginRequestError(parts, error, request, reply)
    }
    const page = toPageError(error)
    if (error instanceof Busy) request.log.info({ code: 'busy' }, 'too many passwords are waiting to be hashed')
    else if (page.statusCode >= 500)
      request.log.error({ code: 'page-failed', cause: (error as Error).message }, 'a page failed')
    else request.log.info({ code: 'page-refused', reason: page.message }, 'a page was refused')
    if (page.retryAfterSeconds !== undefined) reply.header('retry-after', page.retryAfterSeconds)
    return reply
      .status(page.statusCode)
      .viewAsync('error', {
        title: page.statusCode >= 500 ? 'That did not work' : 'This cannot go on',
        message: page.message,
        next: page.next,
        requestId: request.id,
      })
  })
  scope.setNotFoundHandler(() => {
    throw new PageError(404, 'There is no page at this address.', {
      next: { href: '/account', label: 'Your account at this portal' },
    })
  })
}

function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  if (storeFaultOf(error) || error instanceof Busy)
    return new PageError(503, 'The portal is very busy. Wait a moment and send the page again.', {
      retryAfterSeconds: 2,
    })
  const { statusCode } = error as { statusCode?: number }
  if (statusCode === 413) return new PageError(413, 'That was more than this page takes.')
  if (statusCode && statusCode < 500) return new PageError(statusCode, 'The request cannot be read.')
  return new PageError(500, 'Something went wrong on our side. Your work is not lost; try again.')
}
