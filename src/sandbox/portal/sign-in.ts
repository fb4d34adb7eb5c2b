// The page with the two forms for signing in and for creating an account, and the pages for signing out.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sourceOf } from '../http/trusted-proxies.ts'
import { clientAndReason, noteAbout, noteReason } from '../observe/observe.ts'
import { catchRefusal, type FieldProblems, Refusal } from '../observe/refusal.ts'
import { checkPassword } from '../people/password.ts'
import { registerUser } from '../people/register.ts'
import { shortestPassword } from '../people/rules.ts'
import type { Services } from '../services.ts'
import { makeFormToken, readFormToken } from '../tokens/form-token.ts'
import { cookiePrefix, laxCookie, testCookieName } from '../values/portal-cookies.ts'
import { showPage } from '../web/page-headers.ts'
import { forDevelopers } from './error-pages.ts'
import { takeMessage } from './message.ts'
import { findVisitor, readKnownBrowser, signBrowserIn, signBrowserOut } from './session.ts'

/**
 * Says where a visitor goes after signing in. The forms of the page contain this purpose, signed by the portal, so the
 * portal stores nothing until the visitor has signed in.
 */
export interface SignInPurpose {
  /** The local path of the portal to which the visitor goes. */
  returnTo: string
  /** The application that the visitor is signing in to. Undefined if the visitor came to the portal's own pages. */
  applicationName: string | undefined
  /** The origins to which the portal can redirect the browser from this path. */
  formTargets: string[]
}

const formLifetimeMs = 30 * 60_000

export function makePurposeToken(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
): string {
  return makeFormToken(keyRing.sealingKey, 'sign-in', purpose, new Date(clock().getTime() + formLifetimeMs))
}

/** Reads the purpose from a form. Throws Refusal if the portal did not make the form, or if the form is too old. */
export function readPurpose(
  { keyRing, clock }: Pick<Services, 'keyRing' | 'clock'>,
  formToken: unknown,
  request: FastifyRequest,
): SignInPurpose {
  const purpose = readFormToken<SignInPurpose>(keyRing.sealingKey, 'sign-in', formToken, clock())
  if (!purpose) throw new Refusal('form-expired')
  // Only a path that starts with `/?` starts a login. Any other path is one of the portal's own pages.
  if (purpose.returnTo.startsWith('/?')) noteAbout(request, { startPath: purpose.returnTo })
  return purpose
}

/** The form that the visitor has sent, and its problems. The page never contains a password that was sent. */
interface SentForms {
  signIn?: { problem: string; email?: string }
  signUp?: { problem: string; problems?: FieldProblems; fields: Record<string, unknown> }
}

export function showSignInPage(
  reply: FastifyReply,
  services: Pick<Services, 'keyRing' | 'clock'>,
  purpose: SignInPurpose,
  { signIn, signUp }: SentForms = {},
) {
  setTestCookie(reply)
  return showPage(reply, 'sign-in', {
    formTargets: purpose.formTargets,
    title: signUp ? 'Create an account' : 'Sign in or create an account',
    scripts: ['show-passwords.js'],
    applicationName: purpose.applicationName,
    formToken: makePurposeToken(services, purpose),
    signIn,
    signUp,
    shortestPassword,
  })
}

type SignInServices = Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock'>

