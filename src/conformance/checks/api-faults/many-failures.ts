// Checks with rare statuses and odd error answers, with many failed calls, and with calls that hang while other
// visitors wait.
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, statusOf, waitedMs } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isCallOfUser } from '../../platform-calls.ts'
import { makeApplication } from '../../steps/applications.ts'
import { typedAddress } from '../../steps/callback.ts'
import { isCreation, noCreation, openCreateForm, openFormIn } from '../../steps/create-form.ts'
import { oddPausePage } from '../../steps/failure-pages.ts'
import {
  compareUnder,
  expectAnswer,
  expectFittingAnswer,
  isListCall,
  listCalls,
  shownIn,
  visitUnder,
} from '../../steps/list-page.ts'
import { oddApiAnswers } from '../../steps/odd-answers.ts'
import { requestText } from '../../steps/raw.ts'
import { expectBack } from '../../steps/renewals.ts'
import { expiredSession } from '../../steps/sessions.ts'

const needs: CheckDefinition['needs'] = ['page']

/** The number of failed calls. HTTP libraries keep at most 5 to 20 connections to one host by default. */
const manyCalls = 25

/** Milliseconds within which calls must work again. After many failures, a client may make no calls for a while. */
const backMs = 40_000

/** The number of calls that hang at the same time. */
const hangingCalls = 4
/** Milliseconds. If a visitor's own calls do not hang, a slower answer means that this visitor waited for others. */
const longMs = 2000

/**
 * Opens some pages with `hang` while the platform answers none of their calls. Meanwhile, opens a page for another
 * visitor, whose calls the platform answers at once. This page is the result of `open`, or the page with the list.
 * Fails if no call for the other visitor succeeds, or if this visitor waits until one of the hanging pages has ended.
 */
async function expectOthersServed(
  context: CheckContext,
  fault: string,
  other: { browser: Browser; person: Person; open?: () => Promise<Page> },
  hang: () => Promise<Page>[],
  options: Record<string, unknown> = {},
): Promise<void> {
  const { login, page: path } = context.settings
  const openList = () => other.browser.newTab().visit(context.url(path), context.beforePortal)
  await context.order(fault, { times: 20, options })
  const hanging = hang()
  await context.pause(700)
  if (context.timesMet(fault) === 0) {
    await Promise.all(hanging)
    throw new Undecided(`No call met the fault ${fault}.`)
  }
  const before = context.platform.steps.length
  let hasOneEnded = false
  for (const one of hanging)
    one.then(() => {
      hasOneEnded = true
    })
  const open = async () => {
    const page = await (other.open ?? openList)()
    return { page, hasWaited: hasOneEnded && waitedMs(page) > longMs }
  }
  const head = requestText(context, 'GET', login, { headers: typedAddress })
  const [{ page, hasWaited }, plain] = await Promise.all([open(), context.sendBytes({ head, timeoutMs: longMs })])
  await context.dropFaults()
  const pages = await Promise.all(hanging)
  await context.platform.settle()
  const isServed = context.platform.steps
    .slice(before)
    .some(step => isCallOfUser(step, other.person.id) && step.response.status < 400)
  if (!hasWaited && (isServed || page.stoppedAt !== undefined)) return
  if (statusOf(plain.exchange) === 0)
    throw new Undecided(
      'The client serves only a few requests at a time, so calls that hang make all other visitors wait. Run the client with more workers or threads.',
    )
  fail(
    `While the platform did not answer the calls for one visitor (${pages.length} open pages), another visitor got ${describePage(page)} after ${(waitedMs(page) / 1000).toFixed(1)} seconds. The client answered ${login} during this time.`,
    ...page.trail.slice(-1),
  )
}

const odd = {
  rule: 'UP-06',
  why: 'A message can have the wrong type, Retry-After can be a date, and a proxy can send other JSON. Code that expects the usual format raises an error, and the visitor gets no explanation.',
  fix: 'Check the type of each value in an error answer before you use it. Catch every error of the JSON library, including the error for JSON that is nested very deeply.',
} as const

const others = {
  rule: 'stays-up',
  why: 'If all visitors share one lock or a few connections, a few hanging calls stop the client for everyone.',
  fix: 'Do not hold a lock for all visitors during a call to the platform. Allow many connections to the platform, and start the deadline of a call before the call waits for a connection.',
  needs,
  longestMs: 120_000,
} as const

/** Statuses that an API rarely sends. If the call for the list gets one of these statuses, the call has failed. */
const rareStatuses = [204, 402, 405, 408, 409, 410, 413, 415, 418, 422, 501, 504]

