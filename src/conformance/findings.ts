// Functions with which checks report findings about the client's answers and about the client's calls to the platform.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import type { Browser, HttpExchange, Page } from './browser/browser.ts'
import { Failed } from './check.ts'
import type { CheckContext } from './context.ts'
import { describeHttpExchange, describeStep } from './report/describe.ts'

/** What a report shows as evidence for a finding: requests, steps at the platform, pages, or text. */
type Evidence = HttpExchange | LabStep | Page | string

/** Fails the check. The message says what the client did. */
export function fail(message: string, ...evidence: Evidence[]): never {
  throw new Failed(message, evidence.flatMap(describe))
}

/** The same as `fail`, but with a fix for this finding in place of the check's own fix. */
export function failWithFix(fix: string, message: string, ...evidence: Evidence[]): never {
  throw new Failed(message, evidence.flatMap(describe), fix)
}

/** Fails the check unless the condition is true. The message says what the client did instead. */
export function expect(isRight: unknown, message: string, ...evidence: Evidence[]): asserts isRight {
  if (!isRight) fail(message, ...evidence)
}

/** The same as `expect`, but with a fix for this finding in place of the check's own fix. */
export function expectWithFix(
  fix: string,
  isRight: unknown,
  message: string,
  ...evidence: Evidence[]
): asserts isRight {
  if (!isRight) failWithFix(fix, message, ...evidence)
}

/**
 * Fails if the client did not answer, or answered with a status of 500 or above. The failure does not contain the
 * check's own fix, because the client's mistake is not the mistake that the check looks for.
 */
export function expectServed(page: Page, message: string): void {
  const fix =
    page.status === 0
      ? "Answer every request, including the request in the evidence. The client's output may show the error."
      : "The client itself failed. The client's output may show the error. Answer such a request with a page."
  expectWithFix(fix, page.status > 0 && page.status < 500, message, page)
}

/**
 * Returns how long a browser waited for the answers of this navigation. Time that the suite itself needs does not
 * count.
 */
export function waitedMs({ trail }: Page): number {
  return trail.reduce((sum, { durationMs }) => sum + durationMs, 0)
}

/**
 * Fails if nobody is signed in after a login that differs from a plain login. If a plain login does not work either,
 * the check ends with the finding about the plain login.
 */
export async function expectSignedIn(
  context: CheckContext,
  browser: Browser,
  message: string,
  ...evidence: Page[]
): Promise<void> {
  if (await context.isSignedIn(browser)) return
  await context.signedIn()
  fail(message, ...evidence)
}

export function statusOf({ response }: HttpExchange): number {
  return 'status' in response ? response.status : 0
}

export function isRedirect(exchange: HttpExchange): boolean {
  return statusOf(exchange) >= 300 && statusOf(exchange) < 400
}

export function bodyOf({ response }: HttpExchange): string {
  return 'body' in response ? response.body : ''
}

export function headerOf({ response }: HttpExchange, name: string): string | undefined {
  return 'headers' in response ? (response.headers.get(name) ?? undefined) : undefined
}

export function headersOf({ response }: HttpExchange): [name: string, value: string][] {
  return 'headers' in response ? [...response.headers] : []
}

export function setCookiesOf({ response }: HttpExchange): string[] {
  return 'setCookies' in response ? response.setCookies : []
}

/**
 * Describes a page without the query of its address. The evidence contains the whole address. If the browser stopped
 * the navigation, for example because of a Content-Security-Policy, the description contains the reason.
 */
export function describePage({ url, status, error }: Pick<Page, 'url' | 'status' | 'error'>): string {
  const address = url.replace(/\?.*$/s, '')
  if (error === undefined) return `status ${status} at ${address}`
  return status === 0 ? `nothing (${error}) at ${address}` : `status ${status} at ${address} (${error})`
}

function describe(what: Evidence): string[] {
  if (typeof what === 'string') return [what]
  if ('trail' in what) return what.trail.slice(-5).map(describeHttpExchange)
  return ['listener' in what ? describeStep(what) : describeHttpExchange(what)]
}
