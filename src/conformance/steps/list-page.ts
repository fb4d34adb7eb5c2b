// The page behind the login, and what it shows when the list behind it comes, is empty, or does not come.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import { NotApplicable } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, expect } from '../findings.ts'
import { makeApplication } from './applications.ts'
import { shownText } from './page-content.ts'

export interface Visited {
  browser: Browser
  page: Page
}

/** A signed-in visitor opens the page, and the list behind it meets the fault, however often the client asks. */
export async function visitUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
  times = 5,
  signedIn?: Browser,
): Promise<Visited> {
  const browser = signedIn ?? (await context.signedIn()).browser
  await context.order(fault, { times, options })
  const page = await browser.newTab().visit(context.url(context.settings.page))
  await context.platform.settle()
  await expectMet(context, fault, page)
  return { browser, page }
}

export interface Compared extends Visited {
  /** What the page was before, without an application, and with one. */
  empty: Page
  full: Page
}

/** The same, for somebody who has an application; with the page as it is without the fault. */
export async function compareUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
): Promise<Compared> {
  const { browser, person } = await context.signedIn()
  const visit = () => browser.newTab().visit(context.url(context.settings.page))
  const empty = await visit()
  await makeApplication(context, person, { name: 'Weather of conformance' })
  const full = await visit()
  return { empty, full, ...(await visitUnder(context, fault, options, 5, browser)) }
}

/** Without a call that met the fault, the page says nothing about it. */
async function expectMet(context: CheckContext, fault: string, page: Page): Promise<void> {
  const isMet = () => context.arrived('api', 'trap').some(step => step.fault?.name === fault)
  // An answer that hangs is noted when the client has left.
  if (!isMet()) await context.platform.settle(2000)
  if (!isMet() && page.status !== 0) throw new NotApplicable('the page does not ask for the list of applications')
}

export const listCalls = (context: CheckContext): LabStep[] =>
  context.arrived('api').filter(({ request }) => request.method === 'GET' && request.url.startsWith('/apps/v1'))

/** That there was an answer at all. */
export function expectAnswer(page: Page): void {
  expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
}

/** An answer that fits: an error, or a page that is another one than for somebody who has nothing. */
export function expectFittingAnswer({ page, empty, full }: Compared): void {
  expectAnswer(page)
  if (page.status >= 400) return
  expect(page.body.trim() !== '', 'The page is empty.', page)
  // Where nobody can tell one from the other, the page shows no list.
  if (shownIn(full) === shownIn(empty)) return
  expect(
    shownIn(page) !== shownIn(empty),
    'The page is the one for somebody who has no applications, and says nothing of the failure.',
    page,
  )
}

/** What a reader sees of an answer, without a text and without what differs from visit to visit. */
export function shownIn(page: Page, without = ''): string {
  const shown = shownText(page)
  return (without === '' ? shown : shown.replaceAll(without, ''))
    .replace(/(?=[\w-]*\d)[\w-]{16,}|\b(undefined|null|none|nil)\b/gi, '')
    .replace(/\d+/g, '0')
    .replace(/\s+/g, ' ')
    .trim()
}
