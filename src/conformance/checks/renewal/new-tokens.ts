// Checks on the tokens that a renewal returns: the client must store them, and set cookies with the right lifetime.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type Browser, noRedirects, type Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectWithFix, fail, setCookiesOf } from '../../findings.ts'
import type { Person } from '../../platform.ts'
import { isAcceptedCall, isCallWithToken, isRenewal } from '../../platform-calls.ts'
import { openPagesAbout, openWithApplication } from '../../steps/application-pages.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { openCreateForm, openFormIn } from '../../steps/create-form.ts'
import { expectNoRenewal, forgetRenewal, grantedIn } from '../../steps/renewals.ts'
import {
  endToken,
  expiredSession,
  isSession,
  openSession,
  ownCookies,
  renewalIn,
  shortLifeOrder,
  visitPage,
} from '../../steps/sessions.ts'
import { cookiesOf, readSetCookie } from '../../steps/set-cookies.ts'
import { fieldsOf, tokensOf } from '../../tokens.ts'

const needs: CheckDefinition['needs'] = ['page']

/** The usual expires_in. */
const accessSeconds = 86_400

/** Faults that take the new refresh token out of the answer to a renewal. */
const withoutToken: [id: string, fault: string, what: string][] = [
  ['missing', 'refresh-refresh-token-missing', 'no refresh_token'],
  ['null', 'refresh-refresh-token-null', 'null as its refresh_token'],
  ['empty', 'refresh-refresh-token-empty', 'an empty refresh_token'],
]

/**
 * Makes the client renew once under the fault, and makes the new access token invalid. Returns what happens at the next
 * visit.
 */
async function renewTwice(context: CheckContext, fault?: string) {
  const { browser, person } = await context.signedIn()
  await context.platform.endAccessTokens(person)
  if (fault) await context.order(fault, { times: 1 })
  const first = renewalIn(context, await visitPage(context, browser))
  await context.dropFaults()
  await forgetRenewal(context)
  await context.platform.endAccessTokens(person)
  return { first, ...(await visitPage(context, browser)) }
}

