// POST /sign-out: signing out of the portal in this browser; what applications were given goes on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Parts } from '../parts.ts'
import { endPortalSession } from './portal-session.ts'

// No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
export function signOut(parts: Pick<Parts, 'store'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    await endPortalSession(parts, request, reply)
    return reply.redirect('/signed-out', 303)
  }
}
