// What renews an access token: what is sent, what becomes of the tokens that come, and how often.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { NotApplicable, type Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed, setCookiesOf } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { expiredSession, openSession, ownCookies, renewalIn, shortLifeValue, visitPage } from '../../steps/sessions.ts'
import { readSetCookie } from '../../steps/set-cookies.ts'
import { tokensOf } from '../../steps/tokens.ts'

/** Until nobody remembers the last renewal any more: neither a client that shares it, nor the portal, which answers a replaced refresh token for ten seconds. */
const forget = ({ pause }: CheckContext) => pause(12_000)

const needs: Row['needs'] = ['page']

/** What a renewal has to carry (RFC 6749, 6). */
const fields: [name: string, expected: (context: CheckContext, before: LabStep) => unknown][] = [
  ['grant_type', () => 'refresh_token'],
  ['refresh_token', (_, before) => tokensOf(before)?.refresh_token],
  ['client_id', ({ platform }) => platform.clientId],
  ['client_secret', ({ platform }) => platform.clientSecret.reveal()],
]

const isCall = ({ kind, response }: LabStep) => (kind === 'api' || kind === 'me') && response.status < 400

export const renewal: Row[] = [
  {
    id: 'refresh-works',
    title: 'A visitor stays signed in when the access token ends',
    rule: 'refresh-used',
    why: 'The refresh token is there for that; whoever is sent to the login loses what they were doing.',
    fix: 'Send grant_type=refresh_token with the refresh token of the token response when the access token is over.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { page, steps } = await visitPage(context, browser)
      expect(
        steps.some(isCall),
        `The visit ends with ${page.stoppedAt ? 'the login' : describePage(page)}.`,
        page,
        ...steps,
      )
    },
  },
  renewing(
    {
      id: 'refresh-without-state',
      title: 'A renewal that the portal answers makes a session',
      rule: 'RF-08',
      why: 'Its answer has no state, because none was sent.',
      fix: 'Compare state in the answer to a code alone.',
    },
    async ({ steps, page }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      if (renewal.response.status !== 200)
        throw new NotApplicable('the portal refused the renewal, which another check says')
      expect(
        steps.some(isCall),
        `The portal answered with new tokens, and the page with ${describePage(page)}.`,
        page,
        ...steps,
      )
    },
  ),
  renewing(
    {
      id: 'refresh-fields',
      title: 'A renewal carries grant_type, the refresh token, the client id and its secret, each once',
      rule: 'RF-01',
      why: 'The portal needs them all and refuses the renewal otherwise.',
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
        expect(body[name] === expected(context, before), `${name} is ${name in body ? 'wrong' : 'not there'}.`, renewal)
      }
      expect(renewal.response.status === 200, 'The portal refused it.', renewal)
    },
  ),
  renewing(
    {
      id: 'refresh-not-in-address',
      title: 'Nothing of a renewal stands in its address',
      rule: 'credentials-in-body',
      why: 'Addresses are written to logs on the way.',
      fix: 'Send everything in the body.',
    },
    async ({ steps }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      expect(!renewal.request.url.includes('?'), `Its address is ${renewal.request.url.split('?')[0]}?…`, renewal)
    },
  ),
  {
    id: 'refresh-delivered',
    title: 'What a renewal brings reaches the browser or stays at the server: the next page renews nothing',
    rule: 'RF-09',
    why: 'An older refresh token revokes them all, so that a lost one ends the session.',
    fix: 'Set the new cookies in the very answer whose request renewed, redirects and errors included.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser } = await expiredSession(context)
      renewalIn(context, await visitPage(context, browser))
      await forget(context)
      const { steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'The next page renews once more.', ...renewals)
      expect(steps.some(isCall), 'The next page is not signed in.', ...steps)
    },
  },
  {
    id: 'refresh-delivered-with-error',
    title: 'What a renewal brings is kept, too, when the page ends in an error of the API',
    rule: 'RF-09',
    why: 'An older refresh token revokes them all, so that an error that passes would end the session.',
    fix: 'Set the new cookies in the very answer whose request renewed, redirects and errors included.',
    needs,
    longestMs: 120_000,
    async run(context) {
      const browser = await renewedWithError(context)
      await context.dropFaults()
      await forget(context)
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'The next page renews once more.', ...renewals)
      expect(steps.some(isCall), `The next page is not signed in: it is ${describePage(page)}.`, page, ...steps)
    },
  },
  {
    id: 'refresh-state-optional',
    title: 'A renewal whose answer has no state makes a session',
    rule: 'RF-08',
    why: 'A portal need not repeat it there: nothing came through a browser that it would have to be tied to.',
    fix: 'Compare state in the answer to a code alone.',
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
    title: 'The next renewal sends the refresh token that the last one brought',
    rule: 'refresh-token-replaced',
    why: 'Refresh tokens rotate, and an older one revokes them all.',
    fix: 'Keep the refresh_token of every answer that has one.',
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
      expect(sent === brought, 'It sends an older one.', first, second)
    },
  },
  {
    id: 'refresh-token-kept',
    title: 'A renewal that brings no new refresh token keeps the one that is there',
    rule: 'RF-08',
    why: 'A server may leave it out, and the old one then stays good.',
    fix: 'Replace the refresh token only where the answer has one.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-refresh-token-missing')
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      expect(steps.some(isCall), `After it the page is answered with ${describePage(page)}.`, page, ...steps)
      expect(await context.isSignedIn(browser), 'The next page is not signed in.')
      const plain = await expiredSession(context)
      await visitPage(context, plain.browser)
      const [kept, usual] = [browser, plain.browser].map(one => ownCookies(context, one).length)
      expect(kept! >= usual!, `It leaves ${kept} cookies, and a renewal with a new refresh token ${usual}.`, page)
    },
  },
  {
    id: 'refresh-max-age',
    title: 'After a renewal the session lives as long as the new access token',
    rule: 'CK-01',
    why: 'The new token has a lifetime of its own.',
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
    id: 'refresh-not-too-often',
    title: 'A token that lives for half an hour is not renewed at once',
    rule: 'RF-10',
    why: 'Every page would ask the portal, and with several tabs they overtake each other.',
    fix: 'Renew when the token is over, or a few seconds before.',
    needs,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.order('exchange-expires-in', { options: { value: 1800 } })
      await followCallback(context, browser, callback)
      for (let visit = 0; visit < 3; visit++) await visitPage(context, browser)
      const renewals = context.arrived('refresh')
      expect(renewals.length === 0, `The login and three visits renew it ${renewals.length} times.`, ...renewals)
    },
  },
  {
    id: 'refresh-no-storm',
    title: 'With tokens that live for seconds no page renews more than once',
    rule: 'RF-10',
    why: 'A lifetime shorter than the margin of renewal must not make a loop.',
    fix: 'Renew at most once for a request, and use what came.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 1 }, times: 4 })
      const { page, steps } = await visitPage(context, browser)
      renewalIn(context, { page, steps })
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length <= 2, `One page made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
      expectServed(page, `It is answered with ${describePage(page)}.`)
    },
  },
  {
    id: 'refresh-parallel',
    title: 'Ten tabs that find the token ended all stay signed in',
    rule: 'RF-02',
    why: 'A browser opens them all at once, each with the same old cookie.',
    fix: 'Renew once for all that come with one refresh token, and give every one of them the answer.',
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
      expect(await context.isSignedIn(browser), 'After them the visitor is signed out.')
    },
  },
  {
    id: 'refresh-single-flight',
    title: 'Tabs that come at once, and one that comes a moment later, renew once',
    rule: 'RF-03',
    why: 'A refresh token serves once; who comes second is refused, or takes the new one from the first.',
    fix: 'Share the running renewal between requests with the same refresh token, and remember its answer for some seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const late = browser.copy()
      const before = new Set(context.arrived())
      await Promise.all(
        Array.from({ length: 6 }, () => context.visitUntilPortal(browser.newTab(), context.settings.page)),
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
]

/** Somebody whose session was renewed by a page that then met an error of the API. */
async function renewedWithError(context: CheckContext): Promise<Browser> {
  // A client that waits for a 401 renews after its first call.
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
  throw new NotApplicable('no page was seen that renews and then asks for the list')
}

/** A check of what the visit after the end of the token sends. */
function renewing(
  row: Omit<Row, 'run'>,
  judge: (visit: Awaited<ReturnType<typeof visitPage>>, context: CheckContext) => Promise<void>,
): Row {
  return {
    ...row,
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const visit = await visitPage(context, browser)
      renewalIn(context, visit)
      await judge(visit, context)
    },
  }
}
