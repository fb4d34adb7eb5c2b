// GET / starts a login. The portal shows the sign-in page or the consent page, or redirects the browser back to the
// client.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { issueAllowedCode } from '../grants/codes.ts'
import { isLoginRequest, readLoginRequest, startParameters } from '../grants/login-request.ts'
import { stepNotesOf } from '../observe/notes.ts'
import { noteAbout } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { longestStartBytes } from '../values/text-length.ts'
import { showConsentPage } from './consent.ts'
import { setStartAgain } from './error-pages.ts'
import { codeUrl, loginPath } from './login-urls.ts'
import { findVisitor } from './session.ts'
import { showSignInPage } from './sign-in.ts'

export function authorizeRoutes(services: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>) {
  // For visitors who are not signed in, the portal stores nothing: the address and the forms contain the request.
  async function show(request: FastifyRequest, reply: FastifyReply) {
    const query = request.query as Record<string, unknown>
    // If there are no parameters, the visitor has typed the portal's address: no client has sent the visitor here.
    if (!isLoginRequest(query)) return reply.redirect('/account', 303)
    const login = await readLoginRequest(services, query, stepNotesOf(request))
    setStartAgain(request, loginPath(login))
    const visitor = await findVisitor(services, request)
    noteAbout(request, { userId: visitor?.id })
    if (!visitor)
      return showSignInPage(reply, services, {
        returnTo: loginPath(login),
        applicationName: login.application.name,
        formTargets: [new URL(login.redirectUri).origin, new URL(login.cancelUrl).origin],
      })
    const user = { userId: visitor.id, proof: visitor.proof }
    const code = await issueAllowedCode(services, login, user)
    if (code === undefined) return showConsentPage(reply, services, login, visitor)
    return reply.redirect(codeUrl(login, { code, userId: visitor.id, issuer: services.addresses.portalUrl }), 303)
  }

  // A client can also send the parameters as a form (RFC 6749 3.1). If a page of another site sends the form, the
  // browser leaves out the portal's Lax cookie. When the browser then follows the redirect, it sends this cookie.
  async function takeForm(request: FastifyRequest, reply: FastifyReply) {
    const fields = (request.body ?? {}) as Record<string, string | string[] | undefined>
    const query = new URLSearchParams()
    // Do not correct mistakes here, such as a repeated parameter or a value that is too long. The portal finds and
    // refuses them after the redirect.
    for (const name of startParameters)
      for (const value of [fields[name] ?? []].flat().slice(0, 2)) query.append(name, cut(value))
    return reply.redirect(`/?${query}`, 303)
  }

  return { show, takeForm }
}

/**
 * Shortens a value that is too long. The portal still refuses the shortened value as too long, but the address of the
 * redirect stays short.
 */
function cut(value: string): string {
  return Buffer.from(value)
    .subarray(0, longestStartBytes + 1)
    .toString()
}
