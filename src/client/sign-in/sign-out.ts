// POST /logout: ends the session here, and at the portal where it offers that.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contextOf, logAsVisitor, logEvent } from '../operations/request-log.ts'
import { expireHandover } from '../web/hand-over.ts'
import { expire, setCookies } from '../web/seal.ts'
import { revokeToken } from './protocol/tokens.ts'
import { arrivedMark, signedOutMark } from './session/login-cookies.ts'
import { expireSessionCookies, openRefreshTokens, openSession, type Session } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'

export function createSignOut({ portal, sealer, logins, beforeSignOut }: Parts) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { cookies } = request
    const session = openSession(sealer, cookies)
    if (session) logAsVisitor(request, session.visitorId)
    // First of all: the product's hook may use up all the time that this request has.
    const revoked = revoke(request, session)
    await beforeSignOut?.(session, request)
    setCookies(reply, [
      ...expireSessionCookies(sealer, cookies),
      ...logins.expireAll(cookies),
      ...expireHandover(cookies),
      expire(arrivedMark.name),
      signedOutMark,
    ])
    await revoked
    logEvent(request, 'signed_out')
    return reply.redirect('/', 303)
  }

  /** Never fails: the visitor is signed out here, whatever the portal answers. */
  async function revoke(request: FastifyRequest, session: Session | undefined): Promise<void> {
    const refreshTokens = openRefreshTokens(sealer, request.cookies)
    const tokens = refreshTokens.map(({ value }) => value)
    // A refresh token takes its access tokens with it. Only a session without one has an access token to revoke.
    const isRenewable = refreshTokens.some(({ cookieName }) => cookieName === session?.refreshCookieName)
    if (session && !isRenewable) tokens.push(session.accessToken)
    const context = contextOf(request)
    if (tokens.length === 0 || !(await portal.readMetadata(context)).revokes) return
    const results = await Promise.allSettled(tokens.map(token => revokeToken(portal, token, context)))
    if (results.some(({ status }) => status === 'rejected')) logEvent(request, 'revocation_failed', { level: 'warn' })
  }
}
