// Errors of the portal's calls in OAuth's own dialect (RFC 6749 5.2).
import type { FastifyInstance } from 'fastify'
import { storeFaultOf } from '../store/store-fault.ts'
import { Busy } from '../turns.ts'
import { longestText } from './longest-text.ts'

export class OAuthError extends Error {
  readonly statusCode: number
  /** The word that goes out as `error`. */
  readonly code: string
  readonly retryAfterSeconds: number | undefined

  /** `description` goes out as it is: ASCII, and no secrets. */
  constructor(statusCode: number, code: string, description: string, retryAfterSeconds?: number) {
    super(description)
    this.statusCode = statusCode
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

const retryAfterFaultSeconds = 2

/** Every error of this scope, its own or the framework's, leaves as `{error, error_description, state?}`. */
export function answerInOAuthDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const answer = toOAuthError(error)
    if (error instanceof Busy) request.log.info({ code: 'busy' }, 'too many passwords are waiting to be hashed')
    else if (answer.statusCode >= 500)
      request.log.error({ code: answer.code, cause: (error as Error).message }, 'a call failed')
    else request.log.info({ code: answer.code, reason: answer.message }, 'a call was refused')
    if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds)
    const state = (request.body as { state?: unknown } | null | undefined)?.state
    const isEchoed = typeof state === 'string' && state.length <= longestText
    return reply
      .status(answer.statusCode)
      .send({ error: answer.code, error_description: answer.message, ...(isEchoed && { state }) })
  })
  scope.setNotFoundHandler(() => {
    throw new OAuthError(404, 'invalid_request', 'There is nothing at this address.')
  })
}

/** Also says of every other error what may be said of it. */
export function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error
  if (storeFaultOf(error) || error instanceof Busy)
    return new OAuthError(503, 'temporarily_unavailable', 'Try again in a moment.', retryAfterFaultSeconds)
  const { statusCode } = error as { statusCode?: number }
  if (statusCode === 413) return new OAuthError(413, 'invalid_request', 'The request body is too large.')
  if (statusCode === 415)
    return new OAuthError(415, 'invalid_request', 'Send application/x-www-form-urlencoded or application/json.')
  // A RangeError is JSON nested deeper than the parser's stack.
  if ((statusCode && statusCode < 500) || error instanceof RangeError)
    return new OAuthError(400, 'invalid_request', 'The request body cannot be read.')
  return new OAuthError(500, 'server_error', 'Internal Server Error')
}
