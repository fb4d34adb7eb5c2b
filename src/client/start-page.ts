// Yours: the start page, GET /. What this is, and the way in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn } from './sign-in/sign-in.ts'
import { showPage } from './web/views.ts'

export function createStartPage({ visitorIfAny, hasSignedOut, findPortalSignOut }: SignIn) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (visitorIfAny(request) || !hasSignedOut(request)) return showPage(reply, 'home', { title: 'Start' })
    const portalSignOut = await findPortalSignOut(request)
    return showPage(reply, 'home', { title: 'Start', hasSignedOut: true, portalSignOut })
  }
}
