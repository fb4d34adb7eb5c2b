// Answers a request that needs a session but has none. Leads the visitor to the login, and keeps the text that the
// visitor typed.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NextStep } from '../errors.ts'
import { callContext } from '../operations/request-log.ts'
import { expire, setCookies } from '../web/cookies.ts'
import { prefersJson } from '../web/error-pages.ts'
import { renderContinuePage } from '../web/pages.ts'
import { localPath, maxLinkLength } from '../web/security.ts'
import type { Portal } from './protocol/portal.ts'
import { arrivedCookie, hasSignedOut } from './session/login-cookies.ts'
import { hasSessionCookie } from './session/session-cookies.ts'

type AskToSignInOptions = {
  portal: Portal
  /** The path of the page that a login leads to if the address of the request is not a local path. */
  home: string
}

/** Sends a page, a redirect, or JSON if the request prefers JSON. */
export async function askToSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { portal, home }: AskToSignInOptions,
): Promise<FastifyReply> {
  // If the session ended while the handler ran, the request still has a visitor. This visitor is removed, so that the
  // page does not say that somebody is signed in.
  request.visitorIfAny = undefined
  const texts = request.texts.signIn
  if (prefersJson(request)) {
    const error = { code: 'sign_in_required', message: texts.signInRequired, requestId: request.id }
    return reply.code(401).send({ error })
  }
  const { form } = request.routeOptions.config
  if (form) {
    const nextStep = loginLink(form.pathOf(request), texts.signInAndContinue)
    return reply.send(await form.keepDraft(request, reply, nextStep))
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return reply.send(await renderNothingDone(reply, home))
  if (mayWithholdCookies(request)) return reply.send(await continueTo(request, reply, home))
  const path = localPath(request.url) ?? home
  if (arrivedCookie.name in request.cookies) return reply.send(await renderCouldNotStaySignedIn(request, reply, path))
  if (hasSignedOut(request)) return reply.send(await renderSignedOutPage(request, reply, portal, path))
  return reply.redirect(loginLink(path, texts.signIn).href, 302)
}

/**
 * Whether the browser might have Strict cookies that it did not send. If the visitor follows a link on another site,
 * the browser does not send Strict cookies. If the visitor follows a link on this site, the browser sends them.
 */
export function mayWithholdCookies({ method, headers, cookies }: FastifyRequest): boolean {
  const isLinkOnAnotherSite = (method === 'GET' || method === 'HEAD') && headers['sec-fetch-site'] === 'cross-site'
  return isLinkOnAnotherSite && !hasSessionCookie(cookies)
}

/** Renders a page that opens the address of this request again. The browser then sends its Strict cookies. */
export function continueTo(request: FastifyRequest, reply: FastifyReply, otherPath: string): Promise<string> {
  return renderContinuePage(reply, localPath(request.url, maxLinkLength) ?? otherPath)
}

/**
 * Answers a request whose method is not GET or HEAD. A login could not lead back to this request, so the visitor has to
 * start again on the home page.
 */
function renderNothingDone(reply: FastifyReply, home: string): Promise<string> {
  const { web, signIn } = reply.request.texts
  const { sessionEnded, nothingDone } = web.form
  return reply
    .code(401)
    .message({ title: sessionEnded, message: nothingDone, nextStep: loginLink(home, signIn.signIn) })
}

/** Answers a visitor who has just signed in, but has no session. Another login would lead to this page again. */
function renderCouldNotStaySignedIn(request: FastifyRequest, reply: FastifyReply, path: string): Promise<string> {
  setCookies(reply, [expire(arrivedCookie.name)])
  const { couldNotStaySignedIn: texts, signIn } = request.texts.signIn
  const message = hasSessionCookie(request.cookies) ? texts.refused : texts.noCookie
  return reply.code(401).message({ title: texts.title, message, nextStep: loginLink(path, signIn) })
}

/**
 * Renders a page that asks the visitor to sign in again after a sign-out. A redirect to the login is not enough,
 * because the portal could sign the visitor in without asking.
 */
export async function renderSignedOutPage(
  request: FastifyRequest,
  reply: FastifyReply,
  portal: Portal,
  returnTo: string,
): Promise<string> {
  const portalSignOut = await portal.findSignOutPage(callContext(request))
  const { signedOut, signIn } = request.texts.signIn
  return reply
    .code(401)
    .message({
      title: signedOut.title,
      message: signedOut.message,
      nextStep: loginLink(returnTo, signIn),
      hasSignedOut: true,
      portalSignOut,
    })
}

/** Makes a link to a login. After this login, the browser opens `path`. */
export function loginLink(path: string, text: string): NextStep {
  return { href: `/login?${new URLSearchParams({ returnTo: path })}`, text }
}
