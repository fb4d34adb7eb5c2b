// Errors of the calls in a user's name: `{"message", …}`, which is not OAuth's dialect, because no client is asking.
import type { FastifyInstance } from 'fastify'
import { HttpRefusal, reportRefusal } from '../../http/http-refusal.ts'
import type { Reason } from '../../observe/steps.ts'
import { PageError } from '../error-pages.ts'
import { LoginRequestError } from '../login-request-error.ts'
import { toOAuthError } from '../oauth-error.ts'

export class UserCallError extends HttpRefusal {
  readonly body: { message: unknown; [name: string]: unknown }
  readonly retryAfterSeconds: number | undefined

  /** `body` goes out as it is. */
  constructor(
    statusCode: number,
    body: UserCallError['body'],
    { reason, retryAfterSeconds }: { reason?: Reason; retryAfterSeconds?: number | undefined } = {},
  ) {
    super(statusCode, typeof body.message === 'string' ? body.message : 'bad fields', reason)
    this.body = body
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function permissionDenied(reason?: Reason): UserCallError {
  return new UserCallError(403, { message: 'Permission denied' }, reason && { reason })
}

export function tooManyRequests(retryAfterSeconds: number): UserCallError {
  return new UserCallError(429, { message: 'Too Many Requests' }, { retryAfterSeconds })
}

export function answerInMessages(scope: FastifyInstance): void {
  scope.setErrorHandler((error, _request, reply) => {
    const answer = toUserCallError(error)
    const { statusCode, retryAfterSeconds } = answer
    reportRefusal(reply, error, answer, 'user-call')
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    return reply.status(statusCode).send(answer.body)
  })
}

function toUserCallError(error: unknown): UserCallError {
  if (error instanceof UserCallError) return error
  // What a page, or the way back to a client, would have said of the start parameters.
  const answer = error instanceof PageError || error instanceof LoginRequestError ? error : toOAuthError(error)
  const { statusCode, message, reason } = answer
  const retryAfterSeconds = 'retryAfterSeconds' in answer ? answer.retryAfterSeconds : undefined
  return new UserCallError(statusCode, { message }, { reason, retryAfterSeconds })
}
