// Errors of the portal's calls in OAuth's own dialect (RFC 6749 5.2).
import type { FastifyInstance } from 'fastify'
import { type FaultReason, faultOf, HttpRefusal, reportRefusal, retryAfterFaultSeconds } from '../http/http-refusal.ts'
import { stepUrlOf } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import { longestText } from './longest-text.ts'

export class OAuthError extends HttpRefusal {
  /** The word that goes out as `error`. */
  readonly code: string
  readonly retryAfterSeconds: number | undefined

  /** `description` goes out as it is: ASCII, and no secrets. */
  constructor(
    statusCode: number,
    code: string,
    description: string,
    { reason, retryAfterSeconds }: { reason?: Reason; retryAfterSeconds?: number } = {},
  ) {
    super(statusCode, description, reason)
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Every error of this scope, its own or the framework's, leaves as `{error, error_description, error_uri?, state?}`. */
export function answerInOAuthDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const answer = toOAuthError(error)
    reportRefusal(reply, error, answer, 'call')
    if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds)
    const state = (request.body as { state?: unknown } | null | undefined)?.state
    const errorUri = stepUrlOf(request)
    const isEchoed = typeof state === 'string' && state.length <= longestText
    return reply
      .status(answer.statusCode)
      .send({
        error: answer.code,
        error_description: answer.message,
        ...(errorUri !== undefined && { error_uri: errorUri }),
        ...(isEchoed && { state }),
      })
  })
  scope.setNotFoundHandler(() => {
    throw new OAuthError(404, 'invalid_request', 'There is nothing at this address.')
  })
}

const faults: Record<FaultReason, [code: string, description: string]> = {
  busy: ['temporarily_unavailable', 'Try again in a moment.'],
  'store-unavailable': ['temporarily_unavailable', 'Try again in a moment.'],
  'body-too-large': ['invalid_request', 'The request body is too large.'],
  'content-type-unsupported': ['invalid_request', 'Send application/x-www-form-urlencoded or application/json.'],
  'body-unreadable': ['invalid_request', 'The request body cannot be read.'],
  internal: ['server_error', 'Internal Server Error'],
}

/** Also says of every other error what may be said of it. */
export function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error
  const { statusCode, reason } = faultOf(error)
  const retryAfterSeconds = statusCode === 503 ? { retryAfterSeconds: retryAfterFaultSeconds } : {}
  return new OAuthError(statusCode, ...faults[reason], { reason, ...retryAfterSeconds })
}
