// When the access token is over or refused: what renews it, how often, and what keeps or ends the session.
import { setTimeout as wait } from 'node:timers/promises'
import type { Step } from '../../sandbox/steps.ts'
import { type Check, checksOf, NotApplicable, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { describePage, expect, setCookiesOf } from '../findings.ts'
import { begin, comeBack } from './come-back.ts'
import { tokensOf } from './exchange.ts'
import { expiredSession, needsRenewal, openSession, ownCookies, shortLifeValue, visitPage } from './sessions.ts'
import { readSetCookie } from './set-cookies.ts'

type Row = Omit<Check, 'group'>

/** Until nobody remembers the last renewal any more: neither a client that shares it, nor the portal, which answers a replaced refresh token for ten seconds. */
const forget = () => wait(12_000)

const needs: Row['needs'] = ['page']

/** What a renewal has to carry (RFC 6749, 6). */
const fields: [name: string, expected: (context: CheckContext, before: Step) => unknown][] = [
  ['grant_type', () => 'refresh_token'],
  ['refresh_token', (_, before) => tokensOf(before)?.refresh_token],
  ['client_id', ({ platform }) => platform.clientId],
  ['client_secret', ({ platform }) => platform.clientSecret.reveal()],
]

/** Answers to a renewal after which it may work the next time. */
const forNow: [fault: string, what: string][] = [
  ['503', 'with status 503'],
  ['500', 'with status 500'],
  ['429', 'with status 429'],
  ['reset', 'with a connection that ends'],
  ['html', 'with a page of a proxy'],
  ['cut', 'with half of an answer'],
]

const isCall = ({ kind, response }: Step) => (kind === 'api' || kind === 'me') && response.status < 400

export const stayingSignedIn = checksOf('staying-signed-in', [
  {
    id: 'expired-session-answers',
    title: 'After the access token has ended a page is answered, with the content or with a way to sign in',
    level: 'MUST',
    why: 'Every session comes there after expires_in seconds (specification, 5.4).',
    mend: 'Renew the token, or lead to the login; never answer with an error.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const { page } = await visitPage(context, browser)
      expect(page.status > 0 && page.status < 500, `It is answered with ${describePage(page)}.`, page)
      expect(page.fault === undefined, `The browser got nowhere: ${page.fault}.`, page)
    },
  },
  {
    id: 'refresh-works',
    title: 'A visitor stays signed in when the access token ends',
    level: 'SHOULD',
    why: 'The refresh token is there for that; whoever is sent to the login loses what they were doing (specification, 5.4; RFC 6749, 1.5).',
    mend: 'Send grant_type=refresh_token with the refresh token of the token response when the access token is over.',
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
      level: 'MUST',
      why: 'Its answer has no state, because none was sent (RFC 6749, 5.1).',
      mend: 'Compare state in the answer to a code alone.',
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
      level: 'MUST',
      why: 'The portal needs them all and refuses the renewal otherwise (RFC 6749, 6).',
      mend: 'Send a form with exactly grant_type, refresh_token, client_id and client_secret.',
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
      level: 'MUST',
      why: 'Addresses are written to logs on the way (RFC 6749, 2.3.1).',
      mend: 'Send everything in the body.',
    },
    async ({ steps }) => {
      const renewal = steps.find(({ kind }) => kind === 'refresh')!
      expect(!renewal.request.url.includes('?'), `Its address is ${renewal.request.url.split('?')[0]}?…`, renewal)
    },
  ),
  {
    id: 'refresh-delivered',
    title: 'What a renewal brings reaches the browser or stays at the server: the next page renews nothing',
    level: 'MUST',
    why: 'An older refresh token revokes them all, so that a lost one ends the session (RFC 9700, 4.14.2).',
    mend: 'Set the new cookies in the very answer whose request renewed, redirects and errors included.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      needsRenewal((await visitPage(context, browser)).steps)
      await forget()
      const { steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'The next page renews once more.', ...renewals)
      expect(steps.some(isCall), 'The next page is not signed in.', ...steps)
    },
  },
  {
    id: 'refresh-token-replaced',
    title: 'The next renewal sends the refresh token that the last one brought',
    level: 'MUST',
    why: 'Refresh tokens rotate, and an older one revokes them all (RFC 9700, 4.14.2).',
    mend: 'Keep the refresh_token of every answer that has one.',
    needs,
    longestMs: 90_000,
    async run(context) {
      const { browser, person } = await expiredSession(context)
      await context.order('refresh-expires-in', shortLifeValue)
      const first = (await visitPage(context, browser)).steps
      needsRenewal(first)
      await forget()
      await context.platform.endAccessTokens(person)
      const second = (await visitPage(context, browser)).steps.find(({ kind }) => kind === 'refresh')
      if (!second) throw new NotApplicable('the client does not renew a second time')
      const brought = tokensOf(first.find(({ kind }) => kind === 'refresh')!)?.refresh_token
      const sent = (second.request.body as Record<string, unknown>).refresh_token
      expect(sent === brought, 'It sends an older one.', ...first.filter(({ kind }) => kind === 'refresh'), second)
    },
  },
  {
    id: 'refresh-token-kept',
    title: 'A renewal that brings no new refresh token keeps the one that is there',
    level: 'MUST',
    why: 'A server may leave it out, and the old one then stays good (RFC 6749, 6).',
    mend: 'Replace the refresh token only where the answer has one.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-refresh-token-missing')
      const { page, steps } = await visitPage(context, browser)
      needsRenewal(steps)
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
    level: 'SHOULD',
    why: 'The new token has a lifetime of its own (specification, 5.4: a max-age equal to expires_in).',
    mend: 'Set Max-Age from the expires_in of the renewal.',
    needs,
    async run(context) {
      const login = await openSession(context, ['exchange-expires-in', 7200])
      if (!login.cookies.some(({ cookie }) => Math.abs((cookie.maxAge ?? 0) - 7200) <= 60))
        throw new NotApplicable('no cookie of this client lives as long as the access token')
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 5400 } })
      const { page, steps } = await visitPage(context, browser)
      needsRenewal(steps)
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
    level: 'MUST',
    why: 'Every page would ask the portal, and with several tabs they overtake each other (RFC 9700, 4.14.2).',
    mend: 'Renew when the token is over, or a few seconds before.',
    needs,
    async run(context) {
      const { browser, callback } = await begin(context)
      await context.order('exchange-expires-in', { options: { value: 1800 } })
      await comeBack(context, browser, callback)
      for (let visit = 0; visit < 3; visit++) await visitPage(context, browser)
      const renewals = context.arrived('refresh')
      expect(renewals.length === 0, `The login and three visits renew it ${renewals.length} times.`, ...renewals)
    },
  },
  {
    id: 'refresh-no-storm',
    title: 'With tokens that live for seconds no page renews more than once',
    level: 'MUST',
    why: 'A lifetime shorter than the margin of renewal must not make a loop (RFC 6749, 5.1).',
    mend: 'Renew at most once for a request, and use what came.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-expires-in', { options: { value: 1 }, times: 4 })
      const { page, steps } = await visitPage(context, browser)
      needsRenewal(steps)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length <= 2, `One page made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
      expect(page.status > 0 && page.status < 500, `It is answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'refresh-parallel',
    title: 'Ten tabs that find the token ended all stay signed in',
    level: 'MUST',
    why: 'A browser opens them all at once, each with the same old cookie (RFC 9700, 4.14.2).',
    mend: 'Renew once for all that come with one refresh token, and give every one of them the answer.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = new Set(context.arrived())
      const pages = await Promise.all(
        Array.from({ length: 10 }, () => context.visitUntilPortal(browser.newTab(), context.settings.page)),
      )
      await context.platform.settle()
      needsRenewal(context.arrived().filter(step => !before.has(step)))
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
    level: 'SHOULD',
    why: 'A refresh token serves once; who comes second is refused, or takes the new one from the first (RFC 9700, 4.14.2).',
    mend: 'Share the running renewal between requests with the same refresh token, and remember its answer for some seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const late = browser.copy()
      const before = new Set(context.arrived())
      await Promise.all(
        Array.from({ length: 6 }, () => context.visitUntilPortal(browser.newTab(), context.settings.page)),
      )
      await wait(100)
      await context.visitUntilPortal(late, context.settings.page)
      await context.platform.settle()
      const steps = context.arrived().filter(step => !before.has(step))
      needsRenewal(steps)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 1, `There were ${renewals.length} renewals.`, ...renewals.slice(0, 4))
    },
  },
  ...forNow.map(
    ([fault, what]): Row => ({
      id: `refresh-kept-on-${fault}`,
      title: `A renewal that is answered ${what} ends no session`,
      level: 'MUST',
      why: 'The refresh token is still good, and a portal comes back: only a refusal for good ends it (RFC 6749, 5.2).',
      mend: 'Keep the cookies, and answer with a page to try again.',
      needs,
      async run(context) {
        const { browser } = await expiredSession(context)
        await context.order(`refresh-${fault}`)
        const { page, steps } = await visitPage(context, browser)
        needsRenewal(steps)
        expect(page.status > 0, `There was no answer: ${page.fault}.`, page)
        // It may remember for a while that the portal was away.
        const end = performance.now() + 15_000
        let isBack = await context.isSignedIn(browser)
        while (!isBack && performance.now() < end) {
          await wait(3000)
          isBack = await context.isSignedIn(browser)
        }
        expect(isBack, 'When the portal is back the visitor is signed out.', page)
      },
    }),
  ),
  {
    id: 'refresh-dropped-on-invalid-grant',
    title: 'A refresh token that the portal refuses for good is not sent again, and leads to the login',
    level: 'MUST',
    why: 'It will never work, and each visit would ask the portal in vain (RFC 6749, 5.2: invalid_grant).',
    mend: 'Drop the refresh token on invalid_grant, and lead to the login.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-400', { times: 'always', options: { error: 'invalid_grant' } })
      const first = await visitPage(context, browser)
      needsRenewal(first.steps)
      const refusal = first.steps.find(({ kind }) => kind === 'refresh')!
      if (!String(refusal.response.body).includes('invalid_grant'))
        throw new Undecided('The portal did not refuse it for good.')
      const renewals = [first, await visitPage(context, browser), await visitPage(context, browser)].flatMap(
        ({ steps }) => steps.filter(({ kind }) => kind === 'refresh'),
      )
      expect(renewals.length <= 1, `Three visits sent it ${renewals.length} times.`, ...renewals.slice(0, 3))
      expect(
        first.page.status > 0 && first.page.status < 500,
        `The first is answered with ${describePage(first.page)}.`,
        first.page,
      )
    },
  },
  {
    id: 'refresh-slow',
    title: 'A renewal that is never answered hangs no page for longer than fifteen seconds',
    level: 'MUST',
    why: 'A visitor gives up, and every waiting request holds memory (OWASP ASVS 16.5.2).',
    mend: 'Give every call to the portal a deadline of some seconds.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      await context.order('refresh-never')
      const started = performance.now()
      const { page } = await visitPage(context, browser)
      const seconds = Math.round((performance.now() - started) / 1000)
      // It is told when the client hangs up.
      await context.platform.settle(2000)
      needsRenewal(context.arrived('refresh'))
      expect(page.status > 0, `There was no answer: ${page.fault}.`, page)
      expect(seconds <= 15, `The page took ${seconds} seconds.`, page)
    },
  },
  {
    id: 'refresh-once-on-401',
    title: 'A token that the API refuses is renewed once at most for a page',
    level: 'MUST',
    why: 'Where the new one is refused too, no further one will do (RFC 6750, 3.1).',
    mend: 'Renew once, try again once, and then lead to the login.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-401', { times: 'always' })
      const { page, steps } = await visitPage(context, browser)
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length <= 1, `One page made ${renewals.length} renewals.`, ...renewals.slice(0, 4))
      expect(page.fault === undefined, `The browser got nowhere: ${page.fault}.`, page)
    },
  },
  {
    id: 'api-401-says-so',
    title: 'When the API refuses the token the visitor is told, or led to the login',
    level: 'MUST',
    why: 'An empty page looks as though everything were lost (RFC 6750, 3.1: the token is expired or revoked).',
    mend: 'Lead to the login, or answer with 401 and a way to sign in.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-401', { times: 'always' })
      const { page, steps } = await visitPage(context, browser)
      if (!steps.some(({ response }) => response.status === 401)) throw new Undecided('The API was not asked.')
      const ways = [...page.links.map(({ url }) => url), ...page.forms.map(({ action }) => action)]
      const login = new URL(context.url(context.settings.login))
      const saysSo =
        page.stoppedAt !== undefined || page.status >= 400 || ways.some(url => new URL(url).pathname === login.pathname)
      expect(saysSo, `It is answered with ${describePage(page)}, and offers no login.`, page)
    },
  },
  {
    id: 'refresh-not-on-403',
    title: 'A call that is forbidden renews nothing and ends no session',
    level: 'MUST',
    why: 'The token is good; another one is not allowed more (RFC 6750, 3.1).',
    mend: 'Renew and sign out on 401 alone.',
    needs,
    async run(context) {
      const { browser } = await context.signedIn()
      await context.order('api-403', { times: 1 })
      const { page, steps } = await visitPage(context, browser)
      if (!steps.some(({ response }) => response.status === 403)) throw new Undecided('The API was not asked.')
      const renewals = steps.filter(({ kind }) => kind === 'refresh')
      expect(renewals.length === 0, 'It is renewed.', ...renewals)
      expect(page.stoppedAt === undefined, 'It leads to the login.', page)
      expect(await context.isSignedIn(browser), 'The visitor is signed out.')
    },
  },
  {
    id: 'refresh-keeps-visitor',
    title: 'After a renewal it is still the same visitor',
    level: 'MUST',
    why: 'A renewal that is shared between the wrong requests shows the data of others (CWE-488).',
    mend: 'Share a running renewal by the refresh token, and by nothing else.',
    needs,
    async run(context) {
      const people = [await context.person(), await context.otherPerson()]
      const first = await expiredSession(context, people[0])
      const second = await expiredSession(context, people[1])
      const before = new Set(context.arrived())
      await Promise.all([first, second].map(({ browser }) => context.visitUntilPortal(browser, context.settings.page)))
      await context.platform.settle()
      needsRenewal(context.arrived().filter(step => !before.has(step)))
      expect(!(await context.isSignedIn(first.browser, { person: second.person })), 'The first has become the second.')
      expect(!(await context.isSignedIn(second.browser, { person: first.person })), 'The second has become the first.')
      expect(await context.isSignedIn(first.browser, { person: first.person }), 'The first is signed out.')
    },
  },
  {
    id: 'session-cookies-after-refresh',
    title: 'A renewal leaves no cookie behind that grows with each',
    level: 'SHOULD',
    why: 'Servers refuse headers over some 16 KB (RFC 6585, 5).',
    mend: 'Replace the cookies under the same names and paths.',
    needs,
    async run(context) {
      const { browser } = await expiredSession(context)
      const before = ownCookies(context, browser).length
      needsRenewal((await visitPage(context, browser)).steps)
      const after = ownCookies(context, browser).length
      // One that ended meanwhile comes back.
      expect(after <= before + 2, `There were ${before} cookies, and there are ${after}.`)
    },
  },
])

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
      needsRenewal(visit.steps)
      await judge(visit, context)
    },
  }
}
