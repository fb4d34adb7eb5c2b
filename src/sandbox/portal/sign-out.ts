// Signing out of the portal: in this browser, where what applications were given goes on, or everywhere.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../parts.ts'
import { endPortalSession } from './portal-session.ts'

export function signOutPage(scope: FastifyInstance, parts: Pick<Parts, 'store'>): void {
  // No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
  scope.post('/sign-out', async (request, reply) => {
    await endPortalSession(parts, request, reply)
    return reply.redirect('/signed-out', 303)
  })

  scope.get('/signed-out', async (_request, reply) => reply.viewAsync('signed-out', { title: 'Signed out' }))
}
