// Sends forms after the session has ended, signs in again, and finds out whether the typed text is lost.
import type { Browser, Page, StopOptions } from '../browser/browser.ts'
import type { Link } from '../browser/page.ts'
import { ReportedElsewhere, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, expect, expectServed, failWithFix } from '../findings.ts'
import { leadsTo } from './addresses.ts'
import { created, noCreation, type OpenForm } from './create-form.ts'
import { isOrdinary } from './every-form.ts'
import { isSession, ownCookies } from './sessions.ts'

/**
 * Returns the names of the session cookies. The client may renew the session during this function, so a check should
 * call it only once for each session.
 */
export async function sessionCookieNames(context: CheckContext, browser: Browser): Promise<string[]> {
  const names: string[] = []
  for (const name of ownCookies(context, browser)) if (await isSession(context, browser, name)) names.push(name)
  return names
}

/**
 * Deletes the session cookies, as a browser does when they expire. Other cookies stay, because many frameworks have a
 * cookie for form tokens that lives longer than the session.
 */
export async function expireSession(context: CheckContext, browser: Browser): Promise<void> {
  for (const name of await sessionCookieNames(context, browser)) browser.cookies.delete(name)
}

/** Sends the form after the session cookies have expired. Ends the check if the form creates an application. */
export async function sendWithoutSession(context: CheckContext, open: OpenForm, stop: StopOptions = {}): Promise<Page> {
  await expireSession(context, open.browser)
  const page = await open.browser.submit(open.page, open.form, open.values, stop)
  expectServed(page, `The form was answered with ${describePage(page)}.`)
  if ((await created(context, open.person)).length > 0) throw new ReportedElsewhere('the form created an application')
  return page
}

/**
 * Sends the form after the platform has ended the session: the API and the portal refuse the tokens. Ends the check if
 * the form creates an application.
 */
export async function sendAfterEndedSession(context: CheckContext, open: OpenForm): Promise<Page> {
  await context.order('create-401', { times: 20 })
  await context.order('refresh-400', { times: 20, options: { error: 'invalid_grant' } })
  const page = await open.browser.submit(open.page, open.form, open.values)
  await context.platform.settle()
  const isMet = context.timesMet('create-401') > 0
  await context.dropFaults()
  if (!isMet) throw noCreation()
  expectServed(page, `The form was answered with ${describePage(page)}.`)
  if ((await created(context, open.person)).length > 0) throw new ReportedElsewhere('the form created an application')
  return page
}

/** Whether a field of a form on the page contains this text, and no other text. */
export const isInForm = ({ forms }: Page, typed: string): boolean =>
  forms.some(({ fields }) => fields.some(([, text]) => text.trim() === typed))

/** The links of the page that lead to the login path of the client. */
export const signInLinks = ({ settings, url }: CheckContext, { links }: Page): Link[] =>
  links.filter(link => leadsTo(link.url, url(settings.login)))

/**
 * Signs in as a visitor does after the client has answered a form: if the answer redirects to the portal, the browser
 * follows the redirect. Otherwise the visitor follows `link`, or opens the login path. The visitor still has a session
 * at the portal. `answer`: the page that this tab opened. The tab has not followed a redirect to the portal.
 */
export async function signInAfter(context: CheckContext, tab: Browser, answer: Page, link?: Link): Promise<Page> {
  const landed = answer.stoppedAt
    ? await tab.goOn(answer)
    : await tab.visit(link ?? context.url(context.settings.login), link && { from: answer })
  requireBackAtClient(context, landed)
  return landed
}

/** Ends the check as undecided if the browser has stayed at the portal. */
function requireBackAtClient(context: CheckContext, { url }: Page): void {
  if (context.isPortal(new URL(url)))
    throw new Undecided('The portal asked for the password again, so the suite cannot follow the login.')
}

/**
 * Fails unless the answer to a form without a session keeps the typed text or says that the form was not processed.
 * `formPage`: the address of the page that contains the form.
 */
export async function expectTold(
  context: CheckContext,
  browser: Browser,
  page: Page,
  typed: string,
  formPage: string,
): Promise<void> {
  // The browser stays on the page with the form, and the visitor sees no answer.
  if (page.error?.includes('Content-Security-Policy'))
    failWithFix(
      'Answer the form with a page. Or allow the address in form-action: browsers apply form-action also to the redirects that follow a form.',
      `The form was answered with ${describePage(page)}. The visitor sees no answer to the form.`,
      page,
    )
  // If the browser was not sent to the portal, the answer itself must say that the form was not processed.
  const isThroughPortal = page.trail.some(({ request }) => context.isPortal(new URL(request.url)))
  if (!isThroughPortal) {
    // The HTML of a form field may contain the text in another notation, for example with `&#x2F;` instead of `/`.
    const isKept = isInForm(page, typed) || page.body.includes(typed)
    const isSilent = page.status < 400 && !isKept && (await isOrdinary(context, page, context.browser()))
    expect(!isSilent, `The form was answered with ${describePage(page)}, which says nothing about the form.`, page)
    return
  }
  requireBackAtClient(context, page)
  const later = await browser.newTab().visit(formPage)
  const isKept = isInForm(page, typed) || isInForm(later, typed)
  const isSilent = !isKept && (await isOrdinary(context, page, browser))
  expect(
    !isSilent,
    `After the form, the client signed the visitor in and showed ${describePage(page)}. This page says nothing about the form, and the typed text is lost.`,
    page,
  )
}
