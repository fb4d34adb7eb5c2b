// Recognises a browser that keeps no cookie of the portal, and explains why nobody can sign in with it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteReason } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import type { SignInPurpose } from './sign-in-purpose.ts'

// The names of all cookies of the portal start with this.
const prefix = '__Host-portal-'
const cookieName = `${prefix}cookies`

/**
 * Call this for the page with the forms. A browser that keeps cookies sends this one with each form, even if its other
 * cookies have ended since.
 */
export function setTestCookie(reply: FastifyReply): void {
  if (reply.request.cookies[cookieName] === undefined)
    reply.setCookie(cookieName, 'kept', { path: '/', secure: true, httpOnly: true, sameSite: 'lax' })
}

export function keepsCookies(request: FastifyRequest): boolean {
  return Object.keys(request.cookies).some(name => name.startsWith(prefix))
}

/** Answers instead of the sign-in form, which would come back for ever. Call this before the password is checked. */
export function showMissingCookies(
  request: FastifyRequest,
  reply: FastifyReply,
  { addresses: { portalUrl } }: Pick<Services, 'addresses'>,
  { returnTo }: SignInPurpose,
) {
  noteReason(request, 'cookies-missing')
  request.log.info({ code: 'cookies-missing' }, 'the browser did not keep the cookie')
  return reply
    .status(400)
    .viewAsync('missing-cookies', {
      title: 'Cookies are missing',
      returnTo,
      isPlainHttp: portalUrl.startsWith('http:'),
    })
}
