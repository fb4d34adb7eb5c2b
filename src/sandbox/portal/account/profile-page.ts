// GET /account: who I am, and the ways to everything else.
import type { FastifyInstance } from 'fastify'
import { showAccountPage } from './require-visitor.ts'

export function profilePage(scope: FastifyInstance): void {
  scope.get('/account', async (_request, reply) => showAccountPage(reply, 'account/profile', { title: 'Your account' }))
}
