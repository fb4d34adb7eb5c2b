// The error pages of the portal. One table has the text for each reason, and the link to the next page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LoginRefusal } from '../grants/login-request.ts'
import { classifyError, reportRefusal } from '../http/report-refusal.ts'
import { stepUrlOf } from '../observe/observe.ts'
import { type Reason, reasons } from '../observe/reasons.ts'
import { type AnswerTable, answerIn, Refusal, type RefusalDetails } from '../observe/refusal.ts'
import { resetLinkMinutes } from '../people/reset-links.ts'
import type { Services } from '../services.ts'
import { hasConsent } from '../store/consents.ts'
import { errorTitle } from '../web/error-title.ts'
import { showPage } from '../web/page-headers.ts'
import { loginErrorOf, loginErrorUrl } from './login-urls.ts'
import { findVisitor } from './session.ts'

interface ErrorPage {
  status: number
  /** Used instead of the general title for this status. */
  title?: string
  message: string
  /** Tells the visitor what they can do if going back to the application does not help. */
  help?: string
  /**
   * A link for the visitor. If `href` is left out, the link leads to the page where the visitor can start again. If
   * there is no such page, the error page has no link.
   */
  next?: { label: string; href?: string }
}

const wrongLink = 'This sign-in link does not work'
const help = 'Only the people who run that application can fix this. Send them the request ID below.'
const notRegistered = 'The application that sent you here is not registered, so you cannot sign in to it.'
const wrongAddress =
  'The application that sent you here uses an address that it has not registered, so you cannot sign in.'
const pageExpired = 'This page has expired'
const groupGone =
  'This group does not exist, or you do not have the right to do this in the group. Nothing was changed.'
const busy = 'The login portal is very busy. Wait a moment and try again.'
const unreadable = 'The login portal could not read the request.'
const made = { href: '/account/applications#made', label: 'Back to your applications' }
const groups = { href: '/account/groups', label: 'Your groups' }

/**
 * Makes the page for a missing field. The field belongs to the request that starts a login, or to one of the portal's
 * own forms.
 */
function incomplete({ field }: RefusalDetails): ErrorPage {
  if (field === 'client_id') return { status: 400, title: wrongLink, message: notRegistered, help }
  if (field === 'redirect_uri') return { status: 400, title: wrongLink, message: wrongAddress, help }
  return {
    status: 400,
    title: 'The form was incomplete',
    message: 'The form was incomplete.',
    next: { label: 'Start again' },
  }
}

const pages: AnswerTable<ErrorPage> = {
  'client-unknown': { status: 400, title: wrongLink, message: notRegistered, help },
  'redirect-uri-unregistered': { status: 400, title: wrongLink, message: wrongAddress, help },
  'field-missing': incomplete,
  'field-repeated': incomplete,
  'field-too-long': ({ field, limit }) => ({
    status: 400,
    title: wrongLink,
    message: `The application sent a ${field} of more than ${limit}.`,
    help,
  }),
  'form-expired': { status: 400, title: pageExpired, message: 'This page was open for too long.' },
  'account-form-expired': {
    status: 400,
    title: pageExpired,
    message: 'This page was open for too long, or another person has signed in since then. Nothing was changed.',
    next: { label: 'Open the page again' },
  },
  'answered-already': {
    status: 409,
    title: 'Answered already',
    message: 'You have already answered this question.',
    next: { label: 'Start again' },
  },
  'signed-out': {
    status: 403,
    title: 'Sign in again',
    message: 'You were signed out in the meantime. Sign in again to continue.',
    next: { label: 'Sign in' },
  },
  'password-changed': {
    status: 409,
    title: 'Sign in again',
    message: 'Your password was changed somewhere else in the meantime.',
    next: { href: '/account', label: 'Sign in with the new password' },
  },
  'link-expired': {
    status: 400,
    title: 'This link has expired',
    message: `This link does not work any more. A link is valid for ${resetLinkMinutes} minutes, and works only once.`,
    next: { href: '/forgot-password', label: 'Ask for a new link' },
  },
  'cross-site': {
    status: 403,
    message: 'This form was sent from another site, so nothing was changed. Open the page in the portal and try again.',
  },
  'group-unknown': { status: 404, message: groupGone, next: groups },
  'link-unknown': { status: 404, message: groupGone, next: groups },
  'not-allowed': { status: 404, message: groupGone, next: groups },
  'token-shown': {
    status: 409,
    title: 'Shown already',
    message: 'This token has already been shown. Each token is shown only once.',
    next: { href: '/account/token', label: 'Create another token' },
  },
  'secret-shown': {
    status: 409,
    title: 'Shown already',
    message:
      'This secret has already been shown. Each secret is shown only once. If you did not store the secret, create another one. If your account no longer lists the application, use the application API to create the secret.',
    next: made,
  },
  'last-secret': {
    status: 409,
    message: 'The application has no other secrets. Create a new secret instead.',
    next: made,
  },
  'application-unknown': {
    status: 404,
    message: 'The application or secret does not exist any more, or you are not allowed to change it.',
    next: made,
  },
  'not-found': {
    status: 404,
    message: 'There is nothing at this address. Check the address, or start from your account.',
    next: { href: '/account', label: 'Your account' },
  },
  'method-not-allowed': { status: 405, message: 'This address does not accept this kind of request.' },
  busy: { status: 503, message: busy },
  'store-unavailable': { status: 503, message: busy },
  'body-too-large': { status: 413, message: 'The form was larger than this page accepts.' },
  'content-type-unsupported': { status: 415, message: unreadable },
  'body-unreadable': { status: 400, message: unreadable },
  'host-repeated': { status: 400, message: unreadable },
}
const internal: ErrorPage = {
  status: 500,
  message:
    'The login portal has an internal problem. Try again in a moment. If the problem persists, only the people who run the portal can fix it.',
}

