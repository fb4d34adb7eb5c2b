// Headers of every answer to a call: never kept, and never taken for something else.
import type { FastifyInstance } from 'fastify'

export function setCallHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    // Both, because RFC 6749 5.1 asks for both.
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' })
  })
}
