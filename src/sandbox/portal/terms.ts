// What people accept when they sign up.
import type { FastifyInstance } from 'fastify'

export function termsPage(scope: FastifyInstance): void {
  scope.get('/terms', async (_request, reply) => reply.viewAsync('terms', { title: 'Terms' }))
}
