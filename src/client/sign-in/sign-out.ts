// POST /logout: ends the session in this browser, and at the portal if the portal offers revocation.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callContext, logAsOwner, logEvent } from '../operations/request-log.ts'
import { expire, setCookies } from '../web/cookies.ts'
import { expireHandovers } from '../web/handover.ts'
import type { Sealer } from '../web/seal.ts'
import type { Portal } from './protocol/portal.ts'
import { arrivedCookie, type LoginCookies, signedOutCookie } from './session/login-cookies.ts'
import type { Sessions } from './session/session.ts'
import { expireSessionCookies, type Session, unsealRefreshTokens, unsealSession } from './session/session-cookies.ts'

type SignOutOptions = {
  portal: Portal
  sealer: Sealer
  loginCookies: LoginCookies
  sessions: Pick<Sessions, 'noteSignOut'>
  /** Runs the product's hook. Never throws. */
  runSignOutHook: (request: FastifyRequest, session: Session | undefined) => Promise<void>
}

export function createSignOut({ portal, sealer, loginCookies, sessions, runSignOutHook }: SignOutOptions) {
  async function signOut(request: FastifyRequest, reply: FastifyReply) {
    const { cookies } = request
    const session = unsealSession(sealer, cookies)
    if (session) logAsOwner(request, session.owner)
    // The revocation starts before the product's hook, because the hook may use up the time limit of this request.
    const revoked = revokeTokens(request, session)
    await runSignOutHook(request, session)
    setCookies(reply, [
      ...expireSessionCookies(sealer, cookies),
      ...loginCookies.expireAll(cookies),
      ...expireHandovers(cookies),
      expire(arrivedCookie.name),
      signedOutCookie,
    ])
    await revoked
    logEvent(request, 'signed_out')
    return reply.redirect('/', 303)
  }

  /** Never throws, because the visitor must be able to sign out even if the portal fails. */
  async function revokeTokens(request: FastifyRequest, session: Session | undefined): Promise<void> {
    const refreshTokens = unsealRefreshTokens(sealer, request.cookies)
    const tokens = refreshTokens.map(({ value }) => value)
    // Revoking a refresh token also makes its access tokens invalid. So the access token is revoked only if the session
    // has no refresh token.
    const hasRefreshToken = refreshTokens.some(({ cookieName }) => cookieName === session?.refreshCookieName)
    if (session && !hasRefreshToken) tokens.push(session.accessToken)
    sessions.noteSignOut(tokens)
    const context = callContext(request)
    const results = await Promise.allSettled(tokens.map(token => portal.revoke(token, context)))
    if (results.some(({ status }) => status === 'rejected')) logEvent(request, 'revocation_failed', { level: 'warn' })
  }

  return signOut
}
