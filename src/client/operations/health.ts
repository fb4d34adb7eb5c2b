// For whoever watches this process: whether it runs, and whether it wants requests.
import type { FastifyReply, FastifyRequest } from 'fastify'

/** `isDraining`: told to stop, so that a load balancer should send nothing more. */
export function healthRoutes({ cookieKeyIds, isDraining }: { cookieKeyIds: string[]; isDraining: () => boolean }) {
  return {
    async live() {
      return { status: 'ok' }
    },
    /** Replicas must show the same key ids, or visitors are signed in and out by turns. */
    async ready(_request: FastifyRequest, reply: FastifyReply) {
      if (isDraining()) reply.code(503)
      return { status: isDraining() ? 'draining' : 'ok', cookieKeyIds }
    },
  }
}
