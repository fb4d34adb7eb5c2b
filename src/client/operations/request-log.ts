// Gives every request an id, and writes log lines about the request. The lines contain no secrets.
import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestContext } from '../upstream.ts'

declare module 'fastify' {
  interface FastifyInstance {
    countOutcome: CountOutcome
  }
  interface FastifyRequest {
    /** A hash that distinguishes visitors in the log, without their names. */
    visitorHash: string | undefined
  }
}

/** Counts logins and renewals for the metrics. The counts do not depend on the log level. */
export type CountOutcome = (what: 'login' | 'refresh', outcome: string) => void

export function logRequests(app: FastifyInstance, countOutcome: CountOutcome = () => {}): void {
  app.decorate('countOutcome', countOutcome)
  app.decorateRequest('visitorHash', undefined)
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode: status, elapsedTime } = reply
    logEvent(request, 'request', { method: request.method, status, ms: Math.round(elapsedTime) })
    done()
  })
}

/**
 * Returns the request id that the caller sent, if it is short and contains only safe characters. Several systems can
 * then log the same id for one request.
 */
export function newRequestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** https://www.w3.org/TR/trace-context/ */
const traceContext = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Returns the data that the calls to the portal and the API need from a browser's request. These calls send the trace
 * context unchanged.
 */
export function callContext(request: FastifyRequest): RequestContext {
  const { traceparent } = request.headers
  const isTrace = typeof traceparent === 'string' && traceContext.test(traceparent)
  return { requestId: request.id, traceparent: isTrace ? traceparent : undefined, endsAt: request.endsAt }
}

/** Adds a hash of the session's owner to all later log lines of this request. */
export function logAsOwner(request: FastifyRequest, sessionOwner: string): void {
  request.visitorHash = hash('sha256', sessionOwner, 'base64url').slice(0, 12)
}

type EventDetails = { level?: 'info' | 'warn' | 'error' } & Record<string, unknown>

/**
 * Writes one log line. Operators search and count by `event`. The line contains the route instead of the address,
 * because the query of an address can contain codes and states.
 */
export function logEvent(request: FastifyRequest, event: string, { level = 'info', ...details }: EventDetails = {}) {
  const route = request.routeOptions.url ?? 'none'
  request.log[level]({ event, route, visitor: request.visitorHash, ...details })
}

/** Counts a login that the portal redirected back. */
export function countLogin(request: FastifyRequest, outcome: string): void {
  request.server.countOutcome('login', outcome)
}

/** Counts a session that was due for renewal. */
export function countRefresh(request: FastifyRequest, outcome: string): void {
  request.server.countOutcome('refresh', outcome)
}
