// POST /logout: ends the session here, and at the portal where it offers that.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contextOf, logAsVisitor, logEvent } from '../operations/request-log.ts'
import { expireHandover } from '../web/hand-over.ts'
import { expire, setCookies } from '../web/seal.ts'
import { revokeTokens } from './protocol/tokens.ts'
import { arrivedMark, signedOutMark } from './session/login-cookies.ts'
import { expireSessionCookies, openRefreshTokens, openSession } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'

export function createSignOut({ portal, sealer, logins, beforeSignOut }: Parts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { cookies } = request
    const session = openSession(sealer, cookies)
    if (session) logAsVisitor(request, session.visitorId)
    await beforeSignOut?.(session, request)
    setCookies(reply, [
      ...expireSessionCookies(sealer, cookies),
      ...logins.expireAll(cookies),
      ...expireHandover(cookies),
      expire(arrivedMark.name),
      signedOutMark,
    ])
    await revoke(request)
    logEvent(request, 'signed_out')
    return reply.redirect('/', 303)
  }

  /** Whoever signs out is signed out here, whatever the portal says. */
  async function revoke(request: FastifyRequest): Promise<void> {
    const tokens = openRefreshTokens(sealer, request.cookies)
    const context = contextOf(request)
    if (tokens.length === 0 || !(await portal.readMetadata(context)).revokes) return
    const results = await Promise.allSettled(tokens.map(({ value }) => revokeTokens(portal, value, context)))
    if (results.some(({ status }) => status === 'rejected')) logEvent(request, 'revocation_failed', { level: 'warn' })
  }
}