export const manyFailures: CheckDefinition[] = [
  {
    id: 'list-rare-statuses',
    title:
      'When the API answers the call for the list with a rare status, the page shows the list or says that the call failed',
    rule: 'UP-14',
    why: 'Some clients treat only certain statuses as failures, and every other status as a success. The visitor then believes that all applications are gone.',
    fix: 'Treat only status 200 as a success of this call. After any other status, show a page that says that the call failed.',
    needs,
    async run(context) {
      const [first, ...more] = rareStatuses.map(status => ({
        status,
        type: 'application/json; charset=utf-8',
        body: JSON.stringify({ error: { status, message: 'Refused' } }),
      }))
      const compared = await compareUnder(context, 'list-answer', first)
      expectFittingAnswer(compared, `The API answered with status ${first!.status}.`)
      for (const options of more) {
        await context.dropFaults()
        const { page } = await visitUnder(context, 'list-answer', options, 5, compared.browser)
        expectFittingAnswer({ ...compared, page }, `The API answered with status ${options.status}.`)
      }
    },
  },
  {
    id: 'list-odd-errors',
    title:
      'When the API answers the call for the list with an error in an unusual format, the visitor gets an answer and stays signed in',
    ...odd,
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      for (const { kind, options } of oddApiAnswers) {
        const { page } = await visitUnder(context, `list-${kind}`, options, 5, browser)
        await context.dropFaults()
        expectAnswer(page)
      }
      expect(await context.isSignedIn(browser), 'The API works again, but the visitor is no longer signed in.')
    },
  },
  {
    id: 'create-odd-errors',
    title:
      'When the API answers the call that creates an application with an error in an unusual format, the client does not answer with status 500',
    ...odd,
    needs: ['page', 'create'],
    async run(context) {
      for (const { what, kind, options } of oddApiAnswers) {
        const { browser, page: before, form, values } = await openCreateForm(context)
        await context.order(`create-${kind}`, { times: 5, options })
        const page = await browser.submit(before, form, values)
        await context.platform.settle()
        if (context.timesMet(`create-${kind}`) === 0) throw noCreation()
        await context.dropFaults()
        expectAnswer(page)
        expect(page.status !== 500, `After ${what}, the answer has status 500.`, page)
      }
    },
  },
  oddPausePage({
    place: 'list',
    call: 'the call for the list',
    needs,
    async meet(context, failure, options) {
      return (await visitUnder(context, `list-${failure}`, options)).page
    },
  }),
  oddPausePage({
    place: 'create',
    call: 'the call that creates an application',
    needs: ['page', 'create'],
    async meet(context, failure, options) {
      const { browser, page, form, values } = await openCreateForm(context)
      await context.order(`create-${failure}`, { times: 5, options })
      const answer = await browser.submit(page, form, values)
      await context.platform.settle()
      if (context.timesMet(`create-${failure}`) === 0) throw noCreation()
      return answer
    },
  }),
  {
    id: 'list-failed-few-calls',
    title: 'When the call for the list fails, the client repeats it at most once for one request from the visitor',
    rule: 'DO-14',
    why: 'If each visitor causes several calls while the API has problems, the API gets more calls than usual and takes longer to recover.',
    fix: 'Make sure that the HTTP library does not repeat calls automatically. Show a page with a link that tries again.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const known = listCalls(context).length
      await browser.newTab().visit(context.url(context.settings.page))
      await context.platform.settle()
      const usual = Math.max(1, listCalls(context).length - known)
      const visit = async (failure: string, options: Record<string, unknown> = {}) => {
        const before = listCalls(context).length
        const { page } = await visitUnder(context, `list-${failure}`, options, 20, browser)
        await context.dropFaults()
        return { failure, page, calls: listCalls(context).slice(before) }
      }
      const areFew = ({ calls }: { calls: unknown[] }) => calls.length <= 2 * usual
      // An HTTP library may repeat a GET if the server resets a connection that the library has kept open (RFC 9110
      // 9.2.2). Each reset removes one of these connections, so later visits show whether the client itself repeats the
      // call.
      let reset = await visit('reset')
      for (let again = 0; again < 3 && !areFew(reset); again++) reset = await visit('reset')
      const others = [await visit('503', { retryAfter: 1 }), await visit('500'), await visit('html')]
      for (const one of [reset, ...others])
        expect(
          areFew(one),
          `For one visit, the client made ${one.calls.length} calls for the list (${one.failure}).`,
          one.page,
          ...one.calls.slice(0, 4),
        )
    },
  },
  {
    id: 'failed-calls-leave-connections',
    title: `After ${manyCalls} failed API calls, the client still shows the list when the API works again`,
    rule: 'stays-up',
    why: 'In many HTTP libraries, a connection stays in use until the client has read or closed the answer. If the client does not close error answers, it has no connection left after a few failures. From then on, no page works until the client is restarted.',
    fix: 'Read or close the body of every answer, whatever its status is.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('list-500', { times: manyCalls })
      let page: Page | undefined
      for (let count = 0; count < manyCalls && page?.status !== 0; count++)
        page = await browser.newTab().visit(context.url(context.settings.page), context.beforePortal)
      await expectBack(
        context,
        { browser, page: page! },
        `When the API has worked again for ${backMs / 1000} seconds after ${manyCalls} failed calls`,
        backMs,
      )
    },
  },
  {
    id: 'list-idle-connection',
    title:
      'If the API closes an idle connection at the moment when the client uses this connection again, the page shows the list',
    rule: 'UP-16',
    why: 'Servers and proxies close idle connections. If the client sends a call over such a connection at the same moment, the call fails, although the API works. Visitors then see an error from time to time.',
    fix: 'If a connection closes before the answer to a GET request has begun, send this request once more over a new connection. Many HTTP libraries have an option for this. Or open a new connection for each call.',
    needs,
    // Another check's calls would be counted as calls for the visitor of this check.
    isAlone: true,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await makeApplication(context, person)
      const visit = () => browser.newTab().visit(context.url(context.settings.page))
      const { apiCalls } = context.platform
      for (let tries = 0; tries < 3; tries++) {
        // After this visit, a client that keeps its connections has an idle connection.
        const usual = await visit()
        await context.platform.settle()
        const before = apiCalls.length
        await context.order('list-reset', { times: 1 })
        const { result: page, steps } = await context.during(visit)
        const isMet = context.timesMet('list-reset') > 0
        await context.dropFaults()
        if (!isMet) throw new NotApplicable('the client does not ask the API for the list of applications')
        const failed = apiCalls
          .slice(before)
          .find(({ method, url }) => method === 'GET' && url?.split('?')[0] === '/apps/v1')
        // If a new connection breaks, the client may show an error.
        if (!failed?.isOnUsedConnection) continue
        const isRepeated = steps.some(step => isListCall(step) && step.response.status === 200 && !step.fault)
        expect(
          page.status > 0 && page.status < 400 && (isRepeated || shownIn(page) === shownIn(usual)),
          `The client sent a GET request over a connection that it had used before, and the API closed this connection without an answer. The visitor got ${describePage(page)}.`,
          page,
          ...steps.slice(0, 3),
        )
        return
      }
      throw new NotApplicable('the client opens a new connection for each call')
    },
  },
  {
    id: 'hanging-list-others',
    title: 'While the API needs six seconds for the calls of one visitor, another visitor sees the list',
    ...others,
    async run(context) {
      const other = await context.signedIn({ person: await context.otherPerson() })
      const { browser } = await context.signedIn({ person: await context.otherPerson() })
      const hang = () =>
        Array.from({ length: hangingCalls }, () => browser.newTab().visit(context.url(context.settings.page)))
      // The calls end after a while. If they never ended, a client with few workers could need more time for all of them
      // than a browser waits.
      await expectOthersServed(context, 'list-late', other, hang, { seconds: 6 })
    },
  },
  {
    id: 'hanging-create-others',
    title:
      'While the API does not answer the call that creates an application for one visitor, another visitor can create an application',
    ...others,
    why: 'A client that creates one application for each form often needs a lock. If all visitors share this lock, one hanging creation stops the forms of everyone.',
    fix: 'Use one lock for each form or for each session. Do not hold a lock for all visitors during a call to the platform.',
    needs: ['page', 'create'],
    async run(context) {
      const person = await context.otherPerson()
      const { browser } = await context.signedIn({ person })
      const theirs = await openFormIn(context, browser, person)
      const open = () => browser.submit(theirs.page, theirs.form, theirs.values, context.beforePortal)
      const own = await openCreateForm(context)
      const hang = () => [own.browser.submit(own.page, own.form, own.values, context.beforePortal)]
      await expectOthersServed(context, 'create-never', { browser, person, open }, hang).catch(error => {
        if (!(error instanceof Undecided) || context.arrived('api').some(isCreation)) throw error
        throw noCreation()
      })
    },
  },
  {
    id: 'hanging-renewal-others',
    title: 'While the portal does not answer the renewal for one visitor, the session of another visitor is renewed',
    ...others,
    async run(context) {
      const other = await expiredSession(context, await context.otherPerson())
      const { browser } = await expiredSession(context, await context.otherPerson())
      const visit = () => [browser.newTab().visit(context.url(context.settings.page), context.beforePortal)]
      await expectOthersServed(context, 'refresh-never', other, visit).catch(error => {
        if (!(error instanceof Undecided) || context.arrived('refresh').length > 0) throw error
        throw new NotApplicable('the client does not renew the session, but asks the visitor to sign in')
      })
    },
  },
]
