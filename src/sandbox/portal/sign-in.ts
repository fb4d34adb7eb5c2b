// The page to sign in or to make an account, both its forms, and signing out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteAbout, noteReason, whoAndWhy } from '../observe/observe.ts'
import { catchRefusal, Refusal } from '../observe/refusal.ts'
import { checkPassword } from '../people/password.ts'
import { registerUser } from '../people/register.ts'
import { shortestPassword } from '../people/rules.ts'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { forDevelopers } from './error-pages.ts'
import { takeNotice } from './notice.ts'
import { findVisitor, readMark, signBrowserIn, signBrowserOut } from './session.ts'

/**
 * Where a visitor goes after signing in. This purpose travels sealed in the forms of the page, so nothing is
 * stored until the visitor has signed in.
 */
export interface SignInPurpose {
  /** A local path of the portal. */
  returnTo: string
  /** The application that the visitor is signing in to, if an application has begun the login. */
  applicationName: string | undefined
  /** Origins that the path may redirect to. */
  formTargets: string[]
}

const formLifetimeMs = 30 * 60_000

export function makePurposeToken(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
): string {
  return makeFormToken(keyRing.sealingKey, 'sign-in', purpose, new Date(clock().getTime() + formLifetimeMs))
}

/** Throws Refusal if the form was not made by us, or is too old. */
export function readPurpose(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  formToken: unknown,
  request: FastifyRequest,
): SignInPurpose {
  const purpose = readFormToken<SignInPurpose>(keyRing.sealingKey, 'sign-in', formToken, clock())
  if (!purpose) throw new Refusal('form-expired')
  // Any other path is one of the portal's own pages.
  if (purpose.returnTo.startsWith('/?')) noteAbout(request, { startPath: purpose.returnTo })
  return purpose
}

/** The form that was sent before, and its problems. The page never contains a password that was sent. */
export interface SentForms {
  signIn?: { problem: string; email?: string }
  signUp?: { problem: string; problems?: Record<string, string>; fields: Record<string, unknown> }
}

export function showSignInPage(
  reply: FastifyReply,
  services: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
  { signIn, signUp }: SentForms = {},
) {
  setPageHeaders(reply, { formTargets: purpose.formTargets, hasScript: true })
  setTestCookie(reply)
  return reply.viewAsync('sign-in', {
    title: signUp ? 'Create an account' : 'Sign in or create an account',
    scripts: ['show-passwords.js'],
    applicationName: purpose.applicationName,
    formToken: makePurposeToken(services, purpose),
    signIn,
    signUp,
    shortestPassword,
  })
}

type SignInServices = Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>

