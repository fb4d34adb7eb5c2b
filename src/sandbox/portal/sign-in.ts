// POST /sign-in: signing in with e-mail and password, on to where the visitor was going.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteAbout, noteReason, whoAndWhy } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { checkPassword } from './check-password.ts'
import { PageError } from './error-pages.ts'
import { markBrowser, readMark } from './known-browser.ts'
import { keepsCookies, showMissingCookies } from './missing-cookies.ts'
import { startPortalSession } from './portal-session.ts'
import { describeBackOff, showSignInPage } from './sign-in-page.ts'
import { readPurpose } from './sign-in-purpose.ts'

export function signIn(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { email, password, formToken } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(parts, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(request, reply, parts, purpose)
    if (typeof email !== 'string' || typeof password !== 'string')
      throw new PageError(400, 'The form was incomplete.', { reason: 'field-missing' })

    const sender = { source: parts.sourceOf(request), mark: readMark(parts, request) }
    const checked = await checkPassword(parts, { email, password, ...sender })
    // A password that was changed since it was checked is a wrong one.
    if ('credentials' in checked && (await startPortalSession(parts, checked.credentials, request, reply))) {
      const { userId } = checked.credentials
      noteAbout(request, { userId })
      markBrowser(parts, checked.credentials, request, reply)
      request.log.info({ code: 'signed-in', userId }, 'a visitor signed in')
      // 303, never 307: the browser would send the password on (RFC 9700 4.12).
      return reply.redirect(purpose.returnTo, 303)
    }
    const refusal = 'refusal' in checked ? checked.refusal : 'wrong'
    noteReason(request, refusal === 'wrong' ? 'password-wrong' : refusal)
    request.log.info({ code: 'sign-in-refused', ...whoAndWhy(request) }, 'a sign-in was refused')
    if ('retryAfterSeconds' in checked) {
      const problem = describeBackOff(reply, 'failed attempts', checked.retryAfterSeconds)
      return showSignInPage(reply, parts, purpose, { signIn: { problem, email } })
    }
    // The same words whether or not there is such an account.
    reply.status(403)
    return showSignInPage(reply, parts, purpose, {
      signIn: { problem: 'The e-mail address or the password is incorrect.', email },
    })
  }
}
