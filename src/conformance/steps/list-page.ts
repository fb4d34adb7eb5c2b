// Opens the page behind the login, with and without a fault in the API's answer that lists the applications.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import { NotApplicable } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, expect } from '../findings.ts'
import { makeApplication } from './applications.ts'
import { isBareFailure, shownText } from './page-content.ts'

interface Visited {
  browser: Browser
  page: Page
}

/** Opens the page as a signed-in visitor, while the sandbox answers each call for the list with the fault. */
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

interface Compared extends Visited {
  /** The page without the fault: `empty` before the visitor has an application, and `full` when the visitor has one. */
  empty: Page
  full: Page
}

/**
 * Signs in a new visitor, and opens the list three times. The first time, the visitor has no application. The second
 * time, the visitor has one. The third time, the sandbox answers with the fault, as in visitUnder.
 */
export async function compareUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
): Promise<Compared> {
  // Each comparison needs a new visitor, because an earlier visitor already has an application.
  await context.replaceVisitor()
  const { browser, person } = await context.signedIn()
  const visit = () => browser.newTab().visit(context.url(context.settings.page))
  const empty = await visit()
  await makeApplication(context, person)
  const full = await visit()
  return { empty, full, ...(await visitUnder(context, fault, options, 5, browser)) }
}

/** Ends the check if the fault affected none of the client's calls, because the page would then prove nothing. */
async function expectMet(context: CheckContext, fault: string, page: Page): Promise<void> {
  const isMet = () => context.arrived('api', 'trap').some(step => step.fault?.name === fault)
  // If an answer hangs, the sandbox records the request only after the client has closed the connection.
  if (!isMet()) await context.platform.settle(2000)
  if (!isMet() && context.timesMet(fault) === 0 && page.status !== 0)
    throw new NotApplicable('the client does not ask the API for the list of applications')
}

export const isListCall = ({ request }: LabStep): boolean =>
  request.method === 'GET' && request.url.startsWith('/apps/v1')

export const listCalls = (context: CheckContext): LabStep[] => context.arrived('api').filter(isListCall)

/** Fails if there is no answer, or if the answer is the default error page of a server. */
export function expectAnswer(page: Page): void {
  expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
  expect(
    !isBareFailure(page),
    'The answer is the default error page of a server: it has status 500 and no text of the client.',
    page,
  )
}

/**
 * Fails if the answer is the page that a visitor without applications sees. An error or another page is correct.
 * `when`: a sentence for the finding.
 */
export function expectFittingAnswer({ page, empty, full }: Compared, when = ''): void {
  expectAnswer(page)
  if (page.status >= 400) return
  expect(page.body.trim() !== '', 'The page is empty.', page)
  // If `full` and `empty` have the same text, the page shows no list.
  if (shownIn(full) === shownIn(empty)) return
  expect(
    shownIn(page) !== shownIn(empty),
    `${when} The visitor gets the same page as a visitor without applications, and this page does not mention the failure.`.trim(),
    page,
  )
}

/**
 * Returns the visible text of an answer, but leaves out the text that is passed as `without`. Also leaves out numbers
 * and ids, because they differ from visit to visit.
 */
export function shownIn(page: Page, without = ''): string {
  const shown = shownText(page)
  return (without === '' ? shown : shown.replaceAll(without, ''))
    .replace(/(?=[\w-]*\d)[\w-]{16,}|\b(undefined|null|none|nil)\b/gi, '')
    .replace(/\d+/g, '0')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Whether each word of the text also occurs in the other text. */
export function addsNoWord(text: string, other: string): boolean {
  const known = new Set(other.split(' '))
  return text.split(' ').every(word => known.has(word))
}
