// How the client handles a login portal that answers the exchange wrongly or not at all.
import type { Page } from '../../browser/browser.ts'
import { type Row, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { failurePages } from '../../steps/failure-pages.ts'
import { isBareFailure, runsScript } from '../../steps/page-content.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'

interface Failed {
  page: Page
  /** Calls of the token endpoint. */
  exchanges: number
  tookMs: number
}

/** A login whose exchange meets the fault. The fault names the state, so it does not affect other logins. */
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
  // A client that starts again by itself comes to the portal again.
  const page = await browser.goOn(start.page, callback.href, {
    stopAt: url => url.origin === context.platform.portalUrl,
  })
  const tookMs = performance.now() - began
  await context.platform.settle()
  const isMet = () => context.arrived('exchange', 'trap').some(step => step.fault?.name === fault)
  // The sandbox records an answer that hangs only after the client has closed the connection.
  if (!isMet()) await context.platform.settle(2000)
  if (!isMet() && page.status !== 0)
    throw new Undecided(`The callback, which was answered with ${describePage(page)}, exchanged nothing.`)
  return { page, exchanges: (await context.exchanges()).length, tookMs }
}

function expectAnswer({ page }: Failed): void {
  expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
  expect(!isBareFailure(page), 'The answer is a plain failure: status 500 without a text of the client.', page)
}

/** Somebody else can still begin a login. */
async function expectAlive(context: CheckContext): Promise<void> {
  await context.startLogin(context.browser())
}

async function expectNobodySignedIn(context: CheckContext): Promise<void> {
  const calls = context.arrived('api')
  expect(
    !calls.some(({ response }) => response.status < 400),
    'After the failed exchange the client called the API and got an answer.',
    ...calls,
  )
}

const answerWhy =
  'A visitor who comes back from the portal must learn that the login failed, and how to go on. An empty window says neither.'
const answerFix =
  'Catch every failure of the exchange, including unreadable answers, and show a page with a link that starts again.'

/** Faults of the answer. With each one there is no session, the visitor gets an answer, and the client keeps running. */
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
  title: `The exchange meets ${what}: the visitor gets an answer, nobody is signed in, and the client keeps running`,
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
  why: 'Without a deadline the client waits for as long as the other side likes, and holds the visitor, a socket and memory.',
  fix: 'Give the call one deadline that includes the body.',
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
  why: 'A client that follows the redirect sends the code and the secret to any host that it names. Many HTTP libraries follow redirects by default.',
  fix: 'Switch redirects off for this call, and treat every 3xx as a failure.',
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
  ['429', 'was refused because of too many calls'],
  ['empty-after', 'got an empty answer'],
]

const retries: Row[] = single.map(([failure, what]) => ({
  id: `exchange-${failure}-not-repeated`,
  title: `An exchange that ${what} is not sent again`,
  rule: 'code-once',
  why: 'A code counts once. A second use is refused, and may revoke the tokens of the first.',
  fix: 'Retry no POST automatically. Let the visitor start again.',
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
    title: 'The client closes the connection if the answer to the exchange grows too large',
    rule: 'bounded-answers',
    why: 'A token response has a few kilobytes. Without a limit one answer can fill the memory before any deadline.',
    fix: 'Count the bytes of the body while reading, and stop at about 64 KiB.',
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
    title:
      'The client reads or refuses a compressed answer to the exchange that it did not ask for, and nothing breaks',
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
    title: 'The text of a portal error is never markup of the page',
    rule: 'oauth-sanitize',
    why: 'Text from elsewhere that a page does not escape can run as a script.',
    fix: 'Show words of your own, or escape the text.',
    async run(context) {
      const { page } = await loginUnder(context, 'exchange-400', { error: '<img src=x onerror=alert(1)>' })
      expect(!runsScript(page, 'alert(1)'), 'The error of the portal is markup on the page.', page)
    },
  },
  {
    id: 'exchange-error-own-words',
    title: 'The text of a portal error is not shown to the visitor',
    rule: 'generic-errors',
    why: 'It is written for developers, and may say more than a visitor should know.',
    fix: 'Log the code of the error. Show a sentence of your own and a link that starts again.',
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
    title: 'If the portal refuses every exchange, the visitor is not sent back and forth without end',
    rule: 'CL-33',
    why: 'The portal remembers its visitors and sends them back at once, so a client that starts again by itself never ends.',
    fix: 'After a failed login show a page with a link. Never redirect to the login by yourself.',
    isAlone: true,
    async run(context) {
      await context.order('exchange-400', { times: 50, options: { error: 'invalid_grant' } })
      const browser = context.browser()
      await context.signIn(browser).catch(() => undefined)
      const exchanges = (await context.exchanges()).length
      expect(exchanges <= 2, `One attempt to sign in led to ${exchanges} exchanges.`)
    },
  },
  {
    id: 'exchange-works-again',
    title: 'When the portal is back, the same browser can sign in',
    rule: 'login-works',
    why: 'A failed login must leave nothing that blocks the next one.',
    fix: 'Delete the cookie of the login when it is over, whatever its result.',
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
    title: 'The client does not wait for an hour when the portal asks for it in Retry-After',
    rule: 'UP-03',
    why: 'A client that sleeps for as long as Retry-After says holds a visitor and a socket for any time that the other side likes.',
    fix: 'Tell the visitor when to try again, and do not wait.',
    longestMs: 90_000,
    async run(context) {
      const { page, exchanges } = await loginUnder(context, 'exchange-503', { retryAfter: 3600 })
      expect(page.status !== 0, 'The browser had no answer after 20 seconds.', page)
      expect(exchanges === 1, `${exchanges} exchanges arrived.`)
    },
  },
  {
    id: 'me-down',
    title: 'A login works although the portal cannot tell the name of the visitor',
    rule: 'name-is-optional',
    why: 'The purpose of a login is the token. The name is an extra.',
    fix: 'Ask for the name with a short deadline, and go on without it.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      await context.order('me-503', { times: 5 })
      const browser = context.browser()
      const page = await context.signIn(browser)
      const isSignedIn = await context.isSignedIn(browser)
      await context.dropFaults()
      // If a plain login does not work either, this proves nothing.
      if (!isSignedIn) await context.signedIn()
      expect(isSignedIn, `Nobody is signed in. The login ended with ${describePage(page)}.`, page)
    },
  },
]
