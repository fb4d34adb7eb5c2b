// Gives every request one deadline for all that is done for it: its answer comes while its socket still lives.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RequestContext } from '../upstream.ts'

export function limitRequests(app: FastifyInstance, longestMs: number): void {
  app.decorateRequest('endsAt', 0)
  app.addHook('onRequest', async request => request.setDecorator('endsAt', performance.now() + longestMs))
}

/** What calls to the portal and the API take along. */
export function contextOf(request: FastifyRequest): RequestContext {
  return { requestId: request.id, endsAt: request.getDecorator<number>('endsAt') }
}
