// Signing out of the portal: in this browser, where what applications were given goes on, or everywhere.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../app.ts'
import { deletePortalSessionsOf } from '../store/portal-sessions.ts'
import type { Db } from '../store/schema.ts'
import { revokeAllGrantsOf } from '../store/user-grants.ts'
import { endPortalSession } from './portal-session.ts'

export function signOutPage(scope: FastifyInstance, parts: Parts): void {
  // No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
  scope.post('/sign-out', async (request, reply) => {
    await endPortalSession(parts, request, reply)
    return reply.redirect('/signed-out', 303)
  })

  scope.get('/signed-out', async (_request, reply) => reply.viewAsync('signed-out', { title: 'Signed out' }))
}

/**
 * Ends every session of the user and every grant, of whatever application (RFC 9700 4.14.2): for whoever fears that
 * somebody else is signed in as them. Two statements: call it in a transaction.
 */
export async function signOutEverywhere(db: Db, userId: string, now: Date): Promise<void> {
  await deletePortalSessionsOf(db, userId)
  await revokeAllGrantsOf(db, userId, now)
}
