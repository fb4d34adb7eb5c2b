// Finds the status of an error, and reports it in the log. The error handlers of all dialects use these functions.
import type { FastifyReply } from 'fastify'
import { clientAndReason, noteReason, stepUrlOf } from '../observe/observe.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal, type RefusalDetails } from '../observe/refusal.ts'
import { Busy } from '../people/turns.ts'
import { storeFailureOf } from '../store/store-failure.ts'

/**
 * A dialect is a format of error answers: an HTML page, the JSON of OAuth, the JSON of the portal's calls for users,
 * and the JSON of the application API.
 */
export type Dialect = 'page' | 'oauth' | 'message' | 'api'

/** The codes of refusals in the log begin with these words. */
const codePrefixes: Record<Dialect, string> = { page: 'page', oauth: 'call', message: 'user-call', api: 'api' }

/**
 * The reasons for errors that can happen in every dialect. Each dialect has its own messages for these reasons, and for
 * its own refusals.
 */
export type CommonReason =
  | 'busy'
  | 'store-unavailable'
  | 'body-too-large'
  | 'content-type-unsupported'
  | 'body-unreadable'
  | 'host-repeated'
  | 'internal'

/** Thrown if a request has two Host headers. Fastify's own error handler uses `statusCode`. */
export class RepeatedHost extends Error {
  readonly statusCode = 400
}

/**
 * Classifies any thrown error, whether our code, the framework or the database threw it. Callers learn nothing about an
 * internal error.
 */
export function classifyError(error: unknown): { statusCode: number; reason: CommonReason } {
  if (error instanceof Busy) return { statusCode: 503, reason: 'busy' }
  if (storeFailureOf(error)) return { statusCode: 503, reason: 'store-unavailable' }
  const { statusCode } = error as { statusCode?: number }
  if (error instanceof RepeatedHost) return { statusCode: error.statusCode, reason: 'host-repeated' }
  if (statusCode === 413) return { statusCode, reason: 'body-too-large' }
  if (statusCode === 415) return { statusCode, reason: 'content-type-unsupported' }
  if (statusCode && statusCode < 500) return { statusCode, reason: 'body-unreadable' }
  return { statusCode: 500, reason: 'internal' }
}

/** How many seconds a caller should wait if the sandbox is overloaded or cannot reach its database. */
export const retryAfterUnavailableSeconds = 2

/**
 * Notes the reason and writes one line to the log, with a code that names the dialect. Sets the Retry-After header if
 * the same request may succeed later. An error page shows the request id and the link to the laboratory. All other
 * error answers have the request id and the link in headers.
 */
export function reportRefusal(
  reply: FastifyReply,
  error: unknown,
  refusal: { statusCode: number; reason: Reason; message: string },
  dialect: Dialect,
): void {
  const { request } = reply
  const { statusCode, reason, message } = refusal
  noteReason(request, reason)
  const { retryAfterSeconds }: RefusalDetails = error instanceof Refusal ? error.details : {}
  const waitSeconds = retryAfterSeconds ?? (statusCode === 503 ? retryAfterUnavailableSeconds : undefined)
  if (waitSeconds !== undefined) reply.header('retry-after', waitSeconds)
  const help = stepUrlOf(request)
  if (dialect !== 'page') {
    reply.header('x-request-id', request.id)
    if (help !== undefined) reply.header('link', `<${help}>; rel="help"`)
  }
  const who = clientAndReason(request)
  const prefix = codePrefixes[dialect]
  if (error instanceof Busy) request.log.info({ code: 'busy', ...who }, 'too many passwords are waiting to be hashed')
  else if (statusCode >= 500)
    request.log.error({ code: `${prefix}-failed`, ...who, cause: (error as Error).message }, 'a request failed')
  else request.log.info({ code: `${prefix}-refused`, ...who, statusCode, said: message }, 'a request was refused')
}