export function signInRoutes(services: SignInServices) {
  async function signIn(request: FastifyRequest, reply: FastifyReply) {
    const { email, password, formToken } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(services, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(reply, services, purpose)
    if (typeof email !== 'string' || typeof password !== 'string') throw new Refusal('field-missing')
    const signedIn = await catchRefusal(checkAndSignIn(services, { email, password }, reply))
    if (!(signedIn instanceof Refusal)) {
      noteAbout(request, { userId: signedIn.userId })
      request.log.info({ code: 'signed-in', userId: signedIn.userId }, 'a visitor signed in')
      // The status is 303 and never 307. After a 307, the browser would send the password to the next address (RFC 9700
      // 4.12).
      return reply.redirect(purpose.returnTo, 303)
    }
    const { reason, details } = signedIn
    // If the password was changed after the check, report it as wrong.
    noteReason(request, reason === 'too-many-failures' ? reason : 'password-wrong')
    request.log.info({ code: 'sign-in-refused', ...whoAndWhy(request) }, 'a sign-in was refused')
    const problem =
      details.retryAfterSeconds === undefined
        ? // The same words whether or not there is such an account.
          'The e-mail address or the password is incorrect. Check both, then try again.'
        : answerBackOff(reply, 'failed attempts', details.retryAfterSeconds)
    if (details.retryAfterSeconds === undefined) reply.status(403)
    return showSignInPage(reply, services, purpose, { signIn: { problem, email } })
  }

  async function signUp(request: FastifyRequest, reply: FastifyReply) {
    const { formToken, ...fields } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(services, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(reply, services, purpose)
    const registered = await catchRefusal(registerUser(services, fields, services.sourceOf(request)))
    if (!(registered instanceof Refusal)) {
      const { userId } = registered
      noteAbout(request, { userId })
      await signBrowserIn(services, registered, reply)
      request.log.info({ code: 'signed-up', userId }, 'a visitor signed up')
      return reply.redirect(purpose.returnTo, 303)
    }
    const { retryAfterSeconds, problems = {} } = registered.details
    noteReason(request, registered.reason)
    if (retryAfterSeconds !== undefined) {
      const problem = answerBackOff(reply, 'new accounts from your address', retryAfterSeconds)
      return showSignInPage(reply, services, purpose, { signUp: { problem, fields } })
    }
    request.log.info({ code: 'sign-up-refused', fields: Object.keys(problems) }, 'a sign-up was refused')
    const problem = 'Your account was not created. Correct these fields, and enter your password again:'
    return showSignInPage(reply.status(422), services, purpose, { signUp: { problem, problems, fields } })
  }

  return { signIn, signUp }
}

async function checkAndSignIn(
  services: SignInServices,
  { email, password }: { email: string; password: string },
  reply: FastifyReply,
) {
  const sender = { source: services.sourceOf(reply.request), mark: readMark(services, reply.request) }
  const credentials = await checkPassword(services, { email, password, ...sender })
  await signBrowserIn(services, credentials, reply)
  return credentials
}

/**
 * Makes the answer a 429 and returns the sentence for the page. `what` says of what there were too many, such as
 * `failed attempts`.
 */
export function answerBackOff(reply: FastifyReply, what: string, retryAfterSeconds: number): string {
  reply.status(429).header('retry-after', retryAfterSeconds)
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return `Too many ${what}. Try again in ${minutes === 1 ? '1 minute' : `${minutes} minutes`}.`
}

// All cookies of the portal have names that begin with this.
const cookiePrefix = '__Host-portal-'
const testCookieName = `${cookiePrefix}cookies`

/** A browser that keeps cookies sends this cookie with each form, even if its other cookies have expired. */
function setTestCookie(reply: FastifyReply): void {
  if (reply.request.cookies[testCookieName] === undefined)
    reply.setCookie(testCookieName, 'kept', { path: '/', secure: true, httpOnly: true, sameSite: 'lax' })
}

function keepsCookies(request: FastifyRequest): boolean {
  return Object.keys(request.cookies).some(name => name.startsWith(cookiePrefix))
}

/**
 * If the browser keeps no cookies, shows a page about this. Otherwise the visitor would get the sign-in form again and
 * again. Call this before the password is checked.
 */
function showMissingCookies(
  reply: FastifyReply,
  { addresses: { portalUrl } }: Pick<Services, 'addresses'>,
  { returnTo }: SignInPurpose,
) {
  const { request } = reply
  noteReason(request, 'cookies-missing')
  request.log.info({ code: 'cookies-missing' }, 'the browser did not keep the cookie')
  return reply
    .status(400)
    .viewAsync('missing-cookies', {
      title: 'Your browser blocked a cookie',
      returnTo,
      isPlainHttp: portalUrl.startsWith('http:'),
      ...forDevelopers(request, 'cookies-missing'),
    })
}

export const signedOutPath = '/signed-out'

/** Signing out of the portal in this browser. The visitor stays signed in to applications. */
export function signOutRoutes(services: Pick<Services, 'store' | 'clock' | 'keyRing'>) {
  /**
   * Applications link here, because they cannot end this session. While the session lasts, the next login asks for no
   * password.
   */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    return reply.viewAsync('sign-out', { title: 'Sign out', user: await findVisitor(services, request) })
  }

  // Signing out needs no form token. The cross-site guard refuses requests of other sites.
  async function signOut(_request: FastifyRequest, reply: FastifyReply) {
    await signBrowserOut(services, reply)
    return reply.redirect(signedOutPath, 303)
  }

  /** The page after signing out, here or everywhere. A visitor who is still signed in gets the page to sign out. */
  async function showSignedOut(request: FastifyRequest, reply: FastifyReply) {
    if (await findVisitor(services, request)) return reply.redirect('/sign-out', 303)
    const isEverywhere = takeNotice(services, reply, { path: signedOutPath }) !== undefined
    return reply.viewAsync('signed-out', { title: isEverywhere ? 'Signed out everywhere' : 'Signed out', isEverywhere })
  }

  return { show, signOut, showSignedOut }
}
