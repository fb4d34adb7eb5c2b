// Signing out of the portal in this browser; what applications were given goes on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../parts.ts'
import { endPortalSession, findVisitor } from './portal-session.ts'

export function signOutRoutes(parts: Pick<Parts, 'store' | 'clock'>) {
  /** For applications to link to: they cannot end this session, and signing in to them again asks for nothing while it lasts. */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    return reply.viewAsync('sign-out', { title: 'Sign out', user: await findVisitor(parts, request) })
  }

  // No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
  async function signOut(request: FastifyRequest, reply: FastifyReply) {
    await endPortalSession(parts, request, reply)
    return reply.redirect('/signed-out', 303)
  }

  return { show, signOut }
}
