// Checks how the client renews an access token: the request, the new tokens, and the number of renewals.
import { guidanceOf } from '../../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type Browser, noRedirects, type Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, expectWithFix, fail, setCookiesOf } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { openCreateForm, openFormIn } from '../../steps/create-form.ts'
import { expectNoRenewal, isCall } from '../../steps/renewals.ts'
import {
  expiredSession,
  isSession,
  newTabs,
  openSession,
  ownCookies,
  renewalIn,
  shortLifeValue,
  visitAtOnce,
  visitPage,
} from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'
import { occasions } from './occasions.ts'
import { specialRenewals } from './special-renewals.ts'

/**
 * Waits until the last renewal no longer has an effect. For a few seconds after a renewal, a client may use the answer
 * again. For ten seconds, the portal accepts the replaced refresh token.
 */
const forget = ({ pause }: CheckContext) => pause(12_000)

const needs: CheckDefinition['needs'] = ['page']

/** The usual expires_in. */
const accessSeconds = 86_400

/** The fields that a renewal must have, and their values (RFC 6749, 6). */
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
    why: 'The portal issues a refresh token so that the visitor can stay signed in. Visitors may lose their work if they have to sign in again.',
    fix: 'When the access token has expired, send grant_type=refresh_token and the refresh token from the token response.',
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
        `${hasEnded ? 'All session cookies, including the cookie with the refresh token, expire together with the access token. ' : ''}The visit ended with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  renewing(
    {
      id: 'refresh-without-state',
      title: 'After a successful renewal, the visitor is still signed in',
      rule: 'RF-08',
      why: 'The answer to a renewal has no state, because the request had none. A client that requires a state signs the visitor out.',
      fix: 'Do not compare the state in the answer to a renewal. Compare it only in a callback and in the answer to an exchange.',
    },
    async ({ steps, page }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      if (renewal.response.status !== 200)
        throw new NotApplicable('the portal refused the renewal. Another check reports this')
      expect(
        steps.some(isCall),
        `The portal answered with new tokens, but the client answered the visitor with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  ),
  renewing(
    {
      id: 'refresh-fields',
      title: 'A renewal contains grant_type, refresh_token, client_id and client_secret, each with the right value',
      rule: 'RF-01',
      why: 'The portal refuses a renewal without one of these fields.',
      fix: 'Send a form with exactly these fields: grant_type, refresh_token, client_id and client_secret.',
    },
    async ({ steps }, context) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      const given = context.arrived('exchange', 'refresh')
      const before = given[given.indexOf(renewal) - 1]!
      const body = fieldsOf(renewal)
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
      title: 'The client does not send any field of a renewal in the query of the address',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log addresses. If the address contains the refresh token, anyone who can read such a log can use it.',
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
    title: 'The client stores the new tokens of a renewal, so that the next page does not renew again',
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
      expectNoRenewal(context, steps)
      expect(steps.some(isCall), 'On the next page, the visitor is not signed in.', ...steps)
    },
  },
  {
    id: 'refresh-delivered-with-error',
    title: 'The client stores the new tokens of a renewal even if an API call fails after the renewal',
    rule: 'RF-09',
    why: 'If the client loses the new refresh token because of an API error, it sends the old refresh token again. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is a redirect or an error.',
    needs,
    longestMs: 120_000,
    async run(context) {
      const browser = await renewedWithError(context)
      await context.dropFaults()
      await forget(context)
      const { page, steps } = await visitPage(context, browser)
      expectNoRenewal(context, steps)
      expect(
        steps.some(isCall),
        `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  {
    id: 'refresh-delivered-after-401',
    title: 'If the client renews because the API refused the access token, the client stores the new tokens',
    rule: 'RF-09',
    why: 'The portal can end an access token before it expires. If the client then loses the new tokens, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if a 401 answer from the API caused the renewal.',
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
    title:
      'If the client renews because the API answered a form for a new application with 401, the client stores the new tokens',
    rule: 'RF-09',
    why: 'The access token can become invalid while the visitor fills in a form. If the client then loses the new tokens, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is the redirect after a form.',
    needs: ['page', 'create'],
    longestMs: 90_000,
    async run(context) {
      const open = await openCreateForm(context)
      await context.platform.endAccessTokens(open.person)
      // Does not follow the redirect: if the client has lost the new token, the next request would renew again and hide
      // the loss.
      const { result: page, steps } = await context.during(() =>
        open.browser.submit(open.page, open.form, open.values, noRedirects),
      )
      const renewal = steps.find(({ kind }) => kind === 'refresh')
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(page)}`)
      await expectNewToken(context, open.browser, grantedIn(renewal))
      await forget(context)
      await context.platform.endAccessTokens(open.person)
      const visit = await visitPage(context, open.browser)
      const second = visit.steps.find(({ kind }) => kind === 'refresh')
      if (!second && !(await renewsTwice(context))) return
      const brought = tokensOf(renewal)?.refresh_token
      expectWithFix(
        'Store the access token and the refresh token of a renewal together, with the same function for every request method.',
        second && fieldsOf(second).refresh_token === brought,
        second
          ? 'The next renewal sent an older refresh token, although the renewal for the form had returned a new one.'
          : `After the access token from this renewal had ended, the client made no second renewal, and answered with ${visit.page.stoppedAt ? 'a redirect to the portal' : describePage(visit.page)}.`,
        renewal,
        ...(second ? [second] : [visit.page]),
      )
    },
  },
  {
    id: 'refresh-state-optional',
    title: 'If the answer to a renewal has no state, the visitor stays signed in',
    rule: 'RF-08',
    why: 'A portal does not have to send a state in the answer to a renewal, because no browser takes part in this call. A client that requires a state signs the visitor out.',
    fix: 'Do not compare the state in the answer to a renewal. Compare it only in a callback and in the answer to an exchange.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-state-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isCall), `The visit ended with ${describePage(page)}.`, page, ...steps)
    },
  },
  {
    id: 'refresh-token-replaced',
    title: 'Each renewal sends the refresh token that the previous renewal returned',
    rule: 'refresh-token-replaced',
    why: 'Each renewal replaces the refresh token. If the client sends an old refresh token, the portal revokes all tokens.',
    fix: 'Store the refresh_token of every answer that contains one.',
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
      const sent = fieldsOf(second).refresh_token
      expect(sent === brought, 'The second renewal sends an older refresh token.', first, second)
    },
  },
  {
    id: 'refresh-token-kept',
    title: 'If a renewal returns no new refresh token, the client keeps the old refresh token',
    rule: 'RF-08',
    why: 'A portal does not have to return a new refresh token. The old refresh token then stays valid. If the client loses it, the visitor is signed out later.',
    fix: 'Replace the refresh token only if the answer contains one.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-refresh-token-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isCall), `The visit with the renewal ended with ${describePage(page)}.`, page, ...steps)
      expect(await context.isSignedIn(browser), 'On the next page, the visitor is not signed in.')
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
    title: 'After a renewal, the session cookie lives as long as the new access token',
    rule: 'CK-01',
    why: 'With the old lifetime, the cookie would expire before the new token, or live longer than this token.',
    fix: 'Set Max-Age to the expires_in of the renewal.',
    needs,
    async run(context) {
      const login = await openSession(context, ['exchange-expires-in', 7200])
      if (!login.cookies.some(({ cookie }) => Math.abs((cookie.maxAge ?? 0) - 7200) <= 60))
        throw new NotApplicable('no cookie of this client lives as long as the access token')
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 5400 } })
      const { page, steps } = await visitPage(context, browser)
      grantedIn(renewalIn(context, { page, steps }))
      const set = page.trail.flatMap(setCookiesOf).map(readSetCookie)
      const lives = set.map(({ name, maxAge }) => `${name} lives for ${maxAge ?? 'an unlimited number of'} seconds`)
      expect(
        set.some(({ maxAge }) => Math.abs((maxAge ?? 0) - 5400) <= 60),
        set.length === 0
          ? 'After the renewal, the client sets no cookie.'
          : `The expires_in of the renewal was 5400, and the client set these cookies: ${lives.join(', ')}.`,
        page,
      )
    },
  },
  {
    id: 'refresh-fixed-end',
    title: 'A renewal does not extend the lifetime of the cookie that contains the refresh token',
    rule: 'CK-09',
    why: 'If each renewal extends the lifetime, neither the cookie nor a stolen copy of it ever expires.',
    fix: 'Store the time of the login together with the refresh token. After each renewal, set Max-Age to the rest of the lifetime.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      await expectFixedEnd(context, browser, landed)
      // Tests a second session, which the client renews after a 401 answer. The pause makes this renewal so much later
      // than the login that the check can measure whether the renewal makes the cookie expire later.
      const second = await context.signedIn()
      const third = await context.signedIn()
      const open = context.settings.create ? await openFormIn(context, third.browser, third.person) : undefined
      await context.pause(2300)
      await context.platform.endAccessTokens(second.person)
      await expectFixedEnd(context, second.browser, second.page, accessSeconds + 60)
      if (!open) return
      const { result: page, steps } = await context.during(() =>
        open.browser.submit(open.page, open.form, open.values, noRedirects),
      )
      if (!steps.some(({ kind, response }) => kind === 'refresh' && response.status === 200)) return
      await expectFixedEnd(context, third.browser, third.page, accessSeconds + 60, { page, steps })
    },
  },
  {
    id: 'refresh-cookie-age-kept',
    title: 'After a renewal, the cookie with the refresh token still lives longer than the access token',
    rule: 'CK-09',
    why: 'If the cookie expires together with the new access token, the session cannot be renewed a second time.',
    fix: 'After a renewal, give the cookie with the refresh token the rest of its own lifetime, not the expires_in of the access token.',
    needs,
    async run(context) {
      const expiresIn = 5400
      const { browser, page: landed } = await expiredSession(context)
      const before = longLived(landed, 2 * expiresIn)
      await context.order('refresh-expires-in', { options: { value: expiresIn } })
      const visit = await visitPage(context, browser)
      grantedIn(renewalIn(context, visit))
      const renewed = cookiesOf(visit.page.trail).filter(
        ({ cookie }) => !cookie.isDeletion && before.some(({ name }) => name === cookie.name),
      )
      if (renewed.length === 0)
        throw new NotApplicable('a renewal sets no cookie that lives longer than the access token')
      for (const { cookie, exchange } of renewed)
        expect(
          cookie.maxAge === undefined || cookie.maxAge > expiresIn + 60,
          `After the login, the cookie ${cookie.name} lived for more than ${2 * expiresIn} seconds. After a renewal with the expires_in ${expiresIn}, it lives for ${cookie.maxAge} seconds.`,
          exchange,
        )
    },
  },
  {
    id: 'refresh-not-too-often',
    title: 'If the access token is still valid for half an hour, the client does not renew it',
    rule: 'RF-10',
    why: 'If the client renews at every page, every page waits for the portal, and the renewals of several tabs disturb each other.',
    fix: 'Renew when the token has expired, or a few seconds before it expires.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-expires-in', { options: { value: 1800 } })
      await followCallback(context, browser, callback)
      for (let visit = 0; visit < 3; visit++) await visitPage(context, browser)
      const renewals = context.arrived('refresh')
      expect(
        renewals.length === 0,
        `During the login and three visits, the client renewed the token ${renewals.length} times.`,
        ...renewals,
      )
    },
  },
  {
    id: 'refresh-no-storm',
    title: 'If new tokens expire within seconds, one page does not cause endless renewals',
    rule: 'RF-10',
    why: 'Some clients renew a token some time before it expires. If each new token lives for a shorter time than that, such a client renews again and again, and never shows the page.',
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
    title: 'If ten tabs load at once with an expired token, every tab shows the visitor as signed in',
    rule: 'RF-02',
    why: 'A browser that restores ten tabs sends ten requests at once, each with the same old cookie.',
    fix: 'Let all requests with the same refresh token share one renewal and its answer.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { pages, page, steps } = await visitAtOnce(context, newTabs(browser, 10))
      renewalIn(context, { page, steps })
      for (const page of pages)
        expect(
          page.status === 200 && !page.stoppedAt,
          `One tab got ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
          page,
        )
      expect(await context.isSignedIn(browser), 'After the ten visits, the visitor is not signed in.')
    },
  },
  {
    id: 'refresh-single-flight',
    title: 'If six tabs load at once and a seventh tab loads a short time later, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid only once. For ten seconds after a renewal, the portal still accepts the old refresh token and returns the same new token. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal, and remember its answer for a few seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const late = browser.copy()
      // Uses two different pages of the client.
      const paths = [context.settings.page, context.settings.create || context.settings.page]
      const { result: page, steps } = await context.during(async () => {
        await Promise.all(newTabs(browser, 6).map((tab, index) => context.visitUntilPortal(tab, paths[index % 2]!)))
        await context.pause(100)
        return context.visitUntilPortal(late, context.settings.page)
      })
      renewalIn(context, { page, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  {
    id: 'refresh-single-flight-slow',
    title: 'If five tabs load while the portal needs a second for the renewal, the client makes only one renewal',
    rule: 'RF-03',
    why: 'A refresh token is valid only once. For ten seconds after a renewal, the portal still accepts the old refresh token and returns the same new token. After that, a renewal with the old refresh token ends the session.',
    fix: 'Let all requests with the same refresh token share one renewal until its answer has arrived.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-late', { times: 20, options: { seconds: 1 } })
      const { page, steps } = await visitAtOnce(context, newTabs(browser, 5), 1500)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 1, `The client made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  ...occasions,
  ...specialRenewals,
]

/** Whether the client renews a session a second time if the API refuses the access token of the first renewal. */
async function renewsTwice(context: CheckContext): Promise<boolean> {
  const { browser, person } = await context.signedIn()
  for (const wait of [() => forget(context), async () => {}]) {
    await context.platform.endAccessTokens(person)
    const { steps } = await visitPage(context, browser)
    if (!steps.some(({ kind }) => kind === 'refresh')) return false
    await wait()
  }
  return true
}

/** Ends the check if the portal refused the renewal. */
function grantedIn(renewal: LabStep): LabStep {
  if (renewal.response.status !== 200 || !tokensOf(renewal))
    throw new NotApplicable('the portal refused the renewal. Another check reports this')
  return renewal
}

/**
 * Fails unless the next page uses the new token at once. It is not enough that the visitor is still signed in: a client
 * that has lost the new token may remember the renewal, or the portal may accept the old refresh token for ten seconds.
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
    `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
    page,
    ...steps,
  )
}

/**
 * Fails if a renewal at the next visit makes the cookie with the refresh token expire later. `landed` is the page after
 * the login. Looks only at cookies that live longer than `moreThan` seconds. If `renewed` is given, it is the visit with
 * the renewal.
 */
async function expectFixedEnd(
  context: CheckContext,
  browser: Browser,
  landed: Page,
  moreThan = 60,
  renewed?: { page: Page; steps: LabStep[] },
): Promise<void> {
  const before = longLived(landed, moreThan)
  const visit = renewed ?? (await visitPage(context, browser))
  grantedIn(renewalIn(context, visit))
  const after = longLived(visit.page, moreThan)
  const deleted = cookiesOf(visit.page.trail).filter(({ cookie }) => cookie.isDeletion)
  // The name of the cookie may depend on the token. If so, the new cookie replaces a cookie that the answer to the
  // renewal deletes.
  const replaced = before.filter(({ name }) => deleted.some(({ cookie }) => cookie.name === name))
  const pairs = after.flatMap(one => {
    const earlier = before.find(({ name }) => name === one.name) ?? replaced[0]
    // If a cookie has the same value as before, it does not contain the refresh token, because the renewal has replaced
    // this token.
    return earlier && earlier.value !== one.value ? [{ one, earlier }] : []
  })
  // The renewal is more than two seconds after the login. A difference of more than 1.5 seconds therefore comes from
  // the renewal, and not from rounding to seconds.
  const late = pairs.filter(({ one, earlier }) => one.from > earlier.to + 1500)
  for (const { one, earlier } of late)
    if (await isSession(context, browser, one.name))
      fail(
        `The cookie ${one.name} ends about ${Math.round((one.from - earlier.to) / 1000)} seconds later than before the renewal.`,
        ...visit.page.trail.slice(-2),
      )
  if (pairs.length === 0)
    throw new NotApplicable('no cookie that lives longer than the access token changes with a renewal')
}

/**
 * The cookies of a navigation that live longer than `moreThan` seconds. Each cookie expires between the times `from`
 * and `to`, in milliseconds.
 */
function longLived({ trail }: Page, moreThan: number) {
  return cookiesOf(trail).flatMap(({ cookie: { name, value, maxAge }, exchange: { startedAt, durationMs } }) => {
    if (maxAge === undefined || maxAge <= moreThan) return []
    const from = startedAt + maxAge * 1000
    return [{ name, value, from, to: from + durationMs }]
  })
}

/**
 * Makes a visit in which the client renews the session, and the API then answers with an error. Returns the browser.
 */
async function renewedWithError(context: CheckContext): Promise<Browser> {
  // In the second attempt, the first API call gets no fault, because some clients renew only after a 401 answer.
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

/** Says how to fix a client whose API calls all failed at a visit. The advice depends on the result of the renewal. */
function adviceForRenewal(page: Page, steps: LabStep[]): string {
  const renewal = steps.findLast(({ kind }) => kind === 'refresh')
  const isRefused = steps.some(({ kind, response }) => kind === 'api' && response.status === 401)
  if (renewal && (renewal.response.status !== 200 || !tokensOf(renewal))) {
    const fix = renewal.reason ? ` ${guidanceOf(renewal.reason).fix}` : ''
    return `The client sent a renewal, and the portal refused it with status ${renewal.response.status}.${fix}`
  }
  if (renewal && isRefused)
    return 'The renewal worked, but the client called the API with the old access token. Use the new access token for the same visit.'
  if (renewal)
    return 'The renewal worked, but the client made no API call with the new token. See the output of the client, and the cookies that it set.'
  if (isRefused)
    return 'The API refused the access token with 401. Renew with grant_type=refresh_token and the refresh token, and then repeat the API call once.'
  if (page.status === 0 || page.status >= 500)
    return 'The client failed before it sent a renewal. Its output can show why. When the Max-Age of a cookie has passed, the browser no longer sends the cookie. So keep the refresh token in its own cookie or on the server, and read it from there.'
  return 'When the access token has expired, or its cookie is gone, send grant_type=refresh_token and the refresh token from the token response. Keep the refresh token in its own cookie, which lives longer than the access token. If the server keeps the tokens, let the session cookie live longer than the access token.'
}

/** Makes a check that looks at the first visit after the access token has expired. */
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
