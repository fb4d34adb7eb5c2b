// Limits the time of a request. The request must arrive within 15 seconds, and all its calls to the portal and the API
// must end within 25 seconds. A route can raise both limits.
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The deadline of this request, as a value of `performance.now()`. */
    endsAt: number
  }
  interface FastifyContextConfig {
    /**
     * The time limit of this route in milliseconds, for the body to arrive and for all calls to the portal and the API.
     * Raise this limit for uploads, for example.
     */
    deadlineMs?: number
  }
}

type AnswerClientError = (error: NodeJS.ErrnoException, socket: Socket) => void

/**
 * `defaultMs` is the time limit for all calls to the portal and the API that one request makes. It must be less than
 * `connectionTimeout`. Other work in a handler, such as a query to a product's own database, has no time limit.
 */
export function createDeadlines(defaultMs: number) {
  /** The current request of each connection. The map contains only requests whose route sets `deadlineMs`. */
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
          // The client does not send any data until the handler of the route has finished, so `connectionTimeout` could
          // close the connection. This line raises the timeout. For the next request, Node restores
          // `connectionTimeout`.
          if (deadlineMs > defaultMs) reply.raw.setTimeout(deadlineMs + 10_000, () => reply.raw.destroy())
        }
        done()
      })
    },

    /**
     * Returns a listener for Node's 'clientError'. Node's `requestTimeout` is the same for all routes. After this time,
     * Node emits this event once, and does nothing else. If the route has a longer deadline, the listener waits until
     * this deadline before it answers.
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
