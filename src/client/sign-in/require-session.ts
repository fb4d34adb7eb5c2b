// Lets signed-in visitors through to the pages behind it, and everyone else to the login and back.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { contextOf, logAsVisitor, logEvent } from '../operations/request-log.ts'
import type { RequestContext } from '../upstream.ts'
import { OtherAnswer } from '../web/error-pages.ts'
import { afterSetting, type Cookies, setCookies } from '../web/seal.ts'
import { localPath } from '../web/security.ts'
import { type ShownVisitor, showGoOn } from '../web/views.ts'
import { askToSignIn, isKeptBack } from './ask-to-sign-in.ts'
import { readSubject } from './protocol/tokens.ts'
import { expireSessionCookies, type Session } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'
import { inWords } from './words.ts'

/** On whose behalf a call is made: the access token goes to the API, the request id into its log. */
export type Caller = Context & { accessToken: string; userId: string | undefined }

/** Where the portal was asked to renew the session for this request, a page leaves out what it can do without. */
type Context = RequestContext & { hasRenewed?: boolean }

/** Makes a call as the visitor. `work` throws a PublicError of status 401 where the API refuses the access token. */
export type CallAsVisitor = <T>(work: (caller: Caller) => Promise<T>) => Promise<T>

/**
 * `userId` is the subject of the access token, and undefined where that tells none. `visitorId` tells sessions apart:
 * without a subject it is random and new with each login, so nothing is to be stored under it.
 */
export type Visitor = ShownVisitor & {
  /** Where the API refuses the access token, it is renewed once and the call made again: a refused call did nothing. */
  call: CallAsVisitor
}

/** The visitor of a page behind `signIn.required`. */
export function visitorOf(request: FastifyRequest): Visitor {
  const visitor = visitorIfAny(request)
  if (!visitor || !('call' in visitor))
    throw new Error('A page for signed-in visitors is registered outside their scope.')
  return visitor as Visitor
}

/** Who is signed in. Undefined for a stranger, and on pages that use neither hook. */
export function visitorIfAny(request: FastifyRequest): ShownVisitor | undefined {
  // Not getDecorator: a request whose address cannot be decoded has no decorators, and is answered all the same.
  return (request as { visitor?: ShownVisitor }).visitor
}

export function createRequireSession({ sessions, home }: Parts) {
  const signInNeeded = () => new OtherAnswer((request, reply) => askToSignIn(request, reply, home))

  /** For pages that anyone may see, and that know who is signed in. */
  async function optional(request: FastifyRequest, reply: FastifyReply) {
    if (isKeptBack(request)) throw new OtherAnswer((_, reply) => showGoOn(reply, localPath(request.url) ?? '/'))
    const { visitor, cookies } = sessions.look(request.cookies)
    setCookies(reply, cookies)
    request.setDecorator('visitor', visitor)
  }

  async function required(request: FastifyRequest, reply: FastifyReply) {
    const restored = await sessions.restore(request.cookies, contextOf(request)).catch(error => {
      throw inWords(error)
    })
    const { session, cookies, event, cause } = restored
    const visitorId = session?.visitorId ?? restored.visitorId
    setCookies(reply, cookies)
    if (visitorId) logAsVisitor(request, visitorId)
    if (event) logEvent(request, event, { cause })
    if (!session) throw signInNeeded()
    const hasRenewed = event === 'session_renewed' || event === 'session_not_renewed'
    const context = { ...contextOf(request), hasRenewed }
    request.setDecorator('visitor', activate(session, afterSetting(request.cookies, cookies), context, request, reply))
  }

  /** `cookies`: those that the browser has after this answer; only their refresh token is still good. */
  function activate(
    session: Session,
    cookies: Cookies,
    context: Context,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Visitor {
    const visitor = describeVisitor(session, context, sessions.endOf(cookies, session))

    async function call<T>(work: (caller: Caller) => Promise<T>): Promise<T> {
      try {
        return await visitor.call(work)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
      }
      const { userId } = visitor
      const replaced = await sessions.replace(cookies, context).catch(error => {
        throw inWords(error)
      })
      setCookies(reply, replaced.cookies)
      cookies = afterSetting(cookies, replaced.cookies)
      logEvent(request, 'access_token_refused', { level: 'warn' })
      if (replaced.event) logEvent(request, replaced.event, { cause: replaced.cause })
      if (!replaced.session) throw signInNeeded()
      visitor.call = callWith({ ...context, userId, accessToken: replaced.session.accessToken })
      try {
        return await visitor.call(work)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        setCookies(reply, expireSessionCookies(cookies))
        throw signInNeeded()
      }
    }
    return { ...visitor, call }
  }

  return { required, optional }
}

/** The visitor of this session, whose `call` renews nothing. */
export function describeVisitor(session: Session, context: Context, expiresAt = session.expiresAt): Visitor {
  const { accessToken, visitorId, name } = session
  const userId = readSubject(accessToken)
  return { userId, visitorId, name, expiresAt, call: callWith({ ...context, userId, accessToken }) }
}

function callWith(caller: Caller): CallAsVisitor {
  return work => work(caller)
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof PublicError && error.statusCode === 401
}
