// Checks how the client behaves if the login portal answers the exchange wrongly or not at all.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { failurePages, oddPausePage } from '../../steps/failure-pages.ts'
import { expectCallEnds } from '../../steps/hanging-calls.ts'
import { expectNameNotAskedAtEachVisit } from '../../steps/name-calls.ts'
import { oddPortalAnswers } from '../../steps/odd-answers.ts'
import { isBareFailure, runsScript } from '../../steps/page-content.ts'
import { rareRedirects, redirectAway, requestAtTrap } from '../../steps/redirect-trap.ts'
import { slowErrors } from './slow-errors.ts'

interface FailedLogin {
  page: Page
  /** The exchanges of this login that arrived at the portal. */
  exchanges: LabStep[]
  tookMs: number
}

const descriptionOfPortal = 'Words of the portal 4713'

/**
 * Runs a login whose exchange gets the fault. The fault applies only to the state of this login, so it does not affect
 * other logins.
 */
async function loginUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
): Promise<FailedLogin> {
  const browser = context.browser()
  const start = await context.startLogin(browser)
  const callback = await context.authorize(start)
  await context.order(fault, { times: 5, options })
  const earlier = context.arrived('exchange', 'trap').length
  const began = performance.now()
  // Some clients begin a new login after the failure, and redirect to the portal again.
  const page = await browser.goOn(start.page, callback.href, context.beforePortal)
  const tookMs = performance.now() - began
  await context.platform.settle()
  const ownSteps = () => context.arrived('exchange', 'trap').slice(earlier)
  const isRecorded = () => ownSteps().some(step => step.fault?.name === fault)
  // If a fault leaves a request without an answer, the sandbox records the request only after the client has closed the
  // connection.
  if (!isRecorded()) await context.platform.settle(2000)
  // Some clients keep the connection open for a few seconds after they have answered the visitor.
  for (let tries = 0; tries < 5 && !isRecorded() && page.status !== 0; tries++) await context.pause(1000)
  if (!isRecorded() && context.timesMet(fault) === 0 && page.status !== 0)
    throw new Undecided(
      `The fault that this check had ordered did not affect any exchange of the client. The client answered the callback with ${describePage(page)}.`,
    )
  return { page, exchanges: ownSteps().filter(({ kind }) => kind === 'exchange'), tookMs }
}

function expectAnswer({ page }: FailedLogin): void {
  expect(page.status !== 0, `The browser got ${describePage(page)}.`, page)
  expect(
    !isBareFailure(page),
    'The answer is the default error page of a server: status 500, with no text from the client.',
    page,
  )
}

/** Fails if the client repeated the exchange. Ends the check if the client made no exchange. */
function expectOneExchange(exchanges: LabStep[], message: string): void {
  if (exchanges.length === 0) throw new Undecided('The client made no exchange.')
  expect(exchanges.length === 1, `${message} ${exchanges.length} exchanges.`, ...exchanges)
}

/** Fails unless another visitor can still begin a login. */
async function expectAlive(context: CheckContext): Promise<void> {
  await context.startLogin(context.browser())
}

async function expectNobodySignedIn(context: CheckContext): Promise<void> {
  const calls = context.arrived('api')
  expect(
    !calls.some(({ response }) => response.status < 400),
    'After the failed exchange, the client made a successful API call.',
    ...calls,
  )
}

const answerWhy =
  'A visitor who returns from the portal and sees no page, or a page without an explanation, does not know that the login failed.'
const answerFix =
  'Catch every failure of the exchange, including unreadable answers, and show a page with a link to a new login.'

/**
 * Faults of the portal's answer to the exchange. With each fault, the client must answer the visitor and keep running,
 * and must not create a session.
 */