export const newTokens: CheckDefinition[] = [
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
      await forgetRenewal(context)
      const { steps } = await visitPage(context, browser)
      expectNoRenewal(context, steps)
      expect(steps.some(isAcceptedCall), 'On the next page, the visitor is not signed in.', ...steps)
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
      const browser = await renewedThenRefused(context, () => expiredSession(context), 'list-500')
      await context.dropFaults()
      await forgetRenewal(context)
      await expectStored(context, browser)
    },
  },
  {
    id: 'refresh-delivered-with-refusal',
    title: 'The client stores the new tokens of a renewal even if the API then refuses a call with 403',
    rule: 'RF-09',
    why: 'If a call is refused, many frameworks answer with a new error page, without the cookies that the code has already set. If the client then loses the new refresh token, it sends the old refresh token again. The portal then revokes all tokens.',
    fix: 'After every renewal, set the new cookies in the answer to the browser, even if this answer is an error page.',
    needs,
    async run(context) {
      const browser = await renewedThenRefused(context, () => refusedSession(context), 'list-403')
      await context.dropFaults()
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(isRenewal)
      const isOld = steps.some(({ kind, response }) => kind === 'api' && response.status === 401)
      expect(!isOld && renewals.length === 0, 'The next page uses the old tokens again.', page, ...steps)
      expect(
        steps.some(isAcceptedCall),
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
    why: 'The portal can make an access token invalid before it expires. If the client then loses the new tokens, the next page sends the old refresh token. The portal then revokes all tokens, and the session ends.',
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
      'If the client renews because the API answered 401 to the form for a new application, the client stores the new tokens',
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
      const renewal = steps.find(isRenewal)
      if (!renewal)
        throw new NotApplicable(`the client does not renew for the form, and answers with ${describePage(page)}`)
      await expectNewToken(context, open.browser, grantedIn(renewal))
      await forgetRenewal(context)
      await context.platform.endAccessTokens(open.person)
      const visit = await visitPage(context, open.browser)
      const second = visit.steps.find(isRenewal)
      if (!second && !(await renewsTwice(context))) return
      const brought = tokensOf(renewal)?.refresh_token
      expectWithFix(
        'Store the access token and the refresh token of a renewal together, with the same function for every request method.',
        second && fieldsOf(second).refresh_token === brought,
        second
          ? 'The next renewal sent an older refresh token, although the renewal for the form had returned a new one.'
          : `After the access token from this renewal had become invalid, the client made no second renewal, and answered with ${visit.page.stoppedAt ? 'a redirect to the portal' : describePage(visit.page)}.`,
        renewal,
        ...(second ? [second] : [visit.page]),
      )
    },
  },
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
      await forgetRenewal(context)
      await expectStored(context, browser, opened)
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
      const renewed = await renewAtEach(context, application.person, urls)
      if (renewed.length === 0) throw new NotApplicable('no page about an application renews the session')
      await forgetRenewal(context)
      for (const { browser, opened } of renewed) await expectStored(context, browser, opened)
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
      await context.order('refresh-expires-in', shortLifeOrder)
      const first = renewalIn(context, await visitPage(context, browser))
      await forgetRenewal(context)
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
      expect(steps.some(isAcceptedCall), `The visit with the renewal ended with ${describePage(page)}.`, page, ...steps)
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
  ...withoutToken.map(
    ([id, fault, what]): CheckDefinition => ({
      id: `refresh-token-kept-${id}`,
      title: `If the answer to a renewal has ${what}, the next renewal sends the old refresh token`,
      rule: 'RF-08',
      why: 'A portal does not have to return a new refresh token. The old refresh token then stays valid. If the client loses it, the visitor is signed out when the next access token expires.',
      fix: 'Replace the refresh token only if the refresh_token in the answer is a non-empty string. Otherwise, store the old refresh token again together with the new access token. Requests with the same refresh token may share one renewal. But do not remember the shared answer if the portal did not replace the refresh token.',
      needs,
      longestMs: 90_000,
      async run(context) {
        const { first, page, steps } = await renewTwice(context, fault)
        if (!first.fault)
          throw new Undecided('The portal answered the renewal without the fault that this check had ordered.')
        const sent = steps.find(isRenewal)
        const kept = fieldsOf(first).refresh_token
        const isSent = sent && fieldsOf(sent).refresh_token === kept
        if (isSent) return
        // As long as the refresh token has not changed, a client may use the answer to the first renewal again. The API
        // then refuses the same access token twice.
        const isRefused = ({ kind, response }: LabStep) => kind === 'api' && response.status === 401
        if (!sent && steps.filter(isRefused).length > 1)
          throw new NotApplicable('the client uses the answer to the first renewal again')
        const plain = await renewTwice(context)
        if (!plain.steps.some(isRenewal)) throw new NotApplicable('the client does not renew a second time')
        fail(
          sent
            ? 'The next renewal does not send the last refresh token that the portal issued.'
            : `The next visit makes no renewal, and ends with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}.`,
          first,
          page,
          ...steps,
        )
      },
    }),
  ),
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
    rule: 'refresh-cookie-end',
    why: 'If each renewal extends the lifetime, neither the cookie nor a stolen copy of it ever expires.',
    fix: 'Store the time of the login together with the refresh token. After each renewal, set Max-Age to the rest of the lifetime that began at the login.',
    needs,
    async run(context) {
      const { browser, page: landed } = await expiredSession(context)
      await expectFixedEnd(context, browser, landed)
      // Tests a second session, which the client renews after a 401 answer. The pause between the login and this
      // renewal is long enough to measure whether the renewal makes the cookie expire later.
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
    fix: 'After a renewal, let the cookie with the refresh token live as long as the refresh token. Do not use the expires_in of the access token.',
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
      // Some clients give the cookie another name after each renewal.
      if (renewed.length === 0 && longLived(visit.page, expiresIn + 60).length > 0) return
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
]

/** Whether the client renews a session a second time if the API refuses the access token of the first renewal. */
async function renewsTwice(context: CheckContext): Promise<boolean> {
  const { browser, person } = await context.signedIn()
  for (const wait of [() => forgetRenewal(context), async () => {}]) {
    await context.platform.endAccessTokens(person)
    const { steps } = await visitPage(context, browser)
    if (!steps.some(isRenewal)) return false
    await wait()
  }
  return true
}

/**
 * Signs the person in once for each address, in separate browsers. After `change`, the access tokens have expired, and
 * each browser opens its address. Returns the browsers whose visit renewed the session, with the opened pages.
 */
export async function renewAtEach(
  context: CheckContext,
  person: Person,
  urls: string[],
  change: () => Promise<unknown> = async () => {},
): Promise<{ browser: Browser; opened: Page }[]> {
  const sessions = []
  for (const url of urls) {
    const { browser, callback } = await beginLogin(context)
    const drop = await context.order('exchange-expires-in', shortLifeOrder)
    await followCallback(context, browser, callback)
    await drop()
    sessions.push({ browser, url })
  }
  await change()
  await endToken(context, person)
  const renewed = []
  for (const { browser, url } of sessions) {
    const { result: opened, steps } = await context.during(() => context.visitUntilPortal(browser, url))
    const renewal = steps.find(isRenewal)
    if (renewal && tokensOf(renewal)) renewed.push({ browser, opened })
  }
  return renewed
}

/** Expects that the next page makes a call with the new tokens, and does not renew the session again. */
export async function expectStored(context: CheckContext, browser: Browser, ...renewed: Page[]): Promise<void> {
  const { page, steps } = await visitPage(context, browser)
  expectNoRenewal(context, steps, ...renewed)
  expect(
    steps.some(isAcceptedCall),
    `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
    ...renewed,
    page,
    ...steps,
  )
}

/**
 * Fails unless the next page uses the new token at once. It is not enough that the visitor is still signed in. A client
 * that has lost the new token may still remember the renewal. The portal also accepts the old refresh token for ten
 * seconds.
 */
export async function expectNewToken(context: CheckContext, browser: Browser, renewal: LabStep): Promise<void> {
  const old = new Set(
    context
      .arrived('exchange', 'refresh')
      .filter(step => step !== renewal)
      .map(step => tokensOf(step)?.access_token),
  )
  const { page, steps } = await visitPage(context, browser)
  const calls = steps.filter(isCallWithToken)
  const isOld = ({ request }: LabStep) => old.has(request.headers.authorization?.split(' ')[1])
  const renewals = steps.filter(isRenewal)
  expect(!calls.some(isOld), 'The next page calls the API with the token from before the renewal.', page, ...steps)
  expect(renewals.length === 0, 'The next page renews again.', ...renewals)
  expect(
    calls.some(isAcceptedCall),
    `On the next page, the visitor is not signed in. The client answered with ${describePage(page)}.`,
    page,
    ...steps,
  )
}

/**
 * Makes a visit in which the client renews the session, and the API then answers with the fault. `open` returns a
 * session whose access token no longer works. Returns the browser.
 */
export async function renewedThenRefused(
  context: CheckContext,
  open: () => Promise<{ browser: Browser }>,
  fault: string,
): Promise<Browser> {
  // In the second attempt, the first API call gets no fault, because some clients renew only after a 401 answer.
  for (const skip of [0, 1]) {
    const { browser } = await open()
    await context.order(fault, { times: 'always', skip })
    const visit = await visitPage(context, browser)
    const renewed = visit.steps.findIndex(step => isRenewal(step) && step.response.status === 200)
    const isMet = visit.steps.slice(renewed + 1).some(step => step.fault?.name === fault)
    if (renewed >= 0 && isMet) return browser
    await context.dropFaults()
    if (skip === 1) renewalIn(context, visit)
  }
  throw new NotApplicable('no page renews and then asks for the list')
}

/** Signs in, and makes the access token invalid before it expires. */
async function refusedSession(context: CheckContext): Promise<{ browser: Browser }> {
  const { browser, person } = await context.signedIn()
  await context.platform.endAccessTokens(person)
  return { browser }
}

/**
 * Fails if a renewal at the next visit makes the cookie with the refresh token expire later. `landed` is the page after
 * the login. Looks only at cookies that live longer than `moreThan` seconds. If `renewed` is given, it is the visit
 * with the renewal.
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
        `The cookie ${one.name} expires about ${Math.round((one.from - earlier.to) / 1000)} seconds later than before the renewal.`,
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
