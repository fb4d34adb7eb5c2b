// What every request carries: an id, a deadline, and its lines of the log, which hold nothing secret.
import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestContext } from '../upstream.ts'

/** The caller's id where it is harmless, so that one request can be followed through several systems. */
export function newRequestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** One deadline for all that is done for a request: its answer comes while its socket still lives. */
export function limitRequests(app: FastifyInstance, longestMs: number): void {
  app.decorateRequest('endsAt', 0)
  app.addHook('onRequest', (request, _reply, done) => {
    request.setDecorator('endsAt', performance.now() + longestMs)
    done()
  })
}

/** https://www.w3.org/TR/trace-context/ */
const traceContext = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** What calls to the portal and the API take along. A trace stays as it came, as is proper for who adds no span to it. */
export function contextOf(request: FastifyRequest): RequestContext {
  const { traceparent } = request.headers
  const isTrace = typeof traceparent === 'string' && traceContext.test(traceparent)
  const endsAt = request.getDecorator<number>('endsAt')
  return { requestId: request.id, traceparent: isTrace ? traceparent : undefined, endsAt }
}

/** Called whatever the level of the log. Only this client's own code calls it: a product may log any event. */
export type CountOutcome = (what: 'login' | 'refresh', outcome: string) => void

/** The route and not the address: a query holds codes and states, and a path that is not ours can hold anything. */
export function logRequests(app: FastifyInstance, countOutcome: CountOutcome = () => {}): void {
  app.decorate('countOutcome', countOutcome)
  app.decorateRequest('visitorHash', undefined)
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status, elapsedTime } = reply
    logEvent(request, 'request', { method: request.method, status, ms: Math.round(elapsedTime) })
    done()
  })
}

/** From here on the lines of this request have a hash of the visitor's id, which tells visitors apart and names none. */
export function logAsVisitor(request: FastifyRequest, visitorId: string): void {
  request.setDecorator('visitorHash', hash('sha256', visitorId, 'base64url').slice(0, 12))
}

/** A login that came back from the portal. */
export function countLogin(request: FastifyRequest, outcome: string): void {
  request.server.getDecorator<CountOutcome>('countOutcome')('login', outcome)
}

/** A session that was due to be renewed. */
export function countRefresh(request: FastifyRequest, outcome: string): void {
  request.server.getDecorator<CountOutcome>('countOutcome')('refresh', outcome)
}

type Details = { level?: 'info' | 'warn' | 'error' } & Record<string, unknown>

/** `event` is a name that operators search and count by. */
export function logEvent(request: FastifyRequest, event: string, details: Details = {}): void {
  const { level = 'info', ...more } = details
  const route = request.routeOptions.url ?? 'none'
  // Not getDecorator: a request whose address cannot be decoded has no decorators, and is logged all the same.
  const { visitorHash: visitor } = request as { visitorHash?: string }
  request.log[level]({ event, route, visitor, ...more })
}
