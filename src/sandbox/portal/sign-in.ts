// The page to sign in or sign up, and signing in with e-mail and password, on to where the visitor was going.
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Parts } from '../parts.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { checkPassword } from './check-password.ts'
import { PageError } from './error-pages.ts'
import { markBrowser, readMark } from './known-browser.ts'
import { startPortalSession } from './portal-session.ts'
import { type SignUpProblems, shortestPassword } from './register-user.ts'

/** Where a visitor goes after signing in. It travels in the form, so only what was checked before goes in. */
export interface SignInPurpose {
  /** A path of the portal's own. */
  returnTo: string
  /** The application they are signing in to, if it is one. */
  applicationName: string | undefined
  /** Origins that the path may redirect to. */
  formTargets: string[]
}

/** What was sent before, and what is said about it. Passwords never come back. */
export interface SentForms {
  signIn?: { problem: string; email?: string }
  signUp?: { problem: string; problems?: SignUpProblems; fields: Record<string, unknown> }
}

const formLifetimeMs = 30 * 60_000

/** Answers with the page, both forms on it. */
export function showSignInPage(
  reply: FastifyReply,
  { keyRing, clock }: Pick<Parts, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
  { signIn, signUp }: SentForms = {},
) {
  setPageHeaders(reply, { formTargets: purpose.formTargets })
  const expiresAt = new Date(clock().getTime() + formLifetimeMs)
  return reply.viewAsync('sign-in', {
    title: signUp ? 'Create an account' : 'Sign in',
    isWide: true,
    applicationName: purpose.applicationName,
    formToken: makeFormToken(keyRing.sealingKey, 'sign-in', purpose, expiresAt),
    signIn,
    signUp,
    shortestPassword,
  })
}

/** The purpose that a form was made for. Throws PageError. */
export function readPurpose({ keyRing, clock }: Pick<Parts, 'keyRing' | 'clock'>, formToken: unknown): SignInPurpose {
  const purpose = readFormToken<SignInPurpose>(keyRing.sealingKey, 'sign-in', formToken, clock())
  if (!purpose) throw new PageError(400, 'This page has been open for too long.')
  return purpose
}

/** Makes the answer a 429, and gives the sentence for the page. `what` there were too many of. */
export function describeBackOff(reply: FastifyReply, what: string, retryAfterSeconds: number): string {
  reply.status(429).header('retry-after', retryAfterSeconds)
  return `There were too many ${what}. Try again in ${Math.ceil(retryAfterSeconds / 60)} min.`
}

export function signInPage(
  scope: FastifyInstance,
  parts: Pick<Parts, 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>,
): void {
  scope.post('/sign-in', async (request, reply) => {
    const { email, password, formToken } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(parts, formToken)
    if (typeof email !== 'string' || typeof password !== 'string') throw new PageError(400, 'The form is not complete.')

    const sender = { source: parts.sourceOf(request), mark: readMark(parts, request) }
    const checked = await checkPassword(parts, { email, password, ...sender })
    if ('credentials' in checked) {
      const { userId } = checked.credentials
      await startPortalSession(parts, userId, request, reply)
      markBrowser(parts, checked.credentials, request, reply)
      request.log.info({ code: 'signed-in', userId }, 'a visitor signed in')
      // 303, never 307: the browser would send the password on (RFC 9700 4.12).
      return reply.redirect(purpose.returnTo, 303)
    }
    request.log.info({ code: 'sign-in-refused', reason: checked.refusal }, 'a sign-in was refused')
    if (checked.refusal === 'too-many-failures') {
      const problem = describeBackOff(reply, 'failed attempts', checked.retryAfterSeconds)
      return showSignInPage(reply, parts, purpose, { signIn: { problem, email } })
    }
    // The same words whether or not there is such an account.
    reply.status(403)
    return showSignInPage(reply, parts, purpose, { signIn: { problem: 'E-mail or password is not right.', email } })
  })

  // A reload of the page that answered the form lands here.
  scope.get('/sign-in', async (_request, reply) => reply.redirect('/account', 303))
}
