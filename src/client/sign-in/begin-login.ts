// GET /login: remembers the login in a cookie of this browser, and sends the browser to the portal.

import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contextOf } from '../operations/request-log.ts'
import { setCookies } from '../web/cookies.ts'
import { isVisitorsChoice } from '../web/cross-site-guard.ts'
import { localPath } from '../web/local-path.ts'
import { hasSignedOut, showSignedOut } from './ask-to-sign-in.ts'
import { authorizeUrl } from './protocol/authorization.ts'
import { startLogin } from './session/login-cookies.ts'
import type { Parts } from './sign-in.ts'

export function createBeginLogin({ portal, sealer, clock, home }: Parts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const returnTo = localPath((request.query as { returnTo?: unknown }).returnTo) ?? home
    if (hasSignedOut(request) && !isVisitorsChoice(request, portal.redirectUri)) return showSignedOut(reply, returnTo)

    // RFC 6749 10.12: 128 random bits, which nobody guesses.
    const state = randomBytes(16).toString('base64url')
    const { usesPkce } = await portal.readMetadata(contextOf(request))
    const codeVerifier = usesPkce ? randomBytes(32).toString('base64url') : undefined
    setCookies(reply, startLogin(sealer, request.cookies, state, { returnTo, codeVerifier }, clock()))
    return reply.redirect(authorizeUrl(portal, state, codeVerifier), 302)
  }
}
