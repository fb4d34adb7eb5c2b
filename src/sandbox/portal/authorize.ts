// GET /: the start of a login. Leads to signing in, to consent, or straight back to the client.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { makeAllowedRedirect } from './code-redirect.ts'
import { showConsentPage } from './consent.ts'
import { isLoginRequest, readLoginRequest, startParameters, toLoginPath } from './login-request.ts'
import { longestText } from './longest-text.ts'
import { findVisitor } from './portal-session.ts'
import { showSignInPage } from './sign-in-page.ts'

export function authorizeRoutes(parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>) {
  // Nothing is stored for visitors who are not signed in: the request travels in the address and in the forms.
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const query = request.query as Record<string, unknown>
    // Somebody typed the portal's address: no client has sent them.
    if (!isLoginRequest(query)) return reply.redirect('/account', 303)
    const login = await readLoginRequest(parts, query, request)
    const visitor = await findVisitor(parts, request)
    noteAbout(request, { userId: visitor?.id })
    if (!visitor)
      return showSignInPage(reply, parts, {
        returnTo: toLoginPath(login),
        applicationName: login.application.name,
        formTargets: [new URL(login.redirectUri).origin, new URL(login.cancelUrl).origin],
      })
    const location = await makeAllowedRedirect(parts, login, { userId: visitor.id, proof: visitor.proof })
    if (location !== undefined) return reply.redirect(location, 303)
    return showConsentPage(reply, parts, login, visitor)
  }

  // A client may send the parameters as a form (RFC 6749 3.1). The browser keeps the portal's Lax cookie back from a form
  // of another site, and sends it when it follows the redirect.
  async function takeForm(request: FastifyRequest, reply: FastifyReply) {
    const fields = (request.body ?? {}) as Record<string, string | string[] | undefined>
    const query = new URLSearchParams()
    // What is repeated or too long stays so, and is refused like any other; two are enough for that, and one character.
    for (const name of startParameters)
      for (const value of [fields[name] ?? []].flat().slice(0, 2)) query.append(name, value.slice(0, longestText + 1))
    return reply.redirect(`/?${query}`, 303)
  }

  return { show, takeForm }
}
