// Uses the headers of a request to refuse bodies that are too long or must not be read.
import { errorCodes, type FastifyReply, type FastifyRequest, type preValidationHookHandler } from 'fastify'

/** The longest form, in bytes. A route may raise its own limit with Fastify's `bodyLimit`. */
export const formLimit = 32 * 1024

/** Checks Content-Length. Fastify does not check this header if a parser reads the body as a stream, as for uploads. */
export const refuseLongBodies: preValidationHookHandler = (request, _reply, done) => {
  const isTooLong = lengthOf(request) > request.routeOptions.bodyLimit
  done(isTooLong ? new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE() : undefined)
}

/**
 * Whether the request has a body other than a form of the usual length. Without a session, the client reads only forms of
 * the usual length.
 */
export function hasBodyOtherThanForm(request: FastifyRequest): boolean {
  const { 'content-type': type = '', 'transfer-encoding': coding } = request.headers
  const length = lengthOf(request)
  if (coding === undefined && !(length > 0)) return false
  return !(/^application\/x-www-form-urlencoded\b/i.test(type) && length <= formLimit)
}

/**
 * Call this before answering a request whose body is not read. Closing the connection immediately would send a reset, which
 * could destroy the response. So the rest of the body is read and dropped, for at most a second.
 */
export function dropBody({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    setTimeout(() => {
      if (!request.complete) request.destroy()
    }, 1_000).unref()
  })
}

/** NaN without Content-Length. */
function lengthOf({ headers }: FastifyRequest): number {
  return Number(headers['content-length'])
}
