// The page to sign in or sign up: both forms, with what is said about one that was sent.
import type { FastifyReply } from 'fastify'
import type { Services } from '../services.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { setTestCookie } from './missing-cookies.ts'
import { shortestPassword } from './password-rules.ts'
import type { SignUpProblems } from './register-user.ts'
import { makePurposeToken, type SignInPurpose } from './sign-in-purpose.ts'

/** What was sent before, and what is said about it. Passwords never come back. */
export interface SentForms {
  signIn?: { problem: string; email?: string }
  signUp?: { problem: string; problems?: SignUpProblems; fields: Record<string, unknown> }
}

/** Answers with the page, both forms on it. */
export function showSignInPage(
  reply: FastifyReply,
  parts: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
  { signIn, signUp }: SentForms = {},
) {
  setPageHeaders(reply, { formTargets: purpose.formTargets, hasScript: true })
  setTestCookie(reply)
  return reply.viewAsync('sign-in', {
    title: signUp ? 'Create an account' : 'Sign in',
    isWide: true,
    scripts: ['show-passwords.js'],
    applicationName: purpose.applicationName,
    formToken: makePurposeToken(parts, purpose),
    signIn,
    signUp,
    shortestPassword,
  })
}

/** Makes the answer a 429, and gives the sentence for the page. `what` there were too many of. */
export function describeBackOff(reply: FastifyReply, what: string, retryAfterSeconds: number): string {
  reply.status(429).header('retry-after', retryAfterSeconds)
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return `Too many ${what}. Try again in ${minutes === 1 ? '1 minute' : `${minutes} minutes`}.`
}
