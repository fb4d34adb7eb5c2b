// How long a request may take: 15 seconds to arrive, and 25 seconds until all calls for it have ended. A route can
// raise both limits.
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The time at which this request must be answered, on the clock of `performance.now()`. */
    endsAt: number
  }
  interface FastifyContextConfig {
    /** The time limit of this route in milliseconds, from the first byte of the body to the end of all calls. An upload needs more. */
    deadlineMs?: number
  }
}

type AnswerClientError = (error: NodeJS.ErrnoException, socket: Socket) => void

/**
 * `defaultMs` limits a whole request, with all calls to the portal and the API. The limit must be less than
 * `connectionTimeout`.
 */
export function createDeadlines(defaultMs: number) {
  /** The requests of routes that set `deadlineMs`. */
  const raised = new WeakMap<Socket, FastifyRequest>()

  return {
    /** Adds `request.endsAt`. */
    set(app: FastifyInstance): void {
      app.decorateRequest('endsAt', 0)
      app.addHook('onRequest', (request, reply, done) => {
        const { deadlineMs } = request.routeOptions.config
        request.endsAt = performance.now() + (deadlineMs ?? defaultMs)
        if (deadlineMs !== undefined) {
          raised.set(request.raw.socket, request)
          // No data is sent until the route has finished, so `connectionTimeout` would close the connection. Node restores
          // that timeout for the next request.
          if (deadlineMs > defaultMs) reply.raw.setTimeout(deadlineMs + 10_000, () => reply.raw.destroy())
        }
        done()
      })
    },

    /**
     * Node's `requestTimeout` is the same for all routes. When this time has passed, Node reports an error once and
     * does nothing else. The listener of this error therefore waits for the route's own deadline, and answers then.
     */
    afterDeadline(answer: AnswerClientError): AnswerClientError {
      return (error, socket) => {
        const request = raised.get(socket)
        const timeLeftMs = request && !request.raw.complete ? request.endsAt - performance.now() : 0
        if (!request || error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || timeLeftMs <= 0) return answer(error, socket)
        const timer = setTimeout(() => answer(error, socket), timeLeftMs)
        request.raw.once('close', () => clearTimeout(timer))
      }
    },
  }
}
