// What a visitor without a session gets in place of a signed-in page: the way to the login, and nothing lost.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NextStep } from '../errors.ts'
import { contextOf } from '../operations/request-log.ts'
import { formOf } from '../web/forms.ts'
import { expire, setCookies } from '../web/seal.ts'
import { isFromAnotherSite, localPath } from '../web/security.ts'
import { showGoOn, showMessage } from '../web/views.ts'
import { arrivedMark, hasSignedOut } from './session/login-cookies.ts'
import { hasSessionCookie } from './session/session-cookies.ts'
import type { Parts } from './sign-in.ts'

/** An answer that has left, or a page. */
type Shown = FastifyReply | Promise<string>

/** `home`: where a login ends that began on no page of ours. */
export function askToSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { home, portal }: Pick<Parts, 'home' | 'portal'>,
): Shown {
  // The session may have ended while a handler ran: no page may still say who is signed in.
  request.setDecorator('visitor', undefined)
  const form = formOf(request)
  if (form) return form.interrupt(request, reply, signInTo(form.pathOf(request), 'Sign in and continue'))
  const here = localPath(request.url) ?? home
  if (isKeptBack(request)) return showGoOn(reply, here)

  const nextStep = signInTo(here, 'Sign in')
  if (arrivedMark.name in request.cookies) {
    // Said once: the next page finds neither the mark nor the session that this answer takes away.
    setCookies(reply, [expire(arrivedMark.name)])
    const why = hasSessionCookie(request.cookies)
      ? 'the platform no longer accepts this sign-in. You may have withdrawn it. Please sign in again.'
      : 'your browser did not keep this site’s cookie. Please allow cookies for this site and try again.'
    const title = 'You could not stay signed in'
    return showMessage(reply.code(401), { title, message: `You have just signed in, but ${why}`, nextStep })
  }
  if (hasSignedOut(request)) return showSignedOut(request, reply, portal, here)
  return reply.redirect(nextStep.href, 302)
}

/** A link in a mail: the browser keeps the Strict cookies back until it comes from a page of ours. */
export function isKeptBack(request: FastifyRequest): boolean {
  return isFromAnotherSite(request) && !hasSessionCookie(request.cookies)
}

/** In place of a login that the visitor did not choose (docs/decisions/005). */
export async function showSignedOut(
  request: FastifyRequest,
  reply: FastifyReply,
  portal: Parts['portal'],
  returnTo: string,
): Promise<string> {
  const portalSignOut = await portal.findSignOutPage(contextOf(request))
  const nextStep = signInTo(returnTo, 'Sign in')
  const message = 'Sign in to see this page.'
  const title = 'You are signed out'
  return showMessage(reply.code(401), { title, message, nextStep, hasSignedOut: true, portalSignOut })
}

export function signInTo(path: string, text: string): NextStep {
  return { href: `/login?${new URLSearchParams({ returnTo: path })}`, text }
}
