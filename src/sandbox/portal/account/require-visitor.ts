// Lets signed-in visitors in, and shows everybody else the page to sign in, which leads back here.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { isId } from '../../values/is-id.ts'
import { setPageHeaders } from '../../web/page-headers.ts'
import { findVisitor, type Visitor } from '../portal-session.ts'
import { showSignInPage } from '../sign-in-page.ts'

const decoratorName = 'accountVisitor'

/** Who is signed in; only in a scope that called requireVisitor. */
export function visitorOf(request: FastifyRequest): Visitor {
  return request.getDecorator<Visitor>(decoratorName)
}

/** Guards every route of the scope. Each path has a GET, so that a form sent after the session ended leads to its page. */
export function requireVisitor(scope: FastifyInstance, parts: Pick<Services, 'store' | 'keyRing' | 'clock'>): void {
  scope.decorateRequest(decoratorName, null)
  scope.addHook('onRequest', async (request, reply) => {
    const visitor = await findVisitor(parts, request)
    if (visitor) {
      request.setDecorator<Visitor>(decoratorName, visitor)
      setPageHeaders(reply, { hasScript: true })
      return
    }
    const purpose = { returnTo: pathOf(request), applicationName: undefined, formTargets: [] }
    if (request.method === 'GET') return reply.send(await showSignInPage(reply, parts, purpose))
    const problem = 'You were signed out in the meantime, so nothing was changed. Sign in and try again.'
    return reply.status(403).send(await showSignInPage(reply, parts, purpose, { signIn: { problem } }))
  })
}

/** Answers with a page of the account; `data.title` is needed. */
export function showAccountPage(reply: FastifyReply, page: string, data: { title: string } & Record<string, unknown>) {
  const { request } = reply
  return reply.viewAsync(page, { isWide: true, visitor: visitorOf(request), path: pathOf(request), ...data })
}

/** Of this page: the pattern of its route, with ids in their places, and so never anything else that a stranger typed. */
export function pathOf(request: FastifyRequest): string {
  const parameters = Object.entries(request.params as Record<string, string>)
  if (!parameters.every(([, value]) => isId(value))) return '/account'
  return parameters.reduce(
    (path, [name, value]) => path.replace(`:${name}`, value),
    request.routeOptions.url ?? '/account',
  )
}
