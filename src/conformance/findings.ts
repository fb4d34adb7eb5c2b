// Words of a check for what it found: what it expects of what a browser and the platform have seen.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import type { Browser, Exchange, Page } from './browser/browser.ts'
import { Failed } from './check.ts'
import type { CheckContext } from './context.ts'
import { describeExchange, describeStep } from './report/describe.ts'

/** The client has failed unless this holds; the message says what was seen instead. */
export function expect(
  isRight: unknown,
  message: string,
  ...evidence: (Exchange | LabStep | Page | string)[]
): asserts isRight {
  if (!isRight) throw new Failed(message, evidence.flatMap(describe))
}

/** The same with advice for what was seen, where the general advice of the check would be wrong. */
export function expectOr(
  fix: string,
  isRight: unknown,
  message: string,
  ...evidence: (Exchange | LabStep | Page | string)[]
): asserts isRight {
  if (!isRight) throw new Failed(message, evidence.flatMap(describe), fix)
}

/** The client answered, and not with a failure of its own: then the advice of the check would miss the point. */
export function expectServed(page: Page, message: string): void {
  const fix =
    page.status === 0
      ? 'Answer every request, this one as well: see what the client printed at that moment.'
      : 'The client itself failed: see what it printed at that moment, and answer this case with a page.'
  expectOr(fix, page.status > 0 && page.status < 500, message, page)
}

/** How long a browser waited for all answers of this navigation; what the suite does meanwhile is not counted. */
export function waitedMs({ trail }: Page): number {
  return trail.reduce((sum, { durationMs }) => sum + durationMs, 0)
}

/** The same for a login that differs from a plain one: where no plain one works, nothing can be said of this. */
export async function expectSignedIn(
  context: CheckContext,
  browser: Browser,
  message: string,
  ...evidence: Page[]
): Promise<void> {
  if (await context.isSignedIn(browser)) return
  await context.signedIn()
  throw new Failed(message, evidence.flatMap(describe))
}

export function statusOf({ response }: Exchange): number {
  return 'status' in response ? response.status : 0
}

export function bodyOf({ response }: Exchange): string {
  return 'body' in response ? response.body : ''
}

export function headerOf({ response }: Exchange, name: string): string | undefined {
  return 'headers' in response ? (response.headers.get(name) ?? undefined) : undefined
}

export function setCookiesOf({ response }: Exchange): string[] {
  return 'setCookies' in response ? response.setCookies : []
}

/** A call with this person's token: of the API, or of the portal's page about who that is. */
export function isCallFor(step: LabStep, userId: string): boolean {
  return (step.listener === 'api' || step.kind === 'me') && step.about.userId === userId
}

/** Without the query, which the evidence has: what matters would stand behind it. */
export function describePage({ url, status, trail }: Page): string {
  const last = trail.at(-1)?.response
  const address = url.replace(/\?.*$/s, '')
  return last && 'fault' in last ? `nothing (${last.fault}) at ${address}` : `status ${status} at ${address}`
}

function describe(what: Exchange | LabStep | Page | string): string[] {
  if (typeof what === 'string') return [what]
  if ('trail' in what) return what.trail.slice(-5).map(describeExchange)
  return ['listener' in what ? describeStep(what) : describeExchange(what)]
}