export function signInRoutes(services: SignInServices) {
  async function signIn(request: FastifyRequest, reply: FastifyReply) {
    const { email, password, formToken } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(services, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(reply, services, purpose)
    if (typeof email !== 'string' || typeof password !== 'string') throw new Refusal('field-missing')
    const signedIn = await catchRefusal(checkAndSignIn(services, { email, password }, reply))
    if (signedIn instanceof Refusal) return refuseSignIn(request, reply, purpose, { refusal: signedIn, email })
    noteAbout(request, { userId: signedIn.userId })
    request.log.info({ code: 'signed-in', user: signedIn.userId }, 'a visitor signed in')
    // The status must be 303, never 307. After a 307 answer, the browser would also send the password to the next
    // address (RFC 9700 4.12).
    return reply.redirect(purpose.returnTo, 303)
  }

  function refuseSignIn(
    request: FastifyRequest,
    reply: FastifyReply,
    purpose: SignInPurpose,
    { refusal: { reason, details }, email }: { refusal: Refusal; email: string },
  ) {
    // If the password was changed after the check, the old password counts as wrong.
    noteReason(request, reason === 'too-many-failures' ? reason : 'password-wrong')
    request.log.info({ code: 'sign-in-refused', ...clientAndReason(request) }, 'a sign-in was refused')
    if (details.retryAfterSeconds !== undefined) {
      const problem = setTooMany(reply, 'failed attempts', details.retryAfterSeconds)
      return showSignInPage(reply, services, purpose, { signIn: { problem, email } })
    }
    // The words are the same whether the account exists or not.
    const problem = 'The e-mail address or the password is incorrect. Check both, then try again.'
    return showSignInPage(reply.status(403), services, purpose, { signIn: { problem, email } })
  }

  async function signUp(request: FastifyRequest, reply: FastifyReply) {
    const { formToken, ...fields } = (request.body ?? {}) as Record<string, unknown>
    const purpose = readPurpose(services, formToken, request)
    if (!keepsCookies(request)) return showMissingCookies(reply, services, purpose)
    const registered = await catchRefusal(registerUser(services, fields, sourceOf(request)))
    if (!(registered instanceof Refusal)) {
      const { userId } = registered
      noteAbout(request, { userId })
      await signBrowserIn(services, registered, reply)
      request.log.info({ code: 'signed-up', user: userId }, 'a visitor signed up')
      return reply.redirect(purpose.returnTo, 303)
    }
    const { retryAfterSeconds, problems = {} } = registered.details
    noteReason(request, registered.reason)
    if (retryAfterSeconds !== undefined) {
      const problem = setTooMany(reply, 'new accounts from your address', retryAfterSeconds)
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
  const sender = { source: sourceOf(reply.request), knownBrowser: readKnownBrowser(services, reply.request) }
  const credentials = await checkPassword(services, { email, password, ...sender })
  await signBrowserIn(services, credentials, reply)
  return credentials
}

/**
 * Sets the status 429 and the Retry-After header, and returns the sentence for the page. `what` completes the sentence
 * that starts with `Too many`, for example `failed attempts`.
 */
export function setTooMany(reply: FastifyReply, what: string, retryAfterSeconds: number): string {
  reply.status(429).header('retry-after', retryAfterSeconds)
  const minutes = Math.ceil(retryAfterSeconds / 60)
  return `Too many ${what}. Try again in ${minutes === 1 ? '1 minute' : `${minutes} minutes`}.`
}

/**
 * Sets a cookie that shows whether the browser keeps cookies. A browser that keeps cookies sends this cookie with each
 * form, even after the portal's other cookies have expired.
 */
function setTestCookie(reply: FastifyReply): void {
  if (reply.request.cookies[testCookieName] === undefined) reply.setCookie(testCookieName, 'kept', laxCookie)
}

function keepsCookies(request: FastifyRequest): boolean {
  return Object.keys(request.cookies).some(name => name.startsWith(cookiePrefix))
}

/**
 * Tells the visitor that the browser does not keep cookies. Otherwise the visitor would get the sign-in form again and
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

/** The pages for signing out of the portal in this browser. The visitor stays signed in to applications. */
export function signOutRoutes(services: Pick<Services, 'store' | 'clock' | 'keyRing'>) {
  /**
   * Shows the page with the sign-out button. Applications link to this page, because they cannot end the session at the
   * portal themselves. Until this session ends, the portal does not ask for a password at the next login.
   */
  async function show(request: FastifyRequest, reply: FastifyReply) {
    return reply.viewAsync('sign-out', { title: 'Sign out', user: await findVisitor(services, request) })
  }

  // The sign-out form needs no form token, because the cross-site guard refuses requests from other sites.
  async function signOut(_request: FastifyRequest, reply: FastifyReply) {
    await signBrowserOut(services, reply)
    return reply.redirect(signedOutPath, 303)
  }

  /**
   * Shows the page that follows a sign-out in this browser or a sign-out everywhere. A visitor who is still signed in
   * gets the page with the sign-out button.
   */
  async function showSignedOut(request: FastifyRequest, reply: FastifyReply) {
    if (await findVisitor(services, request)) return reply.redirect('/sign-out', 303)
    const isEverywhere = takeMessage(services, reply, { path: signedOutPath }) !== undefined
    return reply.viewAsync('signed-out', { title: isEverywhere ? 'Signed out everywhere' : 'Signed out', isEverywhere })
  }

  return { show, signOut, showSignedOut }
}
