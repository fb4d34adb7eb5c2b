// What is logged: one line for each request, and what happens to sessions and applications, by name. Nothing secret.
import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sessionOf } from '../web/require-session.ts'

/** The caller's id where it is harmless, so that one request can be followed through several systems. */
export function newRequestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Told of every event, whatever the level of the log. */
export type CountEvent = (event: string, route: string) => void

/** The route and not the address: a query holds codes and states, and a path that is not ours can hold anything. */
export function logRequests(app: FastifyInstance, countEvent: CountEvent = () => {}): void {
  app.decorate('countEvent', countEvent)
  app.addHook('onResponse', async (request, reply) => {
    const { statusCode: status, elapsedTime } = reply
    logEvent(request, 'request', { method: request.method, status, ms: Math.round(elapsedTime) })
  })
}

type Details = { visitorId?: string | undefined; level?: 'info' | 'warn' | 'error' } & Record<string, unknown>

/** `event` is a name that operators search and count by. Visitors are told apart by a hash, and not told. */
export function logEvent(request: FastifyRequest, event: string, details: Details = {}): void {
  const { visitorId = sessionOf(request)?.visitorId, level = 'info', ...more } = details
  const visitor = visitorId && hash('sha256', visitorId, 'base64url').slice(0, 12)
  const route = request.routeOptions.url ?? 'none'
  request.server.getDecorator<CountEvent>('countEvent')(event, route)
  request.log[level]({ event, route, visitor, ...more })
}
