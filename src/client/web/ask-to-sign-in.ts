// What a visitor without a session gets instead of a signed-in page: the way to the login, and nothing lost.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isClientKnownTo } from '../application-form.ts'
import { arrivedMark, expire, signedOutMark } from '../session/cookies.ts'
import { hasSession } from '../session/session-cookies.ts'
import { isFromAnotherSite } from './cross-site-guard.ts'
import { type Forms, readFields } from './forms.ts'
import { localPath } from './local-path.ts'
import { setCookies } from './set-cookies.ts'
import { showGoOn, showMessage, showPage } from './views.ts'

/** An answer that has left, or a page. */
type Shown = FastifyReply | Promise<string>

export function askToSignIn(forms: Forms, request: FastifyRequest, reply: FastifyReply): Shown {
  if (request.method !== 'GET') return keepForm(forms, request, reply)
  const here = localPath(request.url) ?? '/applications'
  // A link in a mail: the Strict cookies are kept back until the browser comes from a page of ours.
  if (isFromAnotherSite(request) && !hasSession(request.cookies)) return showGoOn(reply, here)

  const nextStep = signInTo(here, 'Sign in')
  if (arrivedMark.name in request.cookies) {
    // Said once: the next page finds neither the mark nor the session that this answer takes away.
    setCookies(reply, [expire(arrivedMark.name)])
    const why = hasSession(request.cookies)
      ? 'the platform does not accept this sign-in, or not any more: it may have been withdrawn. Please sign in again.'
      : 'your browser did not keep the cookie of this site. Please allow cookies for this site and try again.'
    const title = 'Signing in did not last'
    return showMessage(reply.code(401), { title, message: `You have just signed in, but ${why}`, nextStep })
  }
  if (signedOutMark.name in request.cookies) return showSignedOut(reply, here)
  return reply.redirect(nextStep.href, 302)
}

/** In place of a login that the visitor did not choose (docs/decisions/005). */
export function showSignedOut(reply: FastifyReply, returnTo = '/applications'): Shown {
  const nextStep = signInTo(returnTo, 'Sign in')
  return showMessage(reply.code(401), { title: 'You are signed out', message: 'Sign in to go on.', nextStep })
}

/** Keeps what was typed for after signing in. It is shown again then, and never sent without the visitor. */
function keepForm(forms: Forms, request: FastifyRequest, reply: FastifyReply): Shown {
  const { formPage } = request.routeOptions.config as { formPage?: (request: FastifyRequest) => string }
  const path = formPage?.(request) ?? '/applications'
  const { formToken, ...fields } = readFields(request.body)
  const nextStep = signInTo(path, 'Sign in and go on')
  const title = 'Your session has ended'
  reply.code(401)
  if (Object.keys(fields).length === 0)
    return showMessage(reply, { title, message: 'Nothing was done. Please sign in and try again.', nextStep })

  // Without a token it cannot be said whose form it was.
  const visitorId = forms.openToken(request.body)?.visitorId
  if (visitorId && forms.handOver(reply, { path, visitorId, fields })) {
    const message = 'Nothing was sent. What you typed is kept for ten minutes and will be in the form again.'
    return showMessage(reply, { title, message, nextStep })
  }
  const form = { action: request.url, formToken, fields, isClientKnown: isClientKnownTo(fields), errors: {} }
  return showPage(reply, 'application-form', { title, signInHref: nextStep.href, ...form })
}

export function signInTo(path: string, text: string) {
  return { href: `/login?${new URLSearchParams({ returnTo: path })}`, text }
}