const failures: [failure: string, what: string, why?: string][] = [
  ['reset', 'the portal resets the connection of the exchange'],
  ['reset-after', 'the portal issues the tokens and then resets the connection'],
  ['cut', 'the portal resets the connection in the middle of its answer'],
  ['half', 'the answer to the exchange ends in the middle of its JSON'],
  ['empty', 'the answer to the exchange is empty'],
  [
    'html',
    'the portal answers the exchange with a web page',
    'A proxy or a public network can answer in place of the portal, with status 200 and a web page.',
  ],
  ['not-an-object', 'the portal answers the exchange with null'],
  ['endless-header', 'the answer to the exchange has a header that never ends'],
  ['400', 'the portal answers the exchange with status 400'],
  ['401', 'the portal does not know the client (401)'],
  ['403', 'the portal answers the exchange with status 403'],
  ['404', 'the portal answers the exchange with status 404'],
  ['429', 'the portal refuses the exchange because of too many calls (429)'],
  ['500', 'the portal answers the exchange with status 500'],
  ['502', 'the portal answers the exchange with status 502'],
  ['503', 'the portal is down for maintenance (503)'],
  ['504', 'the portal answers the exchange with status 504'],
]

const survivals: CheckDefinition[] = failures.map(([failure, what, why]) => ({
  id: `exchange-${failure}`,
  title: `If ${what}, the visitor gets an answer but is not signed in, and the client keeps running`,
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
  ['never', 'the portal does not answer the exchange'],
  ['drip', 'the portal answers the exchange one byte at a time'],
  ['endless-body', 'the answer to the exchange never ends'],
  ['slow-header', 'the headers of the answer to the exchange come one byte at a time'],
]

const deadlines: CheckDefinition[] = waits.map(([failure, what]) => ({
  id: `exchange-${failure}`,
  title: `If ${what}, the visitor gets an answer in time${failure === 'never' ? ', and the client ends the exchange' : ''}`,
  rule: 'UP-03',
  why: 'Without a deadline, the client waits until the portal finishes its answer. Meanwhile, the visitor waits, and the request uses a socket and memory.',
  fix: 'Set one deadline for the whole exchange, including the body of the answer. A timeout for each read is not enough. When the deadline passes, close the connection on which the client made the exchange.',
  longestMs: 90_000,
  async run(context) {
    const failed = await loginUnder(context, `exchange-${failure}`, failure === 'drip' ? { seconds: 0.2 } : {})
    expect(
      failed.page.status !== 0,
      `The browser got no answer within ${Math.round(failed.tookMs / 1000)} seconds.`,
      failed.page,
    )
    if (failure === 'never') await expectCallEnds(context, 'exchange', 'exchange-never')
    await expectAlive(context)
  },
}))

const redirects: CheckDefinition[] = [302, 307].map(status => ({
  id: `exchange-redirect-${status}`,
  title: `If the portal redirects the exchange (status ${status}), the client does not follow the redirect`,
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the code and the secret to an address that it has not chosen. Many HTTP libraries follow redirects by default.',
  fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
  async run(context) {
    expectAnswer(await loginUnder(context, `exchange-redirect-${status}`))
    const trapped = requestAtTrap(context, `exchange-redirect-${status}`)
    expect(
      trapped === undefined,
      `The client followed the redirect with ${trapped?.request.method}.`,
      ...(trapped ? [trapped] : []),
    )
    await expectNobodySignedIn(context)
  },
}))

const otherRedirects: CheckDefinition = {
  id: 'exchange-redirect-others',
  title: 'If the portal redirects the exchange with status 301, 303 or 308, the client does not follow the redirect',
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the code and the secret to an address that it has not chosen. Some clients refuse only 302 and 307.',
  fix: 'Switch off redirects for this call, and treat every 3xx as a failure.',
  async run(context) {
    for (const status of rareRedirects) {
      const { options, expectNotFollowed } = redirectAway(context, status)
      expectAnswer(await loginUnder(context, 'exchange-answer', options))
      await context.dropFaults()
      expectNotFollowed()
    }
    await expectNobodySignedIn(context)
  },
}

const single: [failure: string, what: string][] = [
  ['reset-after', 'the portal resets the connection of the exchange'],
  ['503-after', 'the portal answers the exchange with status 503'],
  ['429', 'the portal refuses the exchange because of too many calls (429)'],
  ['empty-after', 'the answer to the exchange is empty'],
]

const retries: CheckDefinition[] = single.map(([failure, what]) => ({
  id: `exchange-${failure}-not-repeated`,
  title: `If ${what}, the client does not repeat the exchange`,
  rule: 'code-once',
  why: 'A code is valid only once. The portal refuses a second exchange with the same code, and may revoke the tokens of the first exchange.',
  fix: 'Never repeat a POST automatically. Show a page with a link to a new login.',
  async run(context) {
    const { exchanges } = await loginUnder(context, `exchange-${failure}`)
    expectOneExchange(exchanges, 'The client made')
  },
}))

export const portalFaults: CheckDefinition[] = [
  ...survivals,
  ...deadlines,
  ...redirects,
  otherRedirects,
  {
    id: 'exchange-odd-answers',
    title:
      'If the answer to the exchange has an unusual format, the visitor gets an answer but is not signed in, and the client keeps running',
    rule: 'UP-06',
    why: 'The error field can have a wrong type, Retry-After can be a date, and a proxy can send other JSON. Code that expects the usual format raises an error, and the visitor gets no explanation.',
    fix: 'Check the type of each value in an error answer before you use it. Catch every error of the JSON library, including the error for JSON that is nested very deeply.',
    longestMs: 90_000,
    async run(context) {
      for (const { what, kind, options } of oddPortalAnswers) {
        const { page, exchanges } = await loginUnder(context, `exchange-${kind}`, options)
        await context.dropFaults()
        if (exchanges.length === 0) throw new Undecided('The client made no exchange.')
        expect(page.status !== 0, `After ${what}, the browser got ${describePage(page)}.`, page)
        expect(
          !isBareFailure(page),
          `After ${what}, the answer is the default error page of a server: status 500, with no text from the client.`,
          page,
        )
      }
      await expectNobodySignedIn(context)
      await expectAlive(context)
    },
  },
  oddPausePage({
    place: 'exchange',
    call: 'the exchange',
    async meet(context, failure, options) {
      return (await loginUnder(context, `exchange-${failure}`, options)).page
    },
  }),
  ...retries,
  ...slowErrors,
  {
    id: 'exchange-endless-body-left',
    title: 'The client closes the connection if the answer to the exchange grows too large',
    rule: 'bounded-answers',
    why: 'A token response is a few kilobytes long. Without a limit, one very long answer can fill the memory before the deadline passes.',
    fix: 'Count the bytes of the body while you read it, and stop at about 64 KiB.',
    longestMs: 90_000,
    async run(context) {
      const { page } = await loginUnder(context, 'exchange-endless-body')
      expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
      const took = context.arrived('exchange')[0]?.durationMs
      expect(
        took !== undefined,
        'Seven seconds after its answer to the visitor, the client still has not closed the connection to the portal.',
      )
      // The sandbox sends about 1.5 MB per second.
      expect(took < 3500, `The client read the endless answer for ${(took / 1000).toFixed(1)} seconds.`)
    },
  },
  {
    id: 'exchange-never-not-repeated',
    title: 'If the portal does not answer the exchange, the client does not repeat the exchange',
    rule: 'code-once',
    why: 'Perhaps the portal has already exchanged the code. It then refuses a second exchange with the same code, and may revoke the tokens of the first exchange.',
    fix: 'Never repeat a POST automatically, not even after a timeout. Show a page with a link to a new login.',
    longestMs: 90_000,
    async run(context) {
      const { page } = await loginUnder(context, 'exchange-never')
      expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
      const exchanges = context.timesMet('exchange-never')
      expect(exchanges === 1, `The client made ${exchanges} exchanges.`, page)
    },
  },
  {
    id: 'exchange-failed-not-repeated',
    title: 'If the exchange fails in any way, the client does not repeat the exchange',
    rule: 'code-once',
    why: 'A code is valid only once. The portal refuses a second exchange with the same code, and may revoke the tokens of the first exchange.',
    fix: 'Never repeat a POST automatically. Show a page with a link to a new login.',
    longestMs: 90_000,
    async run(context) {
      const failures: [failure: string, options?: Record<string, unknown>][] = [
        ...['500', '502', '504', '408', 'cut', 'half', 'html', 'not-an-object'].map((failure): [string] => [failure]),
        // Some clients repeat a call only if the answer asks for a short pause.
        ['503', { retryAfter: 1 }],
        ['429', { retryAfter: 1 }],
      ]
      for (const [failure, options] of failures) {
        const { exchanges } = await loginUnder(context, `exchange-${failure}`, options)
        const what = `the fault exchange-${failure}${options ? ' and Retry-After: 1' : ''}`
        expectOneExchange(exchanges, `With ${what}, the client made`)
        await context.dropFaults()
      }
    },
  },
  {
    id: 'exchange-large-refused',
    title: 'The client limits the size of a token response',
    rule: 'UP-04',
    why: 'A client that reads an answer of any size fills the memory that all visitors share.',
    fix: 'Count the bytes of the answer while you read it, and stop at about 64 KiB.',
    needs: ['page'],
    longestMs: 90_000,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-large')
      const page = await followCallback(context, browser, callback)
      expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
      if (context.timesMet('exchange-large') === 0) throw new Undecided('The client made no exchange.')
      await context.dropFaults()
      expect(
        !(await context.isSignedIn(browser)),
        'The client accepted a token response of 32 MiB, and signed the visitor in.',
        page,
      )
    },
  },
  {
    id: 'exchange-failed-keeps-session',
    title:
      'If a signed-in visitor begins another login, and the exchange of this login fails, the visitor stays signed in',
    rule: 'UP-06',
    why: 'A failure of the portal says nothing about the session that the visitor already has.',
    fix: 'Replace the session only after a successful exchange. Do not end the earlier session at the beginning of the callback or after an error.',
    needs: ['page'],
    longestMs: 90_000,
    async run(context) {
      for (const fault of [
        'exchange-503',
        'exchange-400',
        'exchange-reset',
        'exchange-html',
        // The next two answers contain tokens, but the client must refuse the answers.
        'exchange-access-token-missing',
        'exchange-token-type-mac',
      ]) {
        const { browser } = await context.signedIn()
        const start = await context.startLogin(browser)
        const callback = await context.authorize(start)
        await context.order(fault, { times: 1, state: start.state })
        const page = await followCallback(context, browser, callback, context.beforePortal)
        if (context.timesMet(fault) === 0) throw new Undecided('The client made no exchange for the second login.')
        await context.dropFaults()
        expect(
          await context.isSignedIn(browser),
          `After the fault ${fault} in a second login, the visitor is no longer signed in.`,
          page,
        )
      }
    },
  },
  {
    id: 'exchange-gzip',
    title:
      'If the portal compresses its answer to the exchange although the client did not ask for compression, the visitor gets a page and the client keeps running',
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
    title: 'If the portal refuses the exchange with an error message that contains markup, the page escapes the markup',
    rule: 'oauth-sanitize',
    why: 'If a page does not escape text from another server, a script in the text can run.',
    fix: 'Show your own words, or escape the text.',
    async run(context) {
      const { page } = await loginUnder(context, 'exchange-400', { error: '<img src=x onerror=alert(1)>' })
      expect(!runsScript(page, 'alert(1)'), 'The page contains the error text of the portal without escaping.', page)
    },
  },
  {
    id: 'exchange-error-own-words',
    title: 'If the portal refuses the exchange with an error message, the page does not show this message',
    rule: 'generic-errors',
    why: 'Error text is meant for developers, and may contain details that help an attacker.',
    fix: 'Log the error code. Show your own sentence and a link to a new login.',
    async run(context) {
      const mark = 'words_of_the_portal_4711'
      const { page } = await loginUnder(context, 'exchange-400', { error: mark })
      expect(!page.body.includes(mark), 'The page shows the error text of the portal.', page)
    },
  },
  {
    id: 'exchange-error-description',
    title:
      'If the portal refuses the exchange with status 400, 401 or 500, the page does not show the error_description in the answer',
    rule: 'PG-20',
    why: "The description is for developers, and may contain details that help an attacker. Many libraries put the portal's whole answer into their error message.",
    fix: 'Show your own sentence and a link to a new login. Do not show the message of an error that a library throws.',
    async run(context) {
      for (const status of [400, 401, 500]) {
        const answer = { error: 'invalid_grant', error_description: descriptionOfPortal }
        const options = { status, body: JSON.stringify(answer), type: 'application/json; charset=utf-8' }
        const { page } = await loginUnder(context, 'exchange-answer', options)
        await context.dropFaults()
        expect(
          !page.body.includes(descriptionOfPortal),
          `The portal answered the exchange with status ${status}, and the page shows the error_description of this answer.`,
          page,
        )
      }
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
    title: 'If the portal refuses every exchange, the client does not begin new logins again and again',
    rule: 'CL-33',
    why: 'If a visitor is signed in at the portal, the portal redirects the visitor to the client at once. If the client begins a new login after each failure, the redirects never end.',
    fix: 'After a failed login, show a page with a link to a new login. Never begin a new login automatically.',
    isAlone: true,
    async run(context) {
      await context.order('exchange-400', { times: 50, options: { error: 'invalid_grant' } })
      const browser = context.browser()
      await context.signIn(browser)
      const exchanges = (await context.codeExchanges()).length
      if (exchanges === 0) throw new Undecided('The client made no exchange.')
      expect(exchanges <= 2, `One attempt to sign in led to ${exchanges} exchanges.`)
    },
  },
  {
    id: 'exchange-works-again',
    title: 'After a login that failed because of the portal, the same browser can sign in when the portal works again',
    rule: 'login-works',
    why: 'If a failed login leaves a cookie or a record that blocks the next login, the visitor cannot sign in any more.',
    fix: 'Delete the cookie of a login when the login ends, whether it succeeds or fails.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      const browser = context.browser()
      await context.order('exchange-503')
      await context.signIn(browser)
      await context.signIn(browser)
      expect(await context.isSignedIn(browser), 'The login after the failed login does not work.')
    },
  },
  {
    id: 'exchange-retry-after',
    title: 'If the portal answers the exchange with a Retry-After of one hour, the visitor gets an answer in time',
    rule: 'UP-03',
    why: 'If the client waits for the time in Retry-After, the visitor waits for an hour. If the client repeats the exchange at once, it ignores the pause that the portal asked for.',
    fix: 'Answer at once with a page that says when to try again, and do not repeat the exchange.',
    longestMs: 90_000,
    async run(context) {
      const { page, exchanges } = await loginUnder(context, 'exchange-503', { retryAfter: 3600 })
      expect(page.status !== 0, 'The browser got no answer within 20 seconds.', page)
      expectOneExchange(exchanges, 'The client made')
    },
  },
  {
    id: 'me-down',
    title: 'If the portal does not send the name of the visitor, the login still works',
    rule: 'name-is-optional',
    why: 'The client needs the token for the API, but the name is only for display.',
    fix: 'Ask for the name with a short deadline. If no name arrives, continue the login without the name.',
    needs: ['page'],
    isAlone: true,
    async run(context) {
      await context.order('me-503', { times: 5 })
      const browser = context.browser()
      const page = await context.signIn(browser)
      const isSignedIn = await context.isSignedIn(browser)
      await context.dropFaults()
      // Also tries a login without the fault. If this login fails, too, the check ends here, because the missing name
      // is not the cause.
      if (!isSignedIn) await context.signedIn()
      expect(isSignedIn, `Nobody is signed in. The login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'me-slow-header',
    title: 'If the portal sends the name of the visitor one byte at a time, the visitor gets an answer in time',
    rule: 'UP-03',
    why: 'Without a deadline, the visitor waits for a name that is only for display. This check allows 20 seconds.',
    fix: 'Set one deadline for the whole call, including the body of its answer. If the deadline passes, continue the login without the name.',
    needs: ['page'],
    longestMs: 90_000,
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      const callback = await context.authorize(start)
      await context.order('me-slow-header', { times: 5 })
      const landed = await browser.goOn(start.page, callback.href)
      const page = landed.status === 0 ? landed : await browser.newTab().visit(context.url(context.settings.page))
      // If a fault leaves a request without an answer, the sandbox records the request only after the client has closed
      // the connection.
      await context.platform.settle(2000)
      expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
      if (!context.arrived('me').some(({ fault }) => fault))
        throw new NotApplicable('the client does not ask for the name of the visitor')
    },
  },
  {
    id: 'name-once',
    title: 'The client asks for the name of the visitor only once, and not for each page',
    rule: 'name-once',
    why: 'The name does not change, and a call for each page makes every page slower.',
    fix: 'Ask for the name after the login, and keep the name in the session.',
    needs: ['page'],
    async run(context) {
      const { browser } = await context.signedIn()
      if (context.arrived('me').length === 0)
        throw new NotApplicable('the client does not ask for the name of the visitor')
      const page = await browser.visit(context.url(context.settings.page))
      if (page.status !== 200) throw new Undecided('A page behind the login has a status other than 200.')
      await expectNameNotAskedAtEachVisit(context, browser)
    },
  },
]
