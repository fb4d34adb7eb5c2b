// What the client makes of a login portal that does not answer the exchange as it should.
import type { Page } from '../../browser/browser.ts'
import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import { runsScript } from '../../steps/page-content.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'

interface Failed {
  page: Page
  /** Calls at the token endpoint. */
  exchanges: number
  tookMs: number
}

/** A login whose exchange meets the fault. The order names the state, so other logins are not met by it. */
async function loginUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
): Promise<Failed> {
  const browser = context.browser()
  const start = await context.startLogin(browser)
  const callback = await context.authorize(start)
  await context.order(fault, { times: 5, options })
  const began = performance.now()
  // Where the client begins anew by itself, it comes to the portal again.
  const page = await browser.goOn(start.page, callback.href, {
    stopAt: url => url.origin === context.platform.portalUrl,
  })
  const tookMs = performance.now() - began
  await context.platform.settle()
  const isMet = () => context.arrived('exchange', 'trap').some(step => step.fault?.name === fault)
  // An answer that hangs is noted when the client has left.
  if (!isMet()) await context.platform.settle(2000)
  if (!isMet() && page.status !== 0)
    throw new Undecided(`The callback, which was answered with ${describePage(page)}, exchanged nothing.`)
  return { page, exchanges: (await context.exchanges()).length, tookMs }
}

function expectAnswer({ page }: Failed): void {
  expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
}

/** Somebody else can still begin a login. */
async function expectAlive(context: CheckContext): Promise<void> {
  await context.startLogin(context.browser())
}

async function expectNobodySignedIn(context: CheckContext): Promise<void> {
  const calls = context.arrived('api')
  expect(
    !calls.some(({ response }) => response.status < 400),
    'After the failed exchange the client called the API, and was answered.',
    ...calls,
  )
}

const answerWhy =
  'A visitor who comes back from the portal must learn that it did not work, and how to go on; a window that stays empty tells nothing.'
const answerFix =
  'Catch every failure of the exchange, the unreadable answers too, and show a page with a link that begins anew.'

/** What may go wrong with the answer; each leaves no session, an answer for the visitor, and a client that lives. */
const failures: [failure: string, what: string, why?: string][] = [
  ['reset', 'a connection that is reset'],
  ['reset-after', 'a connection that is reset once the portal has acted'],
  ['cut', 'a connection that is reset in the middle of the answer'],
  ['half', 'an answer that ends in the middle of its JSON'],
  ['empty', 'an empty answer'],
  ['html', 'a page in place of an answer', 'Proxies and captive networks answer 200 with a page of their own.'],
  ['not-an-object', 'null in place of an answer'],
  ['endless-header', 'a header without end'],
  ['400', 'an answer of status 400'],
  ['401', 'a portal that does not know the client'],
  ['403', 'an answer of status 403'],
  ['404', 'an answer of status 404'],
  ['429', 'a portal that is asked too often'],
  ['500', 'an answer of status 500'],
  ['502', 'an answer of status 502'],
  ['503', 'a portal that is down for maintenance'],
  ['504', 'an answer of status 504'],
]

const survivals: Row[] = failures.map(([failure, what, why]) => ({
  id: `exchange-${failure}`,
  title: `The exchange meets ${what}: the visitor gets an answer, nobody is signed in, and the client goes on`,
  rule: failure === 'endless-header' ? 'UP-04' : 'UP-06',
  why: why ?? answerWhy,
  fix: answerFix,
  async run(context) {
    expectAnswer(await loginUnder(context, `exchange-${failure}`))
    await expectNobodySignedIn(context)
    await expectAlive(context)
  },
}))

const waits: [failure: string, what: string][] = [
  ['never', 'no answer at all'],
  ['drip', 'an answer that comes one byte at a time'],
  ['endless-body', 'an answer without end'],
]

const deadlines: Row[] = waits.map(([failure, what]) => ({
  id: `exchange-${failure}`,
  title: `The exchange meets ${what}: the visitor gets an answer in time`,
  rule: 'UP-03',
  why: 'Without a deadline of its own a client waits for as long as a stranger likes, with the visitor, a socket and memory.',
  fix: 'Give the call a deadline for the whole of it, the body included.',
  longestMs: 90_000,
  async run(context) {
    const failed = await loginUnder(context, `exchange-${failure}`, failure === 'drip' ? { seconds: 0.2 } : {})
    expect(
      failed.page.status !== 0,
      `The browser had no answer after ${Math.round(failed.tookMs / 1000)} seconds.`,
      failed.page,
    )
    await expectAlive(context)
  },
}))

const redirects: Row[] = [302, 307].map(status => ({
  id: `exchange-redirect-${status}`,
  title: `The exchange follows no redirect (${status})`,
  rule: 'UP-02',
  why: 'A redirect that is followed takes code and secret to whoever it names; many HTTP libraries follow by themselves.',
  fix: 'Switch redirects off for this call and take every 3xx for a failure.',
  async run(context) {
    expectAnswer(await loginUnder(context, `exchange-redirect-${status}`))
    const trapped = requestAtTrap(context, `exchange-redirect-${status}`)
    expect(
      trapped === undefined,
      `The redirect was followed, by ${trapped?.request.method}.`,
      ...(trapped ? [trapped] : []),
    )
    await expectNobodySignedIn(context)
  },
}))

const single: [failure: string, what: string][] = [
  ['reset-after', 'was reset'],
  ['503-after', 'answered 503'],
  ['429', 'was refused as one too many'],
  ['empty-after', 'was answered with nothing'],
]

