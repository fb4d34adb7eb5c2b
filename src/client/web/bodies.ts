// Refuses bodies that are too long or that must not be read. The decision depends only on the headers of the request.
import { errorCodes, type FastifyReply, type FastifyRequest, type preValidationHookHandler } from 'fastify'

/** The maximum size of a form, in bytes. A route can set another limit with Fastify's `bodyLimit`. */
export const formLimit = 32 * 1024

/**
 * Refuses a request if its Content-Length is above the limit. Fastify itself does not check this header if a parser
 * reads the body as a stream, for example for an upload.
 */
export const refuseLongBodies: preValidationHookHandler = (request, _reply, done) => {
  const isTooLong = lengthOf(request) > request.routeOptions.bodyLimit
  done(isTooLong ? new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE() : undefined)
}

/**
 * True if the request has a body that is not a form, or a body with more than `formLimit` bytes. The client reads such
 * a body only if there is a session.
 */
export function hasBodyThatNeedsSession(request: FastifyRequest): boolean {
  const length = lengthOf(request)
  if (request.headers['transfer-encoding'] === undefined && !(length > 0)) return false
  return !(request.mediaType === 'application/x-www-form-urlencoded' && length <= formLimit)
}

/**
 * Call this function before you answer a request without using its body. After the answer, Node itself reads and drops
 * the rest of the body. If the body has not ended one second later, this function closes the connection. If the server
 * closed the connection at once, the sender would get a TCP reset, and might never see the response.
 */
export function dropBody({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('finish', () => {
    setTimeout(() => {
      if (!request.complete) request.destroy()
    }, 1_000).unref()
  })
}

/** The result is NaN if the header Content-Length is missing. */
function lengthOf({ headers }: FastifyRequest): number {
  return Number(headers['content-length'])
}
