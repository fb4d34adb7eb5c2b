// The state of a callback is valid only once, for ten minutes, for this client, and in the browser that began the
// login.

import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { TestBrowser } from '../../support/test-browser.ts'
import {
  beginLogin,
  buildTestClient,
  callbackUrl,
  publicUrl,
  signIn,
  type TestClient,
} from '../support/build-test-client.ts'
import { setCookieLine } from '../support/read-response.ts'

type Response = Awaited<ReturnType<TestBrowser['get']>>

/** Checks that the answer is a page with status 400, that no code was exchanged, and that no session was begun. */
function refused(t: Test, { platform }: TestClient, response: Response) {
  t.equal(response.statusCode, 400)
  t.match(response.headers['content-type'], 'text/html')
  t.match(response.body, 'href="/login"')
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
  t.equal(setCookieLine(response, '__Host-session'), undefined)
  t.equal(setCookieLine(response, '__Host-refresh'), undefined)
}

t.test('CL-03: a callback in a browser that did not begin the login is refused', async t => {
  const test = await buildTestClient(t)
  const started = await beginLogin(test.browser)
  const other = new TestBrowser(test.client, publicUrl, test.clock.read)
  refused(t, test, await other.get(callbackUrl(started), { site: 'cross-site' }))
})

t.test(
  'CL-21: the client refuses another person’s valid callback, even while the visitor’s own login is under way',
  async t => {
    const test = await buildTestClient(t)
    const attackers = await beginLogin(test.browser)
    const victim = new TestBrowser(test.client, publicUrl, test.clock.read)
    const victims = await beginLogin(victim)
    refused(t, test, await victim.get(callbackUrl(attackers), { site: 'cross-site' }))
    t.equal(
      (await victim.get(callbackUrl(victims), { site: 'cross-site' })).statusCode,
      200,
      'the visitor’s own login must still succeed',
    )
  },
)

const cookieKey = randomBytes(32).toString('base64url')
const otherState = randomBytes(20).toString('base64url')
const changeLast = (text: string) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')
const badQueries: Record<string, (good: string, state: string) => string> = {
  'no state': good => good.replace(/&state=[^&]*/, ''),
  'an empty state': good => good.replace(/&state=[^&]*/, '&state='),
  'the state twice': (good, state) => `${good}&state=${state}`,
  'two states': good => `${good}&state=${otherState}`,
  'a state in brackets': good => good.replace('&state=', '&state[]='),
  'another state': good => good.replace(/&state=[^&]*/, `&state=${otherState}`),
  'a state with its last character changed': (good, state) => good.replace(state, changeLast(state)),
  'a state with its first character changed': (good, state) =>
    good.replace(state, `${state[0] === 'A' ? 'B' : 'A'}${state.slice(1)}`),
  'a shortened state': (good, state) => good.replace(state, state.slice(0, -1)),
  '__proto__ as its state': good => good.replace(/&state=[^&]*/, '&state=__proto__'),
}

for (const [what, spoil] of Object.entries(badQueries)) {
  t.test(`CL-04: the client refuses a callback with ${what}, and makes no call`, async t => {
    const test = await buildTestClient(t)
    const started = await beginLogin(test.browser)
    const url = spoil(callbackUrl(started), started.get('state') ?? '')
    refused(t, test, await test.browser.get(url, { site: 'cross-site' }))
    t.equal(
      (await test.browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode,
      200,
      'the valid callback still works',
    )
  })
}

const badCookies: Record<string, (value: string) => string | undefined> = {
  'no login cookie': () => undefined,
  'an empty login cookie': () => '',
  'a login cookie with one byte changed': value =>
    value.slice(0, 40) + changeLast(value.slice(40, 41)) + value.slice(41),
  'a login cookie with its last byte changed': changeLast,
  'a shortened login cookie': value => value.slice(0, -4),
  'a login cookie of one byte': () => 'A',
  'a login cookie that says undefined': () => 'undefined',
}

const test = await buildTestClient(t)

for (const [what, spoil] of Object.entries(badCookies)) {
  t.test(`CL-04: if the browser sends ${what}, the client refuses the callback and makes no call`, async t => {
    const started = await beginLogin(test.browser)
    const name = `__Host-login-${started.get('state')}`
    const value = spoil(test.browser.cookie(name)!)
    const cookie = value === undefined ? '' : `${name}=${value}`
    refused(t, test, await test.browser.get(callbackUrl(started), { site: 'cross-site', headers: { cookie } }))
  })
}

t.test('CL-04: a callback without a state and without a cookie is refused', async t => {
  const test = await buildTestClient(t)
  refused(t, test, await test.browser.get('/exchangeToken?code=a&subject=b', { site: 'cross-site' }))
  refused(t, test, await test.browser.get('/exchangeToken', { site: 'cross-site' }))
})

t.test('CL-04: a callback with the login cookie of another login is refused', async t => {
  const test = await buildTestClient(t)
  const [first, second] = [await beginLogin(test.browser), await beginLogin(test.browser)]
  const value = test.browser.cookie(`__Host-login-${first.get('state')}`)
  const cookie = `__Host-login-${second.get('state')}=${value}`
  refused(t, test, await test.browser.get(callbackUrl(second), { site: 'cross-site', headers: { cookie } }))
})

t.test('CL-04: after eleven minutes a login has expired, even if the browser still sends its cookie', async t => {
  const test = await buildTestClient(t)
  const started = await beginLogin(test.browser)
  const cookie = test.browser.cookieHeader()
  test.clock.advance(11 * 60)
  const response = await test.browser.get(callbackUrl(started), { site: 'cross-site', headers: { cookie } })
  refused(t, test, response)
  t.match(response.body, signInTexts.loginErrors.login_unknown)
})

t.test('CL-04: after nine and a half minutes a login still succeeds', async t => {
  const { browser, clock } = await buildTestClient(t)
  const started = await beginLogin(browser)
  clock.advance(9.5 * 60)
  t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
})

t.test(
  'CL-05: if the browser sends a callback again, the client refuses the second callback without an exchange',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const before = browser.copy()
    const first = await browser.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(first.statusCode, 200)
    const cleared = setCookieLine(first, `__Host-login-${started.get('state')}=;`) ?? ''
    t.same(cleared.split('; ').slice(1).toSorted(), ['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure'])
    for (const [jar, site] of [
      [browser, 'cross-site'],
      [browser, 'same-origin'],
      [before, 'cross-site'],
    ] as const) {
      const again = await jar.get(callbackUrl(started), { site })
      t.equal(again.statusCode, 400)
      t.match(again.body, signInTexts.loginErrors.login_used)
      t.equal(setCookieLine(again, '__Host-session'), undefined)
    }
    t.equal(platform.received('POST /api/exchangeToken').length, 1)
  },
)

