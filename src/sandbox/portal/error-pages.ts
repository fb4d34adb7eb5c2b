// Error pages of the portal.
import type { FastifyInstance } from 'fastify'
import { type FaultReason, faultOf, HttpRefusal, reportRefusal, retryAfterFaultSeconds } from '../http/http-refusal.ts'
import { stepUrlOf } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import type { Services } from '../services.ts'
import { errorTitle } from '../web/error-title.ts'
import { answerLoginRequestError, LoginRequestError } from './login-request-error.ts'

/** Shown to the visitor as a page. `message` is for their eyes; `next` is a way on, a local path. */
export class PageError extends HttpRefusal {
  readonly next: { href: string; label: string } | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    statusCode: number,
    message: string,
    {
      next,
      retryAfterSeconds,
      reason,
    }: { next?: { href: string; label: string }; retryAfterSeconds?: number; reason?: Reason } = {},
  ) {
    super(statusCode, message, reason)
    this.next = next
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function showErrorPages(scope: FastifyInstance, parts: Pick<Services, 'store' | 'clock'>): void {
  scope.setErrorHandler(async (error, request, reply) => {
    if (error instanceof LoginRequestError) {
      reportRefusal(reply, error, error, 'page')
      return answerLoginRequestError(parts, error, request, reply)
    }
    const page = toPageError(error)
    reportRefusal(reply, error, page, 'page')
    if (page.retryAfterSeconds !== undefined) reply.header('retry-after', page.retryAfterSeconds)
    return reply
      .status(page.statusCode)
      .viewAsync('error', {
        title: errorTitle(page.statusCode),
        message: page.message,
        next: page.next,
        requestId: request.id,
        explainedAt: stepUrlOf(request),
      })
  })
  scope.setNotFoundHandler(() => {
    throw new PageError(404, 'There is nothing at this address. Check it, or start from your account.', {
      next: { href: '/account', label: 'Your account' },
    })
  })
}

const busyPortal = 'The login portal is very busy. Wait a moment and try again.'

const faults: Record<FaultReason, string> = {
  busy: busyPortal,
  'store-unavailable': busyPortal,
  'body-too-large': 'The form was larger than this page accepts.',
  'content-type-unsupported': 'The login portal could not read the request.',
  'body-unreadable': 'The login portal could not read the request.',
  internal: 'This is a fault of the login portal. Try again in a moment.',
}

function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  const { statusCode, reason } = faultOf(error)
  const retryAfterSeconds = statusCode === 503 ? { retryAfterSeconds: retryAfterFaultSeconds } : {}
  return new PageError(statusCode, faults[reason], { reason, ...retryAfterSeconds })
}
