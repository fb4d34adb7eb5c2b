// Decides from the headers of a request whether its body is read.
import { errorCodes, type FastifyReply, type FastifyRequest, type preValidationHookHandler } from 'fastify'

/** The longest form. A route may raise its own limit with Fastify's `bodyLimit`. */
export const formLimit = 32 * 1024

/** Fastify itself does not look at the limit if the parser gets a stream, as for uploads. */
export const refuseLongBodies: preValidationHookHandler = (request, _reply, done) => {
  const isTooLong = lengthOf(request) > request.routeOptions.bodyLimit
  done(isTooLong ? new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE() : undefined)
}

/** Whether the request has a body, and not only a form that browsers of visitors without a session may send. */
export function hasLargeBody(request: FastifyRequest): boolean {
  const { 'content-type': type = '', 'transfer-encoding': coding } = request.headers
  const length = lengthOf(request)
  if (coding === undefined && !(length > 0)) return false
  return !(/^application\/x-www-form-urlencoded\b/i.test(type) && length <= formLimit)
}

/**
 * Call this before answering a request whose body is not read. Closing the connection at once would send a reset, which
 * could destroy the answer. So the rest of the body is dropped as it comes, for at most a second.
 */
export function dropBody({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    setTimeout(() => {
      if (!request.complete) request.destroy()
    }, 1_000).unref()
  })
}

/** NaN if the sender does not say. */
function lengthOf({ headers }: FastifyRequest): number {
  return Number(headers['content-length'])
}
