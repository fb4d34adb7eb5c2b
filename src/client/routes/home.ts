// The start page: what this is, and the way in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { signedOutMark } from '../session/cookies.ts'
import type { Sealer } from '../session/seal.ts'
import { endOf, endOtherGrants, hasSession, openGrants, openSession } from '../session/session-cookies.ts'
import { isFromAnotherSite } from '../web/cross-site-guard.ts'
import { setCookies } from '../web/set-cookies.ts'
import { showGoOn, showPage } from '../web/views.ts'

export function homeRoutes({ sealer }: { sealer: Sealer }) {
  return {
    async show(request: FastifyRequest, reply: FastifyReply) {
      const { cookies } = request
      if (isFromAnotherSite(request) && !hasSession(cookies)) return showGoOn(reply, '/')
      const opened = openSession(sealer, cookies)
      if (opened) setCookies(reply, endOtherGrants(cookies, opened))
      const session = opened && { ...opened, expiresAt: endOf(sealer, cookies, opened) }
      // What lacks only an access token is renewed where one is needed.
      const isSignedIn = session !== undefined || openGrants(sealer, cookies).length > 0
      const hasSignedOut = !isSignedIn && signedOutMark.name in cookies
      return showPage(reply, 'home', { title: 'Start', session, isSignedIn, hasSignedOut })
    },
  }
}
