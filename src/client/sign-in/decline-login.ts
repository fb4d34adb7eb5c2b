// GET /cancelled: the visitor declined at the portal, which sent the browser to the cancel_url of the specification.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { logEvent } from '../operations/request-log.ts'
import { setCookies } from '../web/cookies.ts'
import { showMessage } from '../web/views.ts'
import { expireLoginCookie, openLogin } from './session/login-cookies.ts'
import type { Parts } from './sign-in.ts'

export function createDeclineLogin({ sealer }: Parts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    // The portal may add the state, and need not.
    const { state } = request.query as { state?: unknown }
    if (typeof state === 'string' && openLogin(sealer, request.cookies, state))
      setCookies(reply, [expireLoginCookie(state)])
    return showDeclined(reply)
  }
}

export function showDeclined(reply: FastifyReply) {
  logEvent(reply.request, 'login_declined')
  return showMessage(reply, {
    title: 'You did not sign in',
    message:
      'You declined at the login portal, so nothing was shared with this site. You can sign in whenever you like.',
    nextStep: { href: '/login', text: 'Sign in' },
  })
}
