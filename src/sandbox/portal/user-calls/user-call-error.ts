// Errors of the calls in a user's name: `{"message", …}`, which is not OAuth's dialect, because no client is asking.
import type { FastifyInstance } from 'fastify'
import { Busy } from '../../turns.ts'
import { PageError } from '../error-pages.ts'
import { LoginRequestError } from '../login-request-error.ts'
import { toOAuthError } from '../oauth-error.ts'

export class UserCallError extends Error {
  readonly statusCode: number
  readonly body: { message: unknown; [name: string]: unknown }
  readonly retryAfterSeconds: number | undefined

  /** `body` goes out as it is. */
  constructor(statusCode: number, body: UserCallError['body'], retryAfterSeconds?: number) {
    super(typeof body.message === 'string' ? body.message : 'bad fields')
    this.statusCode = statusCode
    this.body = body
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function permissionDenied(): UserCallError {
  return new UserCallError(403, { message: 'Permission denied' })
}

export function tooManyRequests(retryAfterSeconds: number): UserCallError {
  return new UserCallError(429, { message: 'Too Many Requests' }, retryAfterSeconds)
}

export function answerInMessages(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const answer = toUserCallError(error)
    const { statusCode, retryAfterSeconds } = answer
    if (error instanceof Busy) request.log.info({ code: 'busy' }, 'too many passwords are waiting to be hashed')
    else if (statusCode >= 500)
      request.log.error({ code: 'user-call-failed', cause: (error as Error).message }, 'a call failed')
    else request.log.info({ code: 'user-call-refused', statusCode, reason: answer.message }, 'a call was refused')
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    return reply.status(statusCode).send(answer.body)
  })
}

function toUserCallError(error: unknown): UserCallError {
  if (error instanceof UserCallError) return error
  // What a page, or the way back to a client, would have said of the start parameters.
  if (error instanceof PageError) return new UserCallError(error.statusCode, { message: error.message })
  if (error instanceof LoginRequestError) return new UserCallError(400, { message: error.message })
  const { statusCode, message, retryAfterSeconds } = toOAuthError(error)
  return new UserCallError(statusCode, { message }, retryAfterSeconds)
}
