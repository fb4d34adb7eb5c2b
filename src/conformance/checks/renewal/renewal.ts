// How the client renews an access token: the request, the new tokens, and the number of renewals.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, Failed, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, expectWithFix, setCookiesOf } from '../../findings.ts'
import { describeExchange } from '../../report/describe.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { openCreateForm } from '../../steps/create-form.ts'
import { isCall } from '../../steps/renewals.ts'
import {
  expiredSession,
  isSession,
  openSession,
  ownCookies,
  renewalIn,
  shortLifeValue,
  visitPage,
} from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'
import { tokensOf } from '../../steps/tokens.ts'
import { occasions } from './occasions.ts'

/**
 * The time after which the last renewal has no effect any more: a client may share the answer to this renewal for some
 * seconds, and the portal accepts a replaced refresh token for ten seconds.
 */
const forget = ({ pause }: CheckContext) => pause(12_000)

const needs: CheckDefinition['needs'] = ['page']

/** The usual expires_in. */
const accessSeconds = 86_400

/** The fields of a renewal (RFC 6749, 6). */
const fields: [name: string, expected: (context: CheckContext, before: LabStep) => unknown][] = [
  ['grant_type', () => 'refresh_token'],
  ['refresh_token', (_, before) => tokensOf(before)?.refresh_token],
  ['client_id', ({ platform }) => platform.clientId],
  ['client_secret', ({ platform }) => platform.clientSecret.reveal()],
]

