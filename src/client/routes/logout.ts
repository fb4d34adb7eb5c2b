// Signing out: POST /logout ends the session here, and at the portal where it offers that.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PortalMetadata } from '../oauth/metadata.ts'
import type { Portal } from '../oauth/portal.ts'
import { revokeTokens } from '../oauth/refresh-tokens.ts'
import { logEvent } from '../operations/request-log.ts'
import { arrivedMark, expire, signedOutMark } from '../session/cookies.ts'
import { endLogin, pendingStates } from '../session/login-cookies.ts'
import type { Sealer } from '../session/seal.ts'
import { endSession, openGrants, openSession } from '../session/session-cookies.ts'
import { endHandover } from '../web/forms.ts'
import { contextOf } from '../web/request-context.ts'
import { setCookies } from '../web/set-cookies.ts'

type Parts = { portal: Portal; metadata: PortalMetadata; sealer: Sealer }

export function logoutRoutes({ portal, metadata, sealer }: Parts) {
  return {
    async signOut(request: FastifyRequest, reply: FastifyReply) {
      const { cookies } = request
      setCookies(reply, [
        ...endSession(cookies),
        ...pendingStates(cookies).map(endLogin),
        ...endHandover(cookies),
        expire(arrivedMark.name),
        signedOutMark,
      ])
      const grants = openGrants(sealer, cookies)
      if (grants.length > 0 && (await metadata.read(contextOf(request))).revokes) {
        const revocations = grants.map(({ refreshToken }) => revokeTokens(portal, refreshToken, contextOf(request)))
        // Whoever signs out is signed out here, whatever the portal says.
        const results = await Promise.allSettled(revocations)
        if (results.some(({ status }) => status === 'rejected'))
          logEvent(request, 'revocation_failed', { level: 'warn' })
      }
      logEvent(request, 'signed_out', { visitorId: openSession(sealer, cookies)?.visitorId })
      return reply.redirect('/', 303)
    },
  }
}
