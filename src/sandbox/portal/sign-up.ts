// POST /sign-up: a new account, made on the page to sign in, signed in at once, and on to where the visitor was going.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteAbout, noteReason } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { markBrowser } from './known-browser.ts'
import { keepsCookies, showMissingCookies } from './missing-cookies.ts'
import { startPortalSession } from './portal-session.ts'
import { registerUser } from './register-user.ts'
import { describeBackOff, showSignInPage } from './sign-in-page.ts'
import { readPurpose } from './sign-in-purpose.ts'

export function signUp(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { formToken, ...fields } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(parts, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(request, reply, parts, purpose)
    const registration = await registerUser(parts, fields, parts.sourceOf(request))
    if ('credentials' in registration) {
      const { userId } = registration.credentials
      noteAbout(request, { userId })
      await startPortalSession(parts, registration.credentials, request, reply)
      markBrowser(parts, registration.credentials, request, reply)
      request.log.info({ code: 'signed-up', userId }, 'a visitor signed up')
      // 303, never 307: the browser would send the password on (RFC 9700 4.12).
      return reply.redirect(purpose.returnTo, 303)
    }
    if ('retryAfterSeconds' in registration) {
      noteReason(request, 'too-many-failures')
      const problem = describeBackOff(reply, 'new accounts from your address', registration.retryAfterSeconds)
      return showSignInPage(reply, parts, purpose, { signUp: { problem, fields } })
    }
    const { problems } = registration
    noteReason(request, 'fields-invalid')
    request.log.info({ code: 'sign-up-refused', fields: Object.keys(problems) }, 'a sign-up was refused')
    reply.status(422)
    const problem = 'Your account has not been created yet. Correct the fields below, and enter your password again.'
    return showSignInPage(reply, parts, purpose, { signUp: { problem, problems, fields } })
  }
}
