// Checks on signing out in one tab while a page in another tab renews the session, or has renewed it and waits for the
// API.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, fail } from '../../findings.ts'
import { isAcceptedCall } from '../../platform-calls.ts'
import { renewalIn, visitPage } from '../../steps/sessions.ts'
import { type OpenSignOut, openExpired, openSignOut, requireSessionAtServer } from '../../steps/sign-out.ts'
import { tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

/** The check waits at most this long for the client to begin the late call. It then signs the visitor out. */
const untilLateCallMs = { refresh: 1500, api: 4000 }

/**
 * If a sign-out began at least this long before the page arrived, and ended after the page, the sign-out has waited for
 * the page.
 */
const waitingMs = 500

/** The time at which the last answer of a navigation had arrived, in milliseconds. */
function endOf({ trail }: Page): number {
  const last = trail.at(-1)!
  return last.startedAt + last.durationMs
}

interface SignedOut {
  browser: Browser
  /** A browser with the cookies from before the sign-out. */
  copy: Browser
  /** The page that renewed the session. */
  late: Page
  renewal: LabStep
}

/** Signs in, opens the sign-out form, and lets only the API refuse the access token. */
async function openRefused(context: CheckContext): Promise<OpenSignOut> {
  const { browser, person, page } = await context.signedIn()
  const send = await openSignOut(context, browser, page)
  await context.platform.endAccessTokens(person)
  return { browser, send }
}

/**
 * Opens a page whose session must be renewed, and signs out in another tab while the page waits for a call. `lateCall`:
 * the call that takes two seconds. The portal refuses every revocation, so the new tokens stay valid. Ends the check if
 * the answer to the sign-out arrives after the page.
 */
async function signOutDuringPage(
  context: CheckContext,
  { browser, send }: OpenSignOut,
  lateCall: 'refresh' | 'api' = 'refresh',
): Promise<SignedOut> {
  const copy = browser.copy()
  const fault = `${lateCall}-late-after`
  // Some clients renew only after the API has refused a first call.
  await context.order(fault, { times: lateCall === 'api' ? 2 : 1, options: { seconds: 2 } })
  await context.order('revoke-503', { times: 'always' })
  await context.platform.settle()
  const renewalsBefore = context.arrived('refresh').length
  const isWaiting = () =>
    context.timesMet(fault) > 0 && (lateCall === 'refresh' || context.arrived('refresh').length > renewalsBefore)
  const loading = visitPage(context, browser.newTab())
  const end = performance.now() + untilLateCallMs[lateCall]
  while (!isWaiting() && performance.now() < end) await context.pause(50)
  const out = await send()
  const visit = await loading
  await context.platform.settle(1000)
  await context.dropFaults()
  const renewal = renewalIn(context, visit)
  const pageEndedAt = endOf(visit.page)
  const isPageLast = pageEndedAt > endOf(out)
  if (isPageLast && tokensOf(renewal)) return { browser, copy, late: visit.page, renewal }
  const hasWaited = !isPageLast && out.trail[0]!.startedAt < pageEndedAt - waitingMs
  if (hasWaited && tokensOf(renewal))
    throw new NotApplicable('the client answers a sign-out only after the page that renews the same session')
  throw new Undecided('The page arrived before the visitor had signed out, or the renewal failed.')
}

/**
 * Signs out during a renewal, and calls `judge`. Does this twice, because some clients renew the session only if the
 * lifetime of the access token is over, and other clients only if the API refuses the access token. Ends the check if
 * no renewal could be judged.
 */
async function judgeSignOuts(
  context: CheckContext,
  judge: (signedOut: SignedOut, open: typeof openExpired) => Promise<void>,
): Promise<void> {
  const ways = [openRefused, openExpired]
  const reasons: Error[] = []
  for (const open of ways) {
    const signedOut = await signOutDuringPage(context, await open(context)).catch((error: Error) => error)
    if (!(signedOut instanceof Error)) await judge(signedOut, open)
    else if (signedOut instanceof NotApplicable || signedOut instanceof Undecided) reasons.push(signedOut)
    else throw signedOut
  }
  if (reasons.length < ways.length) return
  throw reasons.find(reason => reason instanceof Undecided) ?? reasons[0]
}

export const duringRenewal: CheckDefinition[] = [
  {
    id: 'logout-during-renewal',
    title: 'If a renewal ends only after the visitor has signed out, the renewal does not sign the visitor in again',
    rule: 'late-renewal',
    why: 'A page can wait for a renewal while the visitor signs out in another tab. The browser then gets this page only after the answer to the sign-out. In this check, the sandbox also makes the revocation fail, because any call can fail. This check only warns: without shared memory, an instance of the client cannot know that the visitor has signed out at another instance.',
    fix: 'After a renewal, check whether the visitor has signed out in the meantime. If so, set no cookies, do not store the new tokens, and revoke the new tokens.',
    needs,
    longestMs: 90_000,
    run: context => judgeSignOuts(context, signedOut => expectSignedOut(context, signedOut)),
  },
  {
    id: 'logout-during-slow-page',
    title:
      'If a page has renewed the session and then waits for the API, and the visitor signs out meanwhile, the late page does not sign the visitor in again',
    rule: 'late-renewal',
    why: 'The late answer contains the cookies with the new tokens. The browser gets this answer only after the answer to the sign-out. In this check, the sandbox also makes the revocation fail, because any call can fail. This check only warns: without shared memory, an instance of the client cannot know that the visitor has signed out at another instance.',
    fix: 'Just before each answer that sets session cookies, check whether the visitor has signed out in the meantime. A check directly after the renewal is too early.',
    needs,
    longestMs: 90_000,
    run: async context => expectSignedOut(context, await signOutDuringPage(context, await openExpired(context), 'api')),
  },
  {
    id: 'logout-during-renewal-at-server',
    title:
      'If the client keeps sessions on the server, and a renewal ends only after the visitor has signed out, the renewal does not store the session again',
    rule: 'late-renewal',
    why: 'A page can wait for a renewal while the visitor signs out in another tab. If the client then stores the session with the new tokens, the session that the sign-out has deleted exists again, and a copy of its cookie works. This check does not apply to clients whose whole session is in cookies.',
    fix: 'After a renewal, change the session only if it still exists. Do not create it again. If the visitor has signed out in the meantime, revoke the new tokens.',
    needs,
    longestMs: 90_000,
    run: context =>
      judgeSignOuts(context, async ({ copy, late, renewal }, open) => {
        if (!(await context.isSignedIn(copy))) return
        await requireSessionAtServer(context, await open(context))
        fail(
          'A renewal ended after the visitor had signed out. With a copy of the cookies from before the sign-out, a browser is then signed in. Without such a renewal, the copy does not work after a sign-out.',
          late,
          renewal,
        )
      }),
  },
]

/** Fails if the browser is signed in again after the late answer. */
async function expectSignedOut(context: CheckContext, { browser, late }: SignedOut): Promise<void> {
  const { page, steps } = await visitPage(context, browser)
  // A call of the late page may still be running.
  const calls = steps.filter(step => isAcceptedCall(step) && step.at.getTime() >= page.trail[0]!.startedAt)
  expect(calls.length === 0, 'After the late answer, the visitor is signed in on the next page.', late, page, ...calls)
}
