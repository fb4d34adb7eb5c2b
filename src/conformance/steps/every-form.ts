// Sends the forms on the pages about an application, while the platform answers the API calls of these forms with
// faults.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import type { Form } from '../browser/form.ts'
import { NotApplicable, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect } from '../findings.ts'
import {
  type ApplicationForm,
  formsAbout,
  type OwnApplication,
  openPagesAbout,
  openWithApplication,
  typedInto,
  worksFromItsPage,
} from './application-pages.ts'
import { shownText } from './page-content.ts'

/** A check sends at most this many forms about one application. */
const mostForms = 4

export interface OpenForms extends OwnApplication {
  pages: Page[]
  forms: ApplicationForm[]
}

/**
 * Signs in a visitor who has an application, and finds the forms about this application. Ends the check if no page has
 * such a form. `fields`: values of the application.
 */
export async function openForms(context: CheckContext, fields: Record<string, string> = {}): Promise<OpenForms> {
  const application = await openWithApplication(context, fields)
  const pages = await openPagesAbout(context, application)
  const forms = formsAbout(context, pages, application.id).slice(0, mostForms)
  if (forms.length === 0) throw new NotApplicable('no page about an application has a form')
  return { ...application, pages, forms }
}

/**
 * Sends the forms from the client's own pages until one of them changes an application. Ends the check if no form
 * changes an application, because a check proves nothing if the client refuses every form.
 */
export async function requireWorkingForm(context: CheckContext): Promise<void> {
  const open = await openForms(context)
  for (const found of open.forms) if (await worksFromItsPage(context, open, found)) return
  throw new Undecided("The forms about an application change nothing, even if the client's own pages send them.")
}

/** Opens the page of the form again, because a form may work only once. */
export async function reopen(browser: Browser, { page, form }: ApplicationForm): Promise<ApplicationForm | undefined> {
  const again = await browser.newTab().visit(page.url)
  const found = again.forms.find(one => one.method === 'POST' && one.action === form.action && isAlike(one, form))
  return found && { page: again, form: found }
}

const isAlike = (one: Form, other: Form) => namesOf(one) === namesOf(other)
const namesOf = ({ controls }: Form) => controls.map(({ name }) => name).join()

export interface SentForm {
  found: ApplicationForm
  page: Page
  /** The API calls that the client made for the form. */
  calls: LabStep[]
}

/** Opens the page of the form again, and sends the form. Returns undefined if the page no longer has the form. */
export async function sendAgain(
  context: CheckContext,
  browser: Browser,
  found: ApplicationForm,
  prepare: () => Promise<unknown> = async () => {},
): Promise<SentForm | undefined> {
  const open = await reopen(browser, found)
  if (!open) return undefined
  await context.platform.settle()
  await prepare()
  const { result: page, steps } = await context.during(() =>
    browser.newTab().submit(open.page, open.form, typedInto(open), context.beforePortal),
  )
  return { found: open, page, calls: steps.filter(({ kind }) => kind === 'api' || kind === 'trap') }
}

/** The API calls that change an application, with the names that the catalogue of faults uses for these calls. */
export const changes = ['update', 'remove', 'secret']

/**
 * Sends every form, while the platform answers the API call for this form with the fault, for example `503`. The result
 * leaves out each form for which the client makes no such call. Ends the check if the result is empty.
 */
export async function sendFormsUnder(
  context: CheckContext,
  { browser, forms }: OpenForms,
  fault: string,
  { options = {}, times = 5, at = changes }: { options?: Record<string, unknown>; times?: number; at?: string[] } = {},
): Promise<SentForm[]> {
  const sent: SentForm[] = []
  for (const found of forms) {
    const names = at.map(place => `${place}-${fault}`)
    const one = await sendAgain(context, browser, found, async () => {
      for (const name of names) await context.order(name, { times, options })
    })
    const isMet = names.some(name => context.timesMet(name) > 0)
    await context.dropFaults()
    if (one && isMet) sent.push(one)
  }
  if (sent.length === 0) throw new NotApplicable('no form about an application leads to such an API call')
  return sent
}

/**
 * True if the page contains no message about the sent form. To find out, the suite opens the address of the page again,
 * without its query, and compares the text of the two pages. The query could contain the message. If visitors reach a
 * page only after they have sent a form, as with /session-expired, the whole page counts as a message. `formPage`: the
 * page that contained the form.
 */
export async function isOrdinary(
  context: CheckContext,
  page: Page,
  browser: Browser,
  formPage?: Page,
): Promise<boolean> {
  const again = await browser.newTab().visit(page.url.split('?')[0]!, context.beforePortal)
  if (shownText(again).trim() !== shownText(page).trim()) return false
  const { pathname } = new URL(page.url)
  return (formPage && new URL(formPage.url).pathname === pathname) || isUsual(context, pathname, browser)
}

/**
 * True if visitors also reach the page at this path without sending a form. There are three such cases: an option of
 * the suite names the path, the path contains the id of an application, or a known page has a link to the path. The
 * known pages are the start page and the page behind the login.
 */
async function isUsual(
  { settings, url, beforePortal }: CheckContext,
  pathname: string,
  browser: Browser,
): Promise<boolean> {
  const named = ['/', settings.login, settings.page, settings.create].filter(path => path !== '')
  if (named.some(path => new URL(url(path)).pathname === pathname)) return true
  if (/\/[0-9a-f]{8}-[0-9a-f]{4}-/i.test(pathname)) return true
  const tab = browser.newTab()
  const pages = [await tab.visit(url('/'), beforePortal), await tab.visit(url(settings.page || '/'), beforePortal)]
  return pages.some(({ links }) => links.some(link => new URL(link.url).pathname === pathname))
}

/**
 * Fails if the answer to a form is a page, because Reload would then send the same POST again. An answer in JSON does
 * not count as a page, because a script reads it.
 */
export function expectNoPost(page: Page, form: string): void {
  if (page.status >= 400 || !/html/i.test(page.headers.get('content-type') ?? '')) return
  const last = page.trail.at(-1)!
  expect(
    last.request.method !== 'POST',
    `${form} was answered with a page (status ${page.status}) instead of a redirect, so Reload sends the form again.`,
    last,
  )
}
