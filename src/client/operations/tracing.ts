// Passes a caller's W3C trace context on to the portal and the API, so that one trace shows all three.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance } from 'fastify'
import type { Dispatcher } from 'undici'

/** https://www.w3.org/TR/trace-context/: unchanged, as is proper for who adds no span of its own. */
const traceparent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

export function createTracing() {
  const current = new AsyncLocalStorage<string>()
  return {
    observeRequests(app: FastifyInstance): void {
      app.addHook('onRequest', (request, _reply, done) => {
        const given = request.headers.traceparent
        if (typeof given === 'string' && traceparent.test(given)) current.run(given, done)
        else done()
      })
    },

    observeCalls(dispatcher: Dispatcher): Dispatcher {
      return dispatcher.compose(dispatch => (options, handler) => {
        const given = current.getStore()
        if (!given) return dispatch(options, handler)
        const headers = { ...(options.headers as Record<string, string>), traceparent: given }
        return dispatch({ ...options, headers }, handler)
      })
    },
  }
}
