// The two hooks that give a request its visitor: `protect` requires a session, `recognise` does not.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { callContext } from '../operations/request-log.ts'
import { dropBody, hasBodyOtherThanForm } from '../web/bodies.ts'
import { setCookies } from '../web/cookies.ts'
import { sendContinuePage } from '../web/pages.ts'
import { localPath } from '../web/security.ts'
import { SignInRequired } from './api.ts'
import { askToSignIn, mayWithholdCookies } from './ask-to-sign-in.ts'
import { applyLoadedSession, type Visitors } from './create-visitor.ts'
import type { Portal } from './protocol/portal.ts'
import type { Sessions } from './session/session.ts'

type VisitorHooksOptions = {
  portal: Portal
  sessions: Sessions
  visitors: Visitors
  /** The page after a login without `returnTo`. */
  home: string
}

export function createVisitorHooks({ portal, sessions, visitors, home }: VisitorHooksOptions) {
  /**
   * Protects a scope. The routes of the scope have `request.visitor`, and visitors without a session are redirected or
   * asked to sign in.
   *
   * A preHandler checks the session, after the body was parsed. If a form arrives without a session, the client can then keep what the visitor typed (PG-14). If any other body arrives without a session, onRequest refuses the request before the body is read. In onRequest
   * the code only unseals the cookies: if it renewed the session and the parser then refused the body, the new cookies
   * would be lost (RF-09).
   */
  function protect(scope: FastifyInstance): void {
    scope.addHook('onRequest', async (request, reply) => {
      if (!hasBodyOtherThanForm(request) || sessions.identify(request.cookies).visitor) return
      dropBody(request, reply)
      return askToSignIn(request, reply, { portal, home })
    })
    scope.addHook('preHandler', async (request, reply) => {
      const loaded = await sessions.load(request.cookies, callContext(request))
      applyLoadedSession(loaded, request, reply)
      if (!loaded.session) return askToSignIn(request, reply, { portal, home })
      const { visitor, currentSession } = visitors.createVisitor(request, reply, loaded.session, loaded)
      request.visitorIfAny = visitor
      await visitors.addSessionData(request, reply, currentSession)
    })
    scope.setErrorHandler(async (error, request, reply) => {
      if (error instanceof SignInRequired) return askToSignIn(request, reply, { portal, home })
      throw error
    })
  }

  /**
   * A preHandler for public pages: `request.visitorIfAny` is the signed-in visitor, if any. This preHandler does not call
   * the portal.
   */
  async function recognise(request: FastifyRequest, reply: FastifyReply) {
    if (mayWithholdCookies(request)) return reply.send(await sendContinuePage(reply, localPath(request.url) ?? '/'))
    const { visitor, cookies } = sessions.identify(request.cookies)
    setCookies(reply, cookies)
    request.visitorIfAny = visitor
  }

  return { protect, recognise }
}
