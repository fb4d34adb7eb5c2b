// Checks on renewals in special cases: when the portal does not answer, after a 401 from the API, when a visitor sends
// a form, and when no renewal is needed.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, waitedMs } from '../../findings.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { openCreateForm, openFormIn } from '../../steps/create-form.ts'
import { isBareFailure } from '../../steps/page-content.ts'
import { expectBack, expectNoRenewal, isCall, renewNow, renewUnder } from '../../steps/renewals.ts'
import {
  asksToSignIn,
  endToken,
  expiredSession,
  newTabs,
  renewalIn,
  shortLifeValue,
  visitAtOnce,
  visitPage,
} from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'
import { tokensOf, tokensSentIn } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

const isRenewal = ({ kind }: LabStep) => kind === 'refresh'

/** Makes the client renew a session while the portal does not answer. Ends the check if the client does not renew. */
async function renewWithoutAnswer(context: CheckContext) {
  const { browser } = await expiredSession(context)
  await context.order('refresh-never', { times: 5 })
  const { page, steps } = await visitPage(context, browser)
  expect(page.status !== 0, `The browser got no answer: ${page.error}.`, page)
  const renewals = context.timesMet('refresh-never')
  if (renewals === 0) {
    renewalIn(context, { page, steps })
    throw new Undecided('The fault did not affect the renewal.')
  }
  return { browser, page, renewals }
}

const unanswered: CheckDefinition[] = [
  {
    id: 'refresh-kept-on-never',
    title: 'If the portal does not answer a renewal, the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
    fix: 'Treat a timeout like every other failure of the portal: keep the cookies, and answer with a page that offers to try again.',
    needs,
    longestMs: 90_000,
    async run(context) {
      await expectBack(context, await renewWithoutAnswer(context))
    },
  },
  {
    id: 'refresh-never-not-repeated',
    title: 'If the portal does not answer a renewal, the client does not repeat the renewal during the same visit',
    rule: 'renewal-not-repeated',
    why: 'The portal may have replaced the refresh token. If the client then sends the old refresh token, the portal can end all tokens of the session. The visitor also waits twice as long.',
    fix: 'Never repeat a POST automatically, not even after a timeout. Renew again at the next visit.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { page, renewals } = await renewWithoutAnswer(context)
      // Each request of the visit, such as a redirect, may renew once.
      const requests = page.trail.length
      expect(
        renewals <= requests,
        `During a visit with ${requests === 1 ? 'one request' : `${requests} requests`}, the client sent ${renewals} renewals.`,
        page,
      )
    },
  },
]

/** Makes a visit in which the client renews the session after a 401, and the API then answers with 403. */
async function renewedWithRefusal(context: CheckContext) {
  // In the second attempt, the first API call gets no fault, because the client calls the API before it renews.
  for (const skip of [0, 1]) {
    const { browser, person } = await context.signedIn()
    await context.platform.endAccessTokens(person)
    await context.order('list-403', { times: 'always', skip })
    const visit = await visitPage(context, browser)
    const renewed = visit.steps.findIndex(step => isRenewal(step) && step.response.status === 200)
    const isMet = visit.steps.slice(renewed + 1).some(({ fault }) => fault?.name === 'list-403')
    if (renewed >= 0 && isMet) return browser
    await context.dropFaults()
    if (skip === 1) renewalIn(context, visit)
  }
  throw new NotApplicable('no page renews and then asks for the list')
}

