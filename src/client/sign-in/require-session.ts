// Lets signed-in visitors through to the pages behind it, and everyone else to the login and back.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { contextOf, countRefresh, logAsVisitor, logEvent } from '../operations/request-log.ts'
import type { RequestContext } from '../upstream.ts'
import { OtherAnswer } from '../web/error-pages.ts'
import { afterSetting, type Cookies, setCookies } from '../web/seal.ts'
import { localPath } from '../web/security.ts'
import { type ShownVisitor, showGoOn } from '../web/views.ts'
import { askToSignIn, isKeptBack } from './ask-to-sign-in.ts'
import { describeVisitor, type Restored } from './session/session.ts'
import { expireSessionCookies, type Session } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'
import { inWords } from './words.ts'

/** On whose behalf a call is made: the access token goes to the API, and what `context` holds goes along. */
export type Caller = {
  accessToken: string
  userId: string | undefined
  context: RequestContext
  /** Where the portal was asked to renew the session for this request, a page leaves out what it can do without. */
  hasRenewed: boolean
}

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

/**
 * For a visitor who signs in or out with this request: `call` renews nothing. `cookies`: what the browser has after a
 * sign-in, or before a sign-out.
 */
export function visitorWith(session: Session, cookies: Cookies, request: FastifyRequest): Visitor {
  const shown = describeVisitor(session, cookies)
  const { accessToken } = session
  const caller = { accessToken, userId: shown.userId, context: contextOf(request), hasRenewed: false }
  return { ...shown, call: work => work(caller) }
}

export function createRequireSession({ sessions, sealer, home, portal }: Parts) {
  const signInNeeded = () => new OtherAnswer((request, reply) => askToSignIn(request, reply, { home, portal }))

  /** For pages that anyone may see, and that know who is signed in. */
  async function optional(request: FastifyRequest, reply: FastifyReply) {
    if (isKeptBack(request)) throw new OtherAnswer((_, reply) => showGoOn(reply, localPath(request.url) ?? '/'))
    const { visitor, cookies } = sessions.look(request.cookies)
    setCookies(reply, cookies)
    request.setDecorator('visitor', visitor)
  }

  async function required(request: FastifyRequest, reply: FastifyReply) {
    const context = contextOf(request)
    const restored = await settle(sessions.restore(request.cookies, context), request, reply)
    const { session, event } = restored
    // Those that the browser has after this answer: only their refresh token is still good.
    let cookies = afterSetting(request.cookies, restored.cookies)
    const shown = describeVisitor(session, cookies)
    const hasRenewed = event === 'session_renewed' || event === 'session_not_renewed'
    let caller: Caller = { accessToken: session.accessToken, userId: shown.userId, context, hasRenewed }

    async function call<T>(work: (caller: Caller) => Promise<T>): Promise<T> {
      try {
        return await work(caller)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
      }
      logEvent(request, 'access_token_refused', { level: 'warn' })
      const replaced = await settle(sessions.replace(cookies, context), request, reply)
      cookies = afterSetting(cookies, replaced.cookies)
      caller = { ...caller, accessToken: replaced.session.accessToken }
      try {
        return await work(caller)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        setCookies(reply, expireSessionCookies(sealer, cookies))
        throw signInNeeded()
      }
    }
    request.setDecorator('visitor', { ...shown, call } satisfies Visitor)
  }

  /** Tells the browser and the log what has become of the session. Throws where there is none to go on with. */
  async function settle(restoring: Promise<Restored>, request: FastifyRequest, reply: FastifyReply) {
    const restored = await restoring.catch(error => {
      throw inWords(error)
    })
    const { session, cookies, visitorId = session?.visitorId, event, cause } = restored
    setCookies(reply, cookies)
    if (visitorId) logAsVisitor(request, visitorId)
    if (event) {
      logEvent(request, event, { cause })
      countRefresh(request, event.slice('session_'.length))
    }
    if (!session) throw signInNeeded()
    return { ...restored, session }
  }

  return { required, optional }
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof PublicError && error.statusCode === 401
}
