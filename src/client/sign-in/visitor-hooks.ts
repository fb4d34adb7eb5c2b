// Two functions that set the visitor of a request: `protect` requires a session, and `recognise` does not.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { callContext, countRefresh } from '../operations/request-log.ts'
import { dropBody, hasBodyThatNeedsSession } from '../web/bodies.ts'
import { setCookies } from '../web/cookies.ts'
import { prefersJson } from '../web/error-pages.ts'
import { SignInRequired } from './api.ts'
import { askToSignIn, continueTo, mayWithholdCookies } from './ask-to-sign-in.ts'
import { applyLoadedSession, type Visitors } from './create-visitor.ts'
import type { Portal } from './protocol/portal.ts'
import { queueCookies, queuedCookies } from './session/queued-cookies.ts'
import type { LoadedSession, Sessions } from './session/session.ts'

type VisitorHooksOptions = {
  portal: Portal
  sessions: Sessions
  visitors: Visitors
  /** A login without `returnTo` leads to the page with this path. */
  home: string
}

export function createVisitorHooks({ portal, sessions, visitors, home }: VisitorHooksOptions) {
  /**
   * Protects a scope. The handlers of this scope can read `request.visitor`. Visitors without a session are redirected
   * to the login or asked to sign in.
   *
   * A preHandler checks the session after the body has been parsed. So if a form arrives without a session, the client
   * can keep the text that the visitor typed (PG-14). If another kind of body arrives without a session, the onRequest
   * hook refuses the request before the body is read. The onRequest hook unseals the cookies, but does not renew the
   * session. If the parser refused the body after a renewal, the new cookies would be lost (RF-09).
   */
  function protect(scope: FastifyInstance): void {
    scope.addHook('onRequest', async (request, reply) => {
      if (!hasBodyThatNeedsSession(request) || sessions.identify(request.cookies).visitor) return
      dropBody(request, reply)
      return askToSignIn(request, reply, { portal, home })
    })
    scope.addHook('preHandler', async (request, reply) => {
      const { form } = request.routeOptions.config
      let loaded: LoadedSession
      try {
        loaded = await sessions.load(request.cookies, callContext(request))
      } catch (error) {
        countRefresh(request, 'not_renewed')
        if (!form || !(error instanceof PublicError) || prefersJson(request)) throw error
        // The session may still be valid. If the visitor sends the form again later, the client can renew the session.
        return reply.send(await form.showAgain(request, reply, error))
      }
      applyLoadedSession(loaded, request)
      if (!loaded.session) return askToSignIn(request, reply, { portal, home })
      // If `event` is set, the client has tried to renew the session.
      const wasRenewalTried = loaded.event !== undefined
      const { visitor, currentSession } = visitors.createVisitor(request, reply, loaded.session, wasRenewalTried)
      queueCookies(request, await visitors.setVisitor(request, visitor, currentSession))
    })
    scope.addHook('onSend', async (request, reply) => {
      // A hook of the product that did not finish in time may still be renewing the session. If the response did not
      // wait for the new cookies, the new tokens would be lost. If the renewal fails, the hook gets the error.
      await request.renewal?.catch(() => undefined)
      request.hasSetCookies = true
      // In the meantime, the visitor may have signed out in another tab, or another request may have renewed the
      // session. If this process handled that sign-out or renewal, it does not send the cookies queued for this answer.
      const cookies = queuedCookies(request)
      if (cookies.length === 0 || sessions.isOutdated(request.cookies, cookies, request.receivedAtMs)) return
      setCookies(reply, cookies)
    })
    scope.setErrorHandler(async (error, request, reply) => {
      if (error instanceof SignInRequired) return askToSignIn(request, reply, { portal, home })
      throw error
    })
  }

  /**
   * A preHandler for public pages. If a visitor is signed in, this function sets `request.visitorIfAny`, without a call
   * to the portal.
   */
  async function recognise(request: FastifyRequest, reply: FastifyReply) {
    if (mayWithholdCookies(request)) return reply.send(await continueTo(request, reply, '/'))
    const { visitor, cookies } = sessions.identify(request.cookies)
    setCookies(reply, cookies)
    request.visitorIfAny = visitor
  }

  return { protect, recognise }
}