const after401: CheckDefinition[] = [
  {
    id: 'refresh-kept-after-401',
    title: 'If the API refuses the access token and the renewal then fails for a while, the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Only a permanent refusal may end the session.',
    fix: 'Keep the cookies after a failed renewal, whatever caused the renewal. End the session only after invalid_grant, unsupported_grant_type or unauthorized_client.',
    needs,
    longestMs: 120_000,
    async run(context) {
      for (const fault of ['refresh-503', 'refresh-reset', 'refresh-html']) {
        const { browser, person } = await context.signedIn()
        await context.platform.endAccessTokens(person)
        const renewing = await renewNow(context, { browser, person }, fault, {}, 1)
        await expectBack(context, renewing, `After a 401 from the API and the fault ${fault}`)
      }
    },
  },
  {
    id: 'refresh-single-flight-after-401',
    title: 'If five tabs load at once and the API refuses their access token, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A renewal replaces the refresh token. The portal accepts the old refresh token for ten more seconds. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal, and remember its answer for a few seconds, whatever caused the renewal.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      await context.order('refresh-late', { times: 20, options: { seconds: 0.5 } })
      const { page, steps } = await visitAtOnce(context, newTabs(browser, 5), 1000)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(isRenewal)
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-not-on-errors',
    title: 'If the API answers with 404, 429 or 500, the client does not renew the access token',
    rule: 'RF-10',
    why: 'These answers do not mean that the token is invalid. Each renewal makes the visitor wait, and adds load to the platform.',
    fix: 'Renew only when the access token has expired, or after a 401 from the API.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      const unmet: string[] = []
      // After a 500 or 429 answer, a client may make no calls for a while. Therefore 404 comes first and 429 last.
      for (const fault of ['api-404', 'api-500', 'api-429']) {
        await context.order(fault, { times: 'always' })
        const { steps } = await visitPage(context, browser)
        if (context.timesMet(fault) === 0) unmet.push(fault)
        await context.dropFaults()
        const renewals = steps.filter(isRenewal)
        expect(renewals.length === 0, `After the fault ${fault}, the client renewed the token.`, ...renewals)
      }
      if (unmet.length > 0)
        throw new Undecided(`The fault ${unmet.join(' or ')} did not affect any API call of the client.`)
    },
  },
  {
    id: 'refresh-delivered-with-refusal',
    title: 'The client stores the new tokens of a renewal even if the API then refuses a call with 403',
    rule: 'RF-09',
    why: 'Many frameworks build the page for a refused call without the cookies of the request. If the client loses the new refresh token, it sends the old refresh token again. The portal then revokes all tokens.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is an error page.',
    needs,
    async run(context) {
      const browser = await renewedWithRefusal(context)
      await context.dropFaults()
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(isRenewal)
      const isOld = steps.some(({ kind, response }) => kind === 'api' && response.status === 401)
      expect(!isOld && renewals.length === 0, 'The next page uses the old tokens again.', page, ...steps)
      expect(
        steps.some(isCall),
        `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
]

/**
 * Opens the form for a new application, makes the API refuse the access token, orders the fault for the renewal, and
 * then sends the form. Ends the check if the client makes no renewal for the form.
 */
async function renewForForm(context: CheckContext, fault: string, options: Record<string, unknown>) {
  const { browser, form, page: shown, values, person } = await openCreateForm(context)
  await context.platform.endAccessTokens(person)
  await context.order(fault, { times: 'always', options })
  const { result: page, steps } = await context.during(() => browser.submit(shown, form, values, context.beforePortal))
  const renewal = renewalIn(context, { page, steps })
  return { browser, person, page, steps, renewal, renewals: steps.filter(isRenewal) }
}

const forForms: CheckDefinition[] = [
  {
    id: 'refresh-kept-for-form',
    title: 'If a renewal for a form fails for a while, the visitor gets a page, and the session does not end',
    rule: 'RF-05',
    why: 'The refresh token is still valid, so a later renewal can succeed. Clients often have separate code for forms.',
    fix: 'Let every request renew through the same function. After a failure of the portal, keep the cookies, and answer with a page that offers to try again.',
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      // Some clients renew for a form after the API has refused the token, but ask to sign in on a page.
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      renewalIn(context, await visitPage(context, browser))
      for (const fault of ['refresh-503', 'refresh-reset']) {
        const renewing = await renewForForm(context, fault, {})
        const { page } = renewing
        expect(
          page.status > 0 && !isBareFailure(page),
          `With the fault ${fault}, the client answered the form with ${describePage(page)}.`,
          page,
        )
        await expectBack(context, renewing, `After a form whose renewal had the fault ${fault}`)
      }
    },
  },
  {
    id: 'refresh-dropped-for-form',
    title: 'If the portal refuses the refresh token while a visitor sends a form, the client offers to sign in',
    rule: 'RF-05',
    why: 'The portal may have ended the session while the visitor typed. If the client shows an error each time, the visitor cannot sign in again.',
    fix: 'After invalid_grant, delete the session cookies and offer to sign in, even in the answer to a form.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser, page } = await renewForForm(context, 'refresh-400', { error: 'invalid_grant' })
      expect(page.status > 0 && page.status < 500, `The client answered the form with ${describePage(page)}.`, page)
      const next = await visitPage(context, browser)
      expect(
        asksToSignIn(context, page) || asksToSignIn(context, next.page),
        `The form and the next visit ended with ${describePage(page)} and ${describePage(next.page)}. Neither page offers to sign in.`,
        page,
        next.page,
      )
      const renewals = context.arrived('refresh')
      expect(
        renewals.length <= 1,
        `The client sent the refused refresh token ${renewals.length} times.`,
        ...renewals.slice(0, 3),
      )
    },
  },
]

const slowForForms: CheckDefinition = {
  id: 'refresh-slow-for-form',
  title: 'If the portal does not answer a renewal for a form, the visitor gets a page within fifteen seconds',
  rule: 'UP-03',
  why: 'Visitors do not wait longer than fifteen seconds, and every waiting request uses memory. Clients often have separate code for forms.',
  fix: 'Give every call to the portal a deadline of a few seconds, whatever request causes the call.',
  needs: ['page', 'create'],
  longestMs: 90_000,
  async run(context) {
    const { browser, form, page: shown, values, person } = await openCreateForm(context)
    await context.platform.endAccessTokens(person)
    await context.order('refresh-never', { times: 5 })
    const page = await browser.submit(shown, form, values, context.beforePortal)
    // The sandbox records the renewal only when the client closes the connection.
    await context.platform.settle(2000)
    if (context.timesMet('refresh-never') === 0) throw new NotApplicable('the client does not renew for the form')
    const seconds = Math.round(waitedMs(page) / 1000)
    expect(page.status > 0, `There was no answer: ${page.error}.`, page)
    expect(seconds <= 15, `The answer took ${seconds} seconds.`, page)
  },
}

/** Failures of a renewal that often cause an uncaught error: no answer, no JSON, and JSON without tokens. */
const breaking: [fault: string, options?: Record<string, unknown>][] = [
  ['refresh-reset'],
  ['refresh-html'],
  ['refresh-half'],
  ['refresh-not-an-object'],
  ['refresh-503'],
  ['refresh-answer', { status: 200, body: '{}', type: 'application/json; charset=utf-8' }],
]

const others: CheckDefinition[] = [
  {
    id: 'refresh-failed-page',
    title: 'If a renewal fails, the visitor gets a page of the client',
    rule: 'UP-06',
    why: 'A visitor who sees the default error page of a server does not know that a later attempt can succeed.',
    fix: 'Catch every failure of a renewal, including unreadable answers, and show a page that offers to try again.',
    needs,
    longestMs: 120_000,
    async run(context) {
      for (const [fault, options] of breaking) {
        const { browser, person } = await context.signedIn()
        await context.platform.endAccessTokens(person)
        const { page } = await renewNow(context, { browser, person }, fault, options, 1)
        await context.dropFaults()
        expect(!isBareFailure(page), `With the fault ${fault}, the page is the default error page of a server.`, page)
      }
      const { page } = await renewUnder(context, 'refresh-html', {}, 1)
      expect(
        !isBareFailure(page),
        'After the token has expired, a failed renewal leads to the default error page of a server.',
        page,
      )
    },
  },
  ...[400, 500].map(
    (status): CheckDefinition => ({
      id: `refresh-status-${status}`,
      title: `If the answer to a renewal has status ${status}, the client does not use its tokens`,
      rule: 'UP-06',
      why: 'This status says that the renewal failed. A client that reads only the body uses tokens that the portal has refused.',
      fix: 'Check the status before the body, and accept tokens only with status 200.',
      needs,
      async run(context) {
        const { page, steps, renewal } = await renewUnder(context, 'refresh-tokens-with-status', { status }, 1)
        const token = tokensOf(renewal)?.access_token
        if (renewal.response.status !== status || token === undefined)
          throw new Undecided('The portal did not send the ordered answer to the renewal.')
        const calls = steps.filter(step => ['api', 'me'].includes(step.kind) && tokensSentIn(step).includes(token))
        expect(calls.length === 0, 'The client makes a call with a token of this answer.', page, renewal, ...calls)
      },
    }),
  ),
  {
    id: 'refresh-delivered-with-form-page',
    title: 'If the page with the form for a new application renews the session, the client stores the new tokens',
    rule: 'RF-09',
    why: 'Clients often have separate code for each page. If one page loses the new refresh token, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'Set the new cookies in the function that renews the session, before any page is written.',
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { result: opened, steps: stepsOfForm } = await context.during(() =>
        context.visitUntilPortal(browser, context.settings.create),
      )
      const renewal = stepsOfForm.find(isRenewal)
      if (renewal?.response.status !== 200) throw new NotApplicable('the page with the form does not renew the session')
      // A client may reuse the answer to the renewal for a few seconds.
      await context.pause(12_000)
      const { page, steps } = await visitPage(context, browser)
      expectNoRenewal(context, steps, opened)
      expect(
        steps.some(isCall),
        `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  {
    id: 'refresh-delivered-with-other-pages',
    title: 'If a page about an application renews the session, the client stores the new tokens',
    rule: 'RF-09',
    why: 'Clients often have separate code for each page. If one page loses the new refresh token, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'Set the new cookies in the function that renews the session, before any page is written.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const application = await openWithApplication(context)
      const urls = (await openPagesAbout(context, application)).slice(1, 4).map(({ url }) => url)
      const sessions = []
      for (const url of urls) {
        const { browser, callback } = await beginLogin(context)
        const drop = await context.order('exchange-expires-in', shortLifeValue)
        await followCallback(context, browser, callback)
        await drop()
        sessions.push({ browser, url })
      }
      await endToken(context, application.person)
      const renewed = []
      for (const { browser, url } of sessions) {
        const { result: opened, steps } = await context.during(() => context.visitUntilPortal(browser, url))
        const renewal = steps.find(step => step.kind === 'refresh')
        if (renewal?.response.status === 200) renewed.push({ browser, opened })
      }
      if (renewed.length === 0) throw new NotApplicable('no page about an application renews the session')
      // A client may reuse the answer to the renewal for a few seconds.
      await context.pause(12_000)
      for (const { browser, opened } of renewed) {
        const { page, steps } = await visitPage(context, browser)
        expectNoRenewal(context, steps, opened)
        expect(
          steps.some(isCall),
          `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
          opened,
          page,
          ...steps,
        )
      }
    },
  },
  {
    id: 'refresh-of-two-sessions',
    title: 'If a person is signed in with two browsers, the client renews the two sessions separately',
    rule: 'refresh-token-replaced',
    why: 'If both sessions share one renewal, both use the same new tokens, and the refresh token of one session is lost. When the person then signs out in one browser, the other session ends, too.',
    fix: 'Let requests share a renewal only if they have the same refresh token. The id of the visitor is not enough.',
    needs,
    async run(context) {
      const browsers: Browser[] = []
      for (let session = 1; session <= 2; session++) {
        const { browser, start, callback } = await beginLogin(context)
        await followCallback(context, browser, callback)
        browsers.push(browser)
        // Makes the two renewals overlap.
        await context.order('refresh-late', { times: 2, options: { seconds: 0.3 }, state: start.state })
      }
      /** Whether the next page of both browsers uses the same access token. */
      const sharesToken = async () => {
        const tokens: Set<unknown>[] = []
        for (const browser of browsers) {
          const { steps } = await visitPage(context, browser)
          tokens.push(new Set(steps.filter(isCall).flatMap(tokensSentIn)))
        }
        return [...tokens[0]!].some(token => tokens[1]!.has(token))
      }
      if (await sharesToken()) throw new NotApplicable('all sessions of a person use the same tokens')
      await context.platform.endAccessTokens(await context.person())
      const { pages, steps } = await visitAtOnce(context, browsers)
      renewalIn(context, { page: pages.find(({ status }) => status === 0) ?? pages[0]!, steps })
      expect(
        !(await sharesToken()),
        'The client made one renewal for two sessions, and both sessions now use the tokens from this renewal.',
        ...steps.filter(isRenewal),
      )
    },
  },
  {
    id: 'refresh-not-elsewhere',
    title: 'While the access token is valid, a form, a login or a sign-out does not cause a renewal',
    rule: 'RF-10',
    why: 'Each renewal makes the visitor wait, adds load to the portal, and can disturb the requests of another tab.',
    fix: 'Renew only when the access token has expired, or after a 401 from the API.',
    needs,
    async run(context) {
      const { create, logout, login } = context.settings
      const judge = async (what: string) => {
        await context.platform.settle(300)
        const renewals = context.arrived('refresh')
        expect(renewals.length === 0, `${what}, the client renewed a valid access token.`, ...renewals)
      }
      const { browser, page: landed } = await context.signedIn()
      await browser.visit(context.url('/'))
      await judge('On the start page')
      await context.visitUntilPortal(browser.newTab(), login)
      await judge('At the start of a login')
      if (create) {
        const open = await openFormIn(context, browser, await context.person())
        await browser.submit(open.page, open.form, open.values)
        await judge('For a form')
      }
      if (logout) {
        await signOut(context, browser, landed)
        await judge('At the sign-out')
      }
    },
  },
]

export const specialRenewals: CheckDefinition[] = [...unanswered, ...after401, ...forForms, slowForForms, ...others]
