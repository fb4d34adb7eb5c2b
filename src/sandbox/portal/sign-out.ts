// Signing out of the portal in this browser; what applications were given goes on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { takeNotice } from './notice.ts'
import { endPortalSession, findVisitor } from './portal-session.ts'

export const signedOutPath = '/signed-out'

export function signOutRoutes(parts: Pick<Services, 'store' | 'clock' | 'keyRing'>) {
  /** For applications to link to: they cannot end this session, and signing in to them again asks for nothing while it lasts. */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    return reply.viewAsync('sign-out', { title: 'Sign out', user: await findVisitor(parts, request) })
  }

  // No form token: the cross-site guard keeps strangers out, and who is signed out by mistake signs in again.
  async function signOut(request: FastifyRequest, reply: FastifyReply) {
    await endPortalSession(parts, request, reply)
    return reply.redirect(signedOutPath, 303)
  }

  /** Where signing out leads, here and everywhere. Somebody who opens it while signed in is asked whether to sign out. */
  async function showSignedOut(request: FastifyRequest, reply: FastifyReply) {
    if (await findVisitor(parts, request)) return reply.redirect('/sign-out', 303)
    const isEverywhere = takeNotice(parts, reply, { path: signedOutPath }) !== undefined
    return reply.viewAsync('signed-out', { title: isEverywhere ? 'Signed out everywhere' : 'Signed out', isEverywhere })
  }

  return { show, signOut, showSignedOut }
}
