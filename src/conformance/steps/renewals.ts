// Opens the page behind the login after the access token has expired, while the sandbox answers the renewal with a
// fault.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import { ReportedElsewhere } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect, failWithFix } from '../findings.ts'
import type { Person } from '../platform.ts'
import { isRenewal } from '../platform-calls.ts'
import { fieldsOf, tokensOf } from '../tokens.ts'
import { expiredSession, renewalIn, visitPage } from './sessions.ts'

/**
 * Waits until the last renewal no longer has an effect. For a few seconds after a renewal, a client may use the answer
 * again. For ten seconds, the portal accepts the replaced refresh token.
 */
export const forgetRenewal = ({ pause }: CheckContext): Promise<void> => pause(12_000)

/** Ends the check if the portal refused the renewal. */
export function grantedIn(renewal: LabStep): LabStep {
  if (renewal.response.status !== 200 || !tokensOf(renewal))
    throw new ReportedElsewhere('the portal refused the renewal')
  return renewal
}

export interface Renewing {
  browser: Browser
  person: Person
  page: Page
  /** The steps that arrived at the platform during the visit. */
  steps: LabStep[]
  renewal: LabStep
  /** All renewals during the visit. */
  renewals: LabStep[]
}

/**
 * Makes an access token expire, and opens the page. Ends the check if the client does not renew the session, or does
 * not answer.
 */
export async function renewUnder(
  context: CheckContext,
  fault?: string,
  options: Record<string, unknown> = {},
  times: number | 'always' = 5,
): Promise<Renewing> {
  return renewNow(context, await expiredSession(context), fault, options, times)
}

/** Does the same as renewUnder, for a session whose access token has already expired (expiredSession). */
export async function renewNow(
  context: CheckContext,
  { browser, person }: { browser: Browser; person: Person },
  fault?: string,
  options: Record<string, unknown> = {},
  times: number | 'always' = 5,
): Promise<Renewing> {
  if (fault) await context.order(fault, { times, options })
  const visit = await visitPage(context, browser)
  expect(visit.page.status !== 0, `The request for the page got no answer: ${visit.page.error}.`, visit.page)
  const renewal = renewalIn(context, visit)
  return { browser, person, ...visit, renewal, renewals: visit.steps.filter(isRenewal) }
}

/**
 * Removes the fault, and fails if the visitor is then no longer signed in. Tries for `longestMs`, because the client
 * may remember for a while that the platform was down.
 */
export async function expectBack(
  context: CheckContext,
  { browser, page }: Pick<Renewing, 'browser' | 'page'>,
  when = 'When the portal works again',
  longestMs = 15_000,
): Promise<void> {
  await context.dropFaults()
  const end = performance.now() + longestMs
  let isBack = await context.isSignedIn(browser)
  while (!isBack && performance.now() < end) {
    await context.pause(3000)
    isBack = await context.isSignedIn(browser)
  }
  expect(isBack, `${when}, the visitor is no longer signed in.`, page)
}

/**
 * Fails if the steps of a visit contain a renewal, although the session was renewed before this visit. If the renewal
 * sends a refresh token that an earlier renewal returned, the client has stored the new tokens, but not their lifetime.
 */
export function expectNoRenewal(context: CheckContext, steps: LabStep[], ...evidence: Page[]): void {
  const renewals = steps.filter(isRenewal)
  const [again] = renewals
  if (!again) return
  const earlier = context.arrived('refresh').filter(step => step !== again)
  const isStored = earlier.some(step => tokensOf(step)?.refresh_token === fieldsOf(again).refresh_token)
  failWithFix(
    isStored
      ? 'The client has stored the new tokens, but not their lifetime. After a renewal, compute the expiry of the access token again, from the expires_in of the renewal.'
      : 'After every renewal, set the new cookies in the answer to the browser, even if this answer is a redirect or an error. If the server keeps the tokens, store the new tokens there.',
    isStored
      ? 'The next page renews again, with the new refresh token, although the new access token has not expired.'
      : 'The next page renews again, with an old refresh token.',
    ...evidence,
    ...renewals,
  )
}