const retries: Row[] = single.map(([failure, what]) => ({
  id: `exchange-${failure}-not-repeated`,
  title: `An exchange that ${what} is not sent again`,
  rule: 'code-once',
  why: 'A code is used once: the second use is refused, and may revoke what the first has given.',
  fix: 'Retry no POST by itself; let the visitor begin anew.',
  async run(context) {
    const { exchanges } = await loginUnder(context, `exchange-${failure}`)
    expect(exchanges === 1, `${exchanges} exchanges arrived.`, ...context.arrived('exchange'))
  },
}))

export const portalFaults: Row[] = [
  ...survivals,
  ...deadlines,
  ...redirects,
  ...retries,
  {
    id: 'exchange-endless-body-left',
    title: 'The client hangs up on an answer to the exchange that grows beyond reason',
    rule: 'bounded-answers',
    why: 'A token response has a few kilobytes; without a bound on its size one answer can fill the memory before any deadline.',
    fix: 'Count the bytes of the body while reading, and stop at 64 KiB or so.',
    longestMs: 90_000,
    async run(context) {
      await loginUnder(context, 'exchange-endless-body')
      await context.platform.settle(2000)
      const took = context.arrived('exchange')[0]?.durationMs ?? 0
      // About 1.5 MB a second.
      expect(took < 2500, `The client read for ${(took / 1000).toFixed(1)} seconds.`)
    },
  },
  {
    id: 'exchange-gzip',
    title: 'An answer to the exchange that is compressed unasked is read or refused, and nothing breaks',
    rule: 'UP-04',
    why: answerWhy,
    fix: answerFix,
    async run(context) {
      expectAnswer(await loginUnder(context, 'exchange-gzip'))
      await expectAlive(context)
    },
  },
  {
    id: 'exchange-error-escaped',
    title: 'What the portal says of an error is never markup of the page',
    rule: 'oauth-sanitize',
    why: 'Text from elsewhere in a page without escaping is a script of somebody else.',
    fix: 'Show words of your own, or escape what is shown.',
    async run(context) {
      const { page } = await loginUnder(context, 'exchange-400', { error: '<img src=x onerror=alert(1)>' })
      expect(!runsScript(page, 'alert(1)'), 'The error of the portal stands in the page as markup.', page)
    },
  },
  {
    id: 'exchange-error-own-words',
    title: 'What the portal answers is not shown to the visitor',
    rule: 'generic-errors',
    why: 'It is written for the developer, not for the visitor, and may say more than he should know.',
    fix: 'Log the code of the error; show a sentence of your own and a link that begins anew.',
    async run(context) {
      const mark = 'words_of_the_portal_4711'
      const { page } = await loginUnder(context, 'exchange-400', { error: mark })
      expect(!page.body.includes(mark), 'The page shows what the portal answered.', page)
    },
  },
  ...failurePages(
    {
      place: 'exchange',
      call: 'the exchange',
      meet: async (context, failure) => (await loginUnder(context, `exchange-${failure}`)).page,
    },
    ['reset', 'html', '500'],
  ),
  {
    id: 'exchange-refused-no-loop',
    title: 'A portal that refuses every exchange does not send the visitor round and round',
    rule: 'CL-33',
    why: 'The portal remembers its visitor and sends him back at once, so a client that begins anew by itself never ends.',
    fix: 'After a failed login show a page with a link; never redirect to the login by itself.',
    isAlone: true,
    async run(context) {
      await context.order('exchange-400', { times: 50, options: { error: 'invalid_grant' } })
      const browser = context.browser()
      await context.signIn(browser).catch(() => undefined)
      const exchanges = (await context.exchanges()).length
      expect(exchanges <= 2, `One wish to sign in led to ${exchanges} exchanges.`)
    },
  },
  {
    id: 'exchange-works-again',
    title: 'When the portal is back, the same browser can sign in',
    rule: 'login-works',
    why: 'A failed login must leave nothing behind that stands in the way of the next.',
    fix: 'Clear the cookie of the login when it is over, whatever came of it.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      const browser = context.browser()
      await context.order('exchange-503')
      await context.signIn(browser)
      await context.signIn(browser)
      expect(await context.isSignedIn(browser), 'The login after the failed one does not work.')
    },
  },
  {
    id: 'exchange-retry-after',
    title: 'A portal that asks to be left alone for an hour is not waited for',
    rule: 'UP-03',
    why: 'A client that sleeps as long as Retry-After says keeps a visitor and a socket for as long as a stranger likes.',
    fix: 'Tell the visitor when to try again, and do not wait for it.',
    longestMs: 90_000,
    async run(context) {
      const { page, exchanges } = await loginUnder(context, 'exchange-503', { retryAfter: 3600 })
      expect(page.status !== 0, 'The browser had no answer after 20 seconds.', page)
      expect(exchanges === 1, `${exchanges} exchanges arrived.`)
    },
  },
  {
    id: 'me-down',
    title: 'A login works although the portal cannot say the name of the visitor',
    rule: 'name-is-optional',
    why: 'Who somebody is, is nice to have; the token is what a login is for.',
    fix: 'Ask for the name with a short deadline, and do without it.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      await context.order('me-503', { times: 5 })
      const browser = context.browser()
      const page = await context.signIn(browser)
      const isSignedIn = await context.isSignedIn(browser)
      await context.dropFaults()
      // If a plain login does not work either, this says nothing.
      if (!isSignedIn) await context.signedIn()
      expect(isSignedIn, `Nobody is signed in. The login ended with ${describePage(page)}.`, page)
    },
  },
]
