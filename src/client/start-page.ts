// Yours: the start page, GET /. What this is, and the way in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignIn } from './sign-in/sign-in.ts'
import { showPage } from './web/views.ts'

export function createStartPage({ visitorIfAny, hasSignedOut }: SignIn) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const isSignedIn = visitorIfAny(request) !== undefined
    return showPage(reply, 'home', { title: 'Start', hasSignedOut: !isSignedIn && hasSignedOut(request) })
  }
}