export const renewal: CheckDefinition[] = [
  {
    id: 'refresh-works',
    title: 'A visitor stays signed in when the access token expires',
    rule: 'refresh-used',
    why: 'The portal gives the client a refresh token for this purpose. Visitors lose their work if the client sends them to the login.',
    fix: 'When the access token has expired, send grant_type=refresh_token with the refresh token of the token response.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      const { page, steps } = await visitPage(context, browser)
      const cookies = cookiesOf(landed.trail).filter(({ cookie }) => !cookie.isDeletion && cookie.value.length > 200)
      const hasEnded = cookies.length > 1 && cookies.every(({ cookie: { maxAge } }) => (maxAge ?? 3600) < 60)
      expectWithFix(
        hasEnded
          ? 'Give the cookie that contains the refresh token a longer Max-Age than expires_in, such as 14 days.'
          : adviceForRenewal(page, steps),
        steps.some(isCall),
        `${hasEnded ? 'All cookies of the session, also the cookie of the refresh token, end with the access token. ' : ''}The visit ends with ${page.stoppedAt ? 'the login' : describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  renewing(
    {
      id: 'refresh-without-state',
      title: 'After a successful renewal the visitor is still signed in',
      rule: 'RF-08',
      why: 'The answer to a renewal has no state, because the request had none. A client that requires a state signs the visitor out.',
      fix: 'Compare state only in the answer to the exchange of a code.',
    },
    async ({ steps, page }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      if (renewal.response.status !== 200)
        throw new NotApplicable('the portal refused the renewal, which another check reports')
      expect(
        steps.some(isCall),
        `The portal answered with new tokens, and the client answered with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  ),
  renewing(
    {
      id: 'refresh-fields',
      title: 'A renewal contains grant_type, the refresh token, the client id and its secret, each once',
      rule: 'RF-01',
      why: 'The portal refuses a renewal without one of these fields.',
      fix: 'Send a form with exactly grant_type, refresh_token, client_id and client_secret.',
    },
    async ({ steps }, context) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      const given = context.arrived('exchange', 'refresh')
      const before = given[given.indexOf(renewal) - 1]!
      const body = renewal.request.body as Record<string, unknown>
      const usesHeader = /^basic /i.test(String(renewal.request.headers.authorization ?? ''))
      for (const [name, expected] of fields) {
        if (usesHeader && name.startsWith('client_')) continue
        expect(
          body[name] === expected(context, before),
          `The field ${name} of the renewal is ${name in body ? 'wrong' : 'missing'}.`,
          renewal,
        )
      }
      expect(
        renewal.response.status === 200,
        `The portal refused the renewal with status ${renewal.response.status}.`,
        renewal,
      )
    },
  ),
  renewing(
    {
      id: 'refresh-not-in-address',
      title: 'The address of a renewal has no query',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log addresses. Everybody who can read such a log can use the refresh token.',
      fix: 'Send all fields in the body of the POST.',
    },
    async ({ steps }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      expect(
        !renewal.request.url.includes('?'),
        `The address of the renewal is ${renewal.request.url.split('?')[0]}?…`,
        renewal,
      )
    },
  ),
  {
    id: 'refresh-delivered',
    title: 'The client keeps the new tokens of a renewal, so the next page does not renew again',
    rule: 'RF-09',
    why: 'If the client loses the new refresh token, it sends the old refresh token again. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is a redirect or an error.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      renewalIn(context, await visitPage(context, browser))
      await forget(context)
      const { steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'The next page renews again.', ...renewals)
      expect(steps.some(isCall), 'The next page is not signed in.', ...steps)
    },
  },
  {
    id: 'refresh-delivered-with-error',
    title: 'The client keeps the new tokens of a renewal even if a call of the API then fails',
    rule: 'RF-09',
    why: 'If the client loses the new refresh token because of an error of the API, it sends the old refresh token again. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is a redirect or an error.',
    needs,
    longestMs: 120_000,
    async run(context) {
      const browser = await renewedWithError(context)
      await context.dropFaults()
      await forget(context)
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'The next page renews again.', ...renewals)
      expect(
        steps.some(isCall),
        `The next page is not signed in. The client answered with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  {
    id: 'refresh-delivered-after-401',
    title: 'The client keeps the new tokens of a renewal that it made because the API refused the access token',
    rule: 'RF-09',
    why: 'An access token can end before its expires_in. If the client loses the new tokens, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if a 401 of the API caused the renewal.',
    needs,
    async run(context) {
      const { browser, person } = await context.signedIn()
      await context.platform.endAccessTokens(person)
      const renewal = grantedIn(renewalIn(context, await visitPage(context, browser)))
      await expectNewToken(context, browser, renewal)
    },
  },
  {
    id: 'refresh-delivered-after-form',
    title: 'The client keeps the new tokens of a renewal that it made because the API refused a creation with 401',
    rule: 'RF-09',
    why: 'An access token can end while the visitor fills in a form. If the client loses the new tokens, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is the redirect after a form.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      await context.platform.endAccessTokens(open.person)
      const before = new Set(context.arrived())
      // Does not follow the redirect, because the next request would cause another renewal, and its answer would hide
      // the loss.
      const page = await open.browser.submit(open.page, open.form, open.values, undefined, { stopAt: () => true })
      await context.platform.settle()
      const steps = context.arrived().filter(step => !before.has(step))
      const renewal = steps.find(({ kind }) => kind === 'refresh')
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(page)}`)
      await expectNewToken(context, open.browser, grantedIn(renewal))
    },
  },
  {
    id: 'refresh-state-optional',
    title: 'A renewal whose answer has no state keeps the visitor signed in',
    rule: 'RF-08',
    why: 'A portal does not have to send a state with a renewal, because no browser takes part in this call. A client that requires a state signs the visitor out.',
    fix: 'Compare state only in the answer to the exchange of a code.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-state-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isCall), `The page is answered with ${describePage(page)}.`, page, ...steps)
    },
  },
  {
    id: 'refresh-token-replaced',
    title: 'Each renewal sends the refresh token that the previous renewal returned',
    rule: 'refresh-token-replaced',
    why: 'Each renewal replaces the refresh token, and the use of an old refresh token revokes all tokens.',
    fix: 'Keep the refresh_token of every answer that contains one.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser, person } = await expiredSession(context)
      await context.order('refresh-expires-in', shortLifeValue)
      const first = renewalIn(context, await visitPage(context, browser))
      await forget(context)
      await context.platform.endAccessTokens(person)
      const second = renewalIn(context, await visitPage(context, browser))
      const brought = tokensOf(first)?.refresh_token
      const sent = (second.request.body as Record<string, unknown>).refresh_token
      expect(sent === brought, 'The second renewal sends an older refresh token.', first, second)
    },
  },
  {
    id: 'refresh-token-kept',
    title: 'When a renewal returns no new refresh token, the client keeps the old refresh token',
    rule: 'RF-08',
    why: 'A portal may return no new refresh token. The old refresh token then stays valid, and a client that drops it signs the visitor out.',
    fix: 'Replace the refresh token only if the answer contains one.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-refresh-token-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isCall), `After the renewal the page is answered with ${describePage(page)}.`, page, ...steps)
      expect(await context.isSignedIn(browser), 'The next page is not signed in.')
      const plain = await expiredSession(context)
      await visitPage(context, plain.browser)
      const [kept, usual] = [browser, plain.browser].map(one => ownCookies(context, one).length)
      expect(
        kept! >= usual!,
        `After this renewal the browser has ${kept} cookies, but after a renewal with a new refresh token it has ${usual}.`,
        page,
      )
    },
  },
  {
    id: 'refresh-max-age',
    title: 'After a renewal the session lives as long as the new access token',
    rule: 'CK-01',
    why: 'If the session keeps the old lifetime, it ends before the new token expires, or lives longer than this token.',
    fix: 'Set Max-Age from the expires_in of the renewal.',
    needs,
    async run(context) {
      const login = await openSession(context, ['exchange-expires-in', 7200])
      if (!login.cookies.some(({ cookie }) => Math.abs((cookie.maxAge ?? 0) - 7200) <= 60))
        throw new NotApplicable('no cookie of this client lives as long as the access token')
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 5400 } })
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      const set = page.trail.flatMap(setCookiesOf).map(readSetCookie)
      expect(
        set.some(({ maxAge }) => Math.abs((maxAge ?? 0) - 5400) <= 60),
        `expires_in was 5400, and the cookies live for: ${set.map(({ name, maxAge }) => `${name}: ${maxAge}`).join(', ')}.`,
        page,
      )
    },
  },
  {
    id: 'refresh-fixed-end',
    title: 'A renewal does not extend the lifetime of the cookie that contains the refresh token',
    rule: 'CK-09',
    why: 'If each renewal extends the lifetime, the cookie and a stolen copy of the cookie never expire.',
    fix: 'Store the time of the login together with the refresh token. After each renewal, set Max-Age to the time that is left.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      await expectFixedEnd(context, browser, landed)
      // The same for a renewal because of a 401. A renewal after less than two seconds would not show a later end.
      const second = await context.signedIn()
      await context.pause(2300)
      await context.platform.endAccessTokens(second.person)
      await expectFixedEnd(context, second.browser, second.page, accessSeconds + 60)
    },
  },
  {
    id: 'refresh-not-too-often',
    title: 'The client does not renew a token that is still valid for half an hour',
    rule: 'RF-10',
    why: 'If the client renews at every page, every page waits for the portal, and the renewals of several tabs disturb each other.',
    fix: 'Renew when the token has expired, or a few seconds before.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-expires-in', { options: { value: 1800 } })
      await followCallback(context, browser, callback)
      for (let visit = 0; visit < 3; visit++) await visitPage(context, browser)
      const renewals = context.arrived('refresh')
      expect(
        renewals.length === 0,
        `During the login and three visits the client renewed the token ${renewals.length} times.`,
        ...renewals,
      )
    },
  },
  {
    id: 'refresh-no-storm',
    title: 'With tokens that live for seconds, no page renews more than once',
    rule: 'RF-10',
    why: "If the lifetime is shorter than the client's renewal margin, a client that renews again and again never shows the page.",
    fix: 'Renew at most once for a request, and use the new token.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 1 }, times: 4 })
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length <= 2, `One page made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
      expectServed(page, `The page is answered with ${describePage(page)}.`)
    },
  },
  {
    id: 'refresh-parallel',
    title: 'When ten tabs load at once with an expired token, the visitor stays signed in in every tab',
    rule: 'RF-02',
    why: 'A browser that restores ten tabs sends ten requests at once, each with the same old cookie.',
    fix: 'Let all requests with the same refresh token share one renewal and its answer.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = new Set(context.arrived())
      const pages = await Promise.all(
        Array.from({ length: 10 }, () => context.visitUntilPortal(browser.newTab(), context.settings.page)),
      )
      await context.platform.settle()
      const page = pages.find(({ status }) => status === 0) ?? pages[0]!
      renewalIn(context, { page, steps: context.arrived().filter(step => !before.has(step)) })
      for (const page of pages)
        expect(
          page.status === 200 && !page.stoppedAt,
          `One tab is answered with ${page.stoppedAt ? 'the login' : describePage(page)}.`,
          page,
        )
      expect(await context.isSignedIn(browser), 'After the ten visits the visitor is not signed in.')
    },
  },
  {
    id: 'refresh-single-flight',
    title: 'Six tabs that load at once, and one tab that loads a moment later, share one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid once. For ten seconds, a replaced refresh token returns the same new token. After these ten seconds, using the replaced token ends the login.',
    fix: 'Share the running renewal between requests with the same refresh token, and remember its answer for some seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const late = browser.copy()
      const before = new Set(context.arrived())
      // The tabs show different pages of the client.
      const paths = [context.settings.page, context.settings.create || context.settings.page]
      await Promise.all(
        Array.from({ length: 6 }, (_, index) => context.visitUntilPortal(browser.newTab(), paths[index % 2]!)),
      )
      await context.pause(100)
      const page = await context.visitUntilPortal(late, context.settings.page)
      await context.platform.settle()
      const steps = context.arrived().filter(step => !before.has(step))
      renewalIn(context, { page, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 1, `There were ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-single-flight-slow',
    title: 'Five tabs that load while the portal takes a second for the renewal share one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid once. For ten seconds, a replaced refresh token returns the same new token. After these ten seconds, using the replaced token ends the login.',
    fix: 'Share the running renewal between requests with the same refresh token, from its beginning to its end.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-late', { times: 20, options: { seconds: 1 } })
      const before = new Set(context.arrived())
      const pages = await Promise.all(
        Array.from({ length: 5 }, () => context.visitUntilPortal(browser.newTab(), context.settings.page)),
      )
      await context.platform.settle(1500)
      const steps = context.arrived().filter(step => !before.has(step))
      renewalIn(context, { page: pages.find(({ status }) => status === 0) ?? pages[0]!, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 1, `There were ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  ...occasions,
]

/** Ends the check if the portal refused the renewal. */
function grantedIn(renewal: LabStep): LabStep {
  if (renewal.response.status !== 200 || !tokensOf(renewal))
    throw new NotApplicable('the portal refused the renewal, which another check reports')
  return renewal
}

/**
 * Fails unless the next page uses the token of the renewal at once. If the client has lost the new token, the visitor
 * may still be signed in: the client may remember the renewal, and the portal accepts the old refresh token for ten
 * seconds.
 */
async function expectNewToken(context: CheckContext, browser: Browser, renewal: LabStep): Promise<void> {
  const old = new Set(
    context
      .arrived('exchange', 'refresh')
      .filter(step => step !== renewal)
      .map(step => tokensOf(step)?.access_token),
  )
  const { page, steps } = await visitPage(context, browser)
  const calls = steps.filter(({ kind }) => kind === 'api' || kind === 'me')
  const isOld = ({ request }: LabStep) => old.has(request.headers.authorization?.split(' ')[1])
  const renewals = steps.filter(({ kind }) => kind === 'refresh')
  expect(!calls.some(isOld), 'The next page calls the API with the token from before the renewal.', page, ...steps)
  expect(renewals.length === 0, 'The next page renews again.', ...renewals)
  expect(
    calls.some(isCall),
    `The next page is not signed in. The client answered with ${describePage(page)}.`,
    page,
    ...steps,
  )
}

/**
 * Fails if the cookie with the refresh token ends later after the renewal of the next visit. `landed` is the page after the
 * login. Leaves out cookies that live for at most `moreThan` seconds.
 */
async function expectFixedEnd(context: CheckContext, browser: Browser, landed: Page, moreThan = 60): Promise<void> {
  const before = longLived(landed, moreThan)
  const visit = await visitPage(context, browser)
  grantedIn(renewalIn(context, visit))
  const after = longLived(visit.page, moreThan)
  const deleted = cookiesOf(visit.page.trail).filter(({ cookie }) => cookie.isDeletion)
  // The name of the cookie may depend on the token. If so, the new cookie replaces a cookie that the answer to the
  // renewal deletes.
  const replaced = before.filter(({ name }) => deleted.some(({ cookie }) => cookie.name === name))
  const pairs = after.flatMap(one => {
    const earlier = before.find(({ name }) => name === one.name) ?? replaced[0]
    // A cookie with the same value contains no token, because the renewal has replaced the refresh token.
    return earlier && earlier.value !== one.value ? [{ one, earlier }] : []
  })
  // There are more than two seconds between login and renewal, so an end that moves with the renewal differs from
  // an end that is rounded to seconds.
  const late = pairs.filter(({ one, earlier }) => one.from > earlier.to + 1500)
  for (const { one, earlier } of late)
    if (await isSession(context, browser, one.name))
      throw new Failed(
        `The cookie ${one.name} ends about ${Math.round((one.from - earlier.to) / 1000)} seconds later than before the renewal.`,
        visit.page.trail.slice(-2).map(describeExchange),
      )
  if (pairs.length === 0)
    throw new NotApplicable('no cookie that lives longer than the access token changes with a renewal')
}

/**
 * The cookies of a navigation that live for more than the given seconds. Each cookie ends between the times `from` and `to`, in
 * milliseconds.
 */
function longLived({ trail }: Page, moreThan: number) {
  return cookiesOf(trail).flatMap(({ cookie: { name, value, maxAge }, exchange: { startedAt, durationMs } }) => {
    if (maxAge === undefined || maxAge <= moreThan) return []
    const from = startedAt + maxAge * 1000
    return [{ name, value, from, to: from + durationMs }]
  })
}

/** A visitor whose page renewed the session before the API answered with an error. */
async function renewedWithError(context: CheckContext): Promise<Browser> {
  // In the second attempt the first call gets no fault, because some clients renew only after a 401.
  for (const skip of [0, 1]) {
    const { browser } = await expiredSession(context)
    await context.order('list-500', { times: 'always', skip })
    const visit = await visitPage(context, browser)
    const renewed = visit.steps.findIndex(({ kind, response }) => kind === 'refresh' && response.status === 200)
    const isMet = visit.steps.slice(renewed + 1).some(({ fault }) => fault?.name === 'list-500')
    if (renewed >= 0 && isMet) return browser
    await context.dropFaults()
    if (skip === 1) renewalIn(context, visit)
  }
  throw new NotApplicable('no page renews and then asks for the list')
}

/** How to fix a visit that ends without a call of the API, depending on the renewal. */
function adviceForRenewal(page: Page, steps: LabStep[]): string {
  const renewal = steps.findLast(({ kind }) => kind === 'refresh')
  const isRefused = steps.some(({ kind, response }) => kind === 'api' && response.status === 401)
  if (renewal && (renewal.response.status !== 200 || !tokensOf(renewal))) {
    const fix = renewal.reason ? ` ${guidanceOf(renewal.reason).fix}` : ''
    return `The client sent a renewal, and the portal refused it with status ${renewal.response.status}.${fix}`
  }
  if (renewal && isRefused)
    return 'The renewal worked, but the client called the API with the old access token. Use the token of the renewal for the same visit.'
  if (renewal)
    return 'The renewal worked, but the client made no call of the API with the new token: see its output, and the cookies that it set.'
  if (isRefused)
    return 'The API refused the access token with 401. Send grant_type=refresh_token with the refresh token, and repeat the call once.'
  if (page.status === 0 || page.status >= 500)
    return 'The client failed before it sent a renewal: see its output. The browser no longer sends a cookie after its Max-Age, so look for the refresh token in its own cookie or in the store.'
  return 'When the access token has expired, or its cookie is gone, send grant_type=refresh_token with the refresh token of the token response. Keep the refresh token in its own cookie, which lives longer than the access token.'
}

/** A check of the first visit after the access token has expired. */
function renewing(
  definition: Omit<CheckDefinition, 'run'>,
  judge: (visit: Awaited<ReturnType<typeof visitPage>>, context: CheckContext) => Promise<void>,
): CheckDefinition {
  return {
    ...definition,
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      await judge(visit, context)
    },
  }
}