/**
 * Returns the content of the error page for this refusal. Returns undefined if the portal never shows a page for this
 * reason.
 */
export function errorPageOf(refusal: Refusal): ErrorPage | undefined {
  return answerIn(pages, refusal)
}

const startAgain = 'startAgainAt'

/**
 * If the answer to this request is an error page, the page links to this local path, so that the visitor can start
 * again.
 */
export function setStartAgain(request: FastifyRequest, path: string): void {
  request.setDecorator(startAgain, path)
}

export function showErrorPages(
  scope: FastifyInstance,
  services: Pick<Services, 'addresses' | 'store' | 'clock'>,
): void {
  scope.decorateRequest(startAgain, '')
  scope.setErrorHandler(async (error, request, reply) => {
    if (error instanceof LoginRefusal) return answerLoginRefusal(services, error, reply)
    const refusal = error instanceof Refusal ? error : undefined
    const { statusCode: errorStatus, reason } = classifyError(error)
    const page = (refusal ? errorPageOf(refusal) : errorPageOf(new Refusal(reason))) ?? internal
    // If Fastify could not read the body, Fastify has already chosen the status, such as 400 or 413. Use this status.
    const statusCode = refusal ? page.status : errorStatus
    reportRefusal(reply, error, { statusCode, reason: refusal?.reason ?? reason, message: page.message }, 'page')
    const href = page.next?.href ?? request.getDecorator<string>(startAgain)
    return showPage(reply.status(statusCode), 'error', {
      title: page.title ?? errorTitle(statusCode),
      // This page contains no text from the request, so it is safe to load the script that copies the request ID.
      scripts: ['copy-buttons.js'],
      message: page.message,
      help: page.help,
      next: page.next && href ? { href, label: page.next.label } : undefined,
      requestId: request.id,
      ...forDevelopers(request, refusal?.reason ?? reason),
    })
  })
  scope.setNotFoundHandler(() => {
    throw new Refusal('not-found')
  })
}

/**
 * Anyone can register an application with any address. If the portal always redirected the browser, a link to the
 * portal could lead to any site (RFC 9700 4.11.2). Therefore the portal redirects the browser to the application only
 * if the visitor has allowed the application before. Otherwise the portal shows a page with a link to the application's
 * address.
 */
async function answerLoginRefusal(
  services: Pick<Services, 'addresses' | 'store' | 'clock'>,
  refusal: LoginRefusal,
  reply: FastifyReply,
) {
  const { request } = reply
  const { application, reason } = refusal
  const { description } = loginErrorOf(refusal)
  const location = loginErrorUrl(refusal, services.addresses.portalUrl)
  reportRefusal(reply, refusal, { statusCode: 400, reason, message: description }, 'page')
  if (await hasAllowedApplication(services, application.id, request)) return reply.redirect(location, 303)
  // The site behind the link must not learn the address of this page. This policy also hides the Origin header, but the
  // page has no form that would need this header.
  reply.status(400).header('referrer-policy', 'no-referrer')
  return reply.viewAsync('wrong-start', {
    title: wrongLink,
    applicationName: application.name,
    message: description,
    location,
    // The URL parser returns the host in ASCII, so no foreign letter can look like an ASCII letter.
    host: new URL(location).host,
    requestId: request.id,
    ...forDevelopers(request, reason),
  })
}

/**
 * If there is a laboratory, an error page also tells developers what is wrong. If there is no laboratory, the page says
 * as little as a page of the real platform.
 */
export function forDevelopers(request: FastifyRequest, reason: Reason) {
  const explainedAt = stepUrlOf(request)
  const reasonAt = explainedAt && new URL(`/reference#${reason}`, explainedAt).href
  return { reason, guidance: reasons[reason], explainedAt, reasonAt }
}

/**
 * Returns whether the visitor has allowed the application. Returns false if the store cannot be read. The function runs
 * while the portal answers an error, so it must not throw another error.
 */
async function hasAllowedApplication(
  services: Pick<Services, 'store' | 'clock'>,
  applicationId: string,
  request: FastifyRequest,
): Promise<boolean> {
  try {
    const visitor = await findVisitor(services, request)
    return visitor !== undefined && (await hasConsent(services.store.read, visitor.id, applicationId))
  } catch {
    return false
  }
}