t.test('CL-05: if the visitor has a session, the page for a used callback links to the home page', async t => {
  const { browser } = await buildTestClient(t)
  const started = await beginLogin(browser)
  await browser.get(callbackUrl(started), { site: 'cross-site' })
  const again = await browser.get(callbackUrl(started), { site: 'same-origin' })
  t.match(again.body, 'href="/page"')
})

for (const [outcome, change, more = ''] of [
  ['a callback with a repeated parameter', {}, '&subject=visitor-1'],
  ['a callback with a parameter that is too long', { error_description: 'x'.repeat(2049) }],
  ['a callback with control characters', { subject: 'visitor\u00071' }],
  ['a callback without a subject', { subject: undefined }],
  ['a callback with a code that is not ASCII', { code: 'ünïcode' }],
  ['an error from the portal', { code: undefined, error: 'server_error' }],
  ['a refusal by the visitor', { code: undefined, error: 'access_denied' }],
  ['a callback for another client', { client_id: 'another-client' }],
  ['a callback from another portal', { iss: 'https://other-portal.test' }],
] as const) {
  t.test(`CL-05: after ${outcome} the state cannot be used again, even with a copy of the login cookie`, async t => {
    const { browser, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const before = browser.copy()
    const response = await browser.get(callbackUrl(started, change) + more, { site: 'cross-site' })
    t.match(setCookieLine(response, `__Host-login-${started.get('state')}=;`), 'Max-Age=0')
    for (const jar of [browser, before])
      t.equal((await jar.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 400)
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  })
}

t.test('CL-05: after a failed exchange the state cannot be used again, and the exchange is not repeated', async t => {
  const { browser, platform } = await buildTestClient(t, {
    scripts: { 'POST /api/exchangeToken': { status: 500, body: {} } },
  })
  const started = await beginLogin(browser)
  const before = browser.copy()
  const response = await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.equal(response.statusCode, 502)
  t.match(setCookieLine(response, `__Host-login-${started.get('state')}=;`), 'Max-Age=0')
  t.equal((await before.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 400)
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
})

const otherSettings: Record<string, Record<string, string>> = {
  CLIENT_ID: { CLIENT_ID: 'another-client' },
  LOGIN_URL: { LOGIN_URL: 'https://other-portal.test' },
  PUBLIC_URL: { PUBLIC_URL: 'https://client.test' },
}

for (const [what, environment] of Object.entries(otherSettings)) {
  t.test(`CL-24: a login that began before ${what} was changed is refused`, async t => {
    const test = await buildTestClient(t, { environment: { COOKIE_KEYS: cookieKey } })
    const { platform, clock } = test
    const started = await beginLogin(test.browser)
    const { client } = await buildTestClient(t, {
      platform,
      clock,
      environment: { COOKIE_KEYS: cookieKey, LOGIN_INTERNAL_URL: platform.url, ...environment },
    })
    test.browser.server = client
    const change = environment.CLIENT_ID ? { client_id: environment.CLIENT_ID } : {}
    refused(t, test, await test.browser.get(callbackUrl(started, change), { site: 'cross-site' }))
  })
}

t.test('CL-20: a login replaces a session cookie that somebody else has planted', async t => {
  const { browser } = await buildTestClient(t)
  const thief = browser.copy()
  await signIn(thief)
  const planted = thief.cookie('__Host-session')!
  browser.cookies.set('__Host-session', { value: planted, sameSite: 'Strict', expiresAt: Number.POSITIVE_INFINITY })
  await signIn(browser)
  t.not(browser.cookie('__Host-session'), planted)
})
