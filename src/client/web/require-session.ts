// Lets signed-in visitors through to the pages behind it, and everyone else to the login and back.
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import type { CallAsVisitor } from '../application-api.ts'
import { PublicError } from '../errors.ts'
import { logEvent } from '../operations/request-log.ts'
import { afterSetting, type Cookies } from '../session/cookies.ts'
import { endSession, type Session } from '../session/session-cookies.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { contextOf } from './request-context.ts'
import { setCookies } from './set-cookies.ts'

export type ActiveSession = {
  visitorId: string
  /** When the visitor has to sign in again, as far as this client can know. */
  expiresAt: Date
  /**
   * Calls the application API as this visitor. Where the API refuses the access token, it is renewed once and the call
   * made once more: a refused call did nothing.
   */
  call: CallAsVisitor
}

/** Thrown where a page needs a visitor who is signed in; the error handler leads to the login. */
export class SignInNeeded extends Error {}

/** Undefined on the pages that anyone may see. */
export function sessionOf(request: FastifyRequest): ActiveSession | undefined {
  // Not getDecorator: a request whose address cannot be decoded has no decorators, and is answered all the same.
  return (request as { session?: ActiveSession }).session
}

/** The visitor of a page behind `requireSession`. */
export function visitorOf(request: FastifyRequest): ActiveSession {
  const session = sessionOf(request)
  if (!session) throw new Error('A page for signed-in visitors is registered outside their scope.')
  return session
}

export function requireSession(keeper: SessionKeeper): preHandlerAsyncHookHandler {
  return async (request, reply) => {
    const { session, cookies, event, visitorId, cause } = await keeper.restore(request.cookies, contextOf(request))
    setCookies(reply, cookies)
    if (event) logEvent(request, event, { visitorId, cause })
    if (!session) throw new SignInNeeded()
    request.setDecorator('session', activate(keeper, session, afterSetting(request.cookies, cookies), request, reply))
  }
}

/** `cookies`: what the browser will have after this answer. The refresh token among them is the one that is good. */
function activate(
  keeper: SessionKeeper,
  session: Session,
  cookies: Cookies,
  request: FastifyRequest,
  reply: FastifyReply,
): ActiveSession {
  const { visitorId } = session
  let { accessToken } = session
  const context = contextOf(request)
  const callOnce: CallAsVisitor = work => work({ ...context, accessToken })

  return {
    visitorId,
    expiresAt: keeper.endOf(cookies, session),
    async call(work) {
      try {
        return await callOnce(work)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
      }
      const replaced = await keeper.replace(cookies, context)
      setCookies(reply, replaced.cookies)
      cookies = afterSetting(cookies, replaced.cookies)
      logEvent(request, 'access_token_refused', { level: 'warn' })
      if (replaced.event) logEvent(request, replaced.event, { cause: replaced.cause })
      if (!replaced.session) throw new SignInNeeded()
      accessToken = replaced.session.accessToken
      try {
        return await callOnce(work)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        setCookies(reply, endSession(cookies))
        throw new SignInNeeded()
      }
    },
  }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof PublicError && error.code === 'api_unauthorized'
}
