// Signing out of the portal. What applications were given goes on: withdrawing it is a page of its own.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../app.ts'
import { endPortalSession } from './portal-session.ts'

export function signOutPage(scope: FastifyInstance, parts: Parts): void {
  // No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
  scope.post('/sign-out', async (request, reply) => {
    await endPortalSession(parts, request, reply)
    return reply.redirect('/signed-out', 303)
  })

  scope.get('/signed-out', async (_request, reply) => reply.viewAsync('signed-out', { title: 'Signed out' }))
}
