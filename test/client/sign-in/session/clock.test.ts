// The clock of the machine jumps: a day ahead after the machine was paused, or back when somebody corrects the clock.
import t from 'tap'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../../support/build-test-client.ts'
import { setCookieLines } from '../../support/read-response.ts'
import { giveTokens } from '../../support/scripted-platform.ts'
import { buildSignedIn, openPage, refreshCookieNames, tokenRoute } from '../support/build-signed-in.ts'

const day = 24 * 3600

/** The Max-Age of each cookie, in seconds. */
function maxAges(lines: string[]): number[] {
  return lines.map(line => Number(/; Max-Age=(-?\w+);/.exec(line)?.[1]))
}

t.test(
  'F-21: if the clock is a day ahead, the client ends a session that it cannot renew, and refuses the callbacks of earlier logins',
  async t => {
    const { browser, clock } = await buildSignedIn(t, { status: 401, body: { error: 'invalid_grant' } })
    const started = await beginLogin(browser)
    const cookies = browser.copy()
    clock.advance(day)
    const page = await openPage(browser)
    t.equal(page.statusCode, 302)
    t.same(refreshCookieNames(browser), [])
    const name = `__Host-login-${started.get('state')}`
    const headers = { cookie: `${name}=${cookies.cookies.get(name)!.value}` }
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site', headers })).statusCode, 400)
  },
)

t.test('F-21: if the clock is a day ahead, a session that can be renewed continues', async t => {
  const { browser, clock, renewals } = await buildSignedIn(t)
  clock.advance(day)
  t.equal((await openPage(browser)).statusCode, 200)
  t.equal(renewals().length, 1)
})

t.test(
  'F-21: if the clock is a day behind, a visitor stays signed in, and every cookie has a sensible lifetime',
  async t => {
    const { browser, clock, platform } = await buildSignedIn(t, giveTokens({ refresh_token: 'second' }))
    clock.advance(-day)
    const page = await openPage(browser)
    t.equal(page.statusCode, 200)
    const lines = setCookieLines(page)
    clock.advance(day + 3600 + 1)
    lines.push(...setCookieLines(await openPage(browser)))
    clock.advance(-2 * day)
    platform.answer(tokenRoute, giveTokens({ refresh_token: 'third' }))
    lines.push(...setCookieLines(await signIn(browser)), ...setCookieLines(await browser.get('/login')))
    t.ok(lines.length > 5)
    for (const seconds of maxAges(lines))
      t.ok(Number.isInteger(seconds) && seconds >= 0 && seconds <= 400 * day, `${seconds}`)
  },
)

t.test('F-21: if the clock is a day behind, a login works as usual', async t => {
  const { browser, clock } = await buildTestClient(t)
  clock.advance(-day)
  t.equal((await signIn(browser)).statusCode, 200)
})

t.test('F-21: if the clock is set back a day during a login, the login still succeeds', async t => {
  const { browser, clock } = await buildTestClient(t)
  const started = await beginLogin(browser)
  clock.advance(-day)
  t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
})

t.test('F-21: if the clock is set back, a session does not last longer', async t => {
  const { browser, clock } = await buildSignedIn(t)
  for (const name of refreshCookieNames(browser)) browser.cookies.delete(name)
  const cookie = browser.cookieHeader()
  clock.advance(-day)
  clock.advance(day + 3601)
  t.equal((await browser.get('/page', { site: 'same-origin', headers: { cookie } })).statusCode, 401)
})

t.test(
  'F-21: if the clock is set back a day, the client does not keep the portal’s metadata for another day',
  async t => {
    const { browser, clock, platform } = await buildTestClient(t)
    const asked = () => platform.received('GET /.well-known/oauth-authorization-server').length
    await browser.get('/login')
    t.equal(asked(), 1)
    clock.advance(-day)
    await browser.get('/login')
    t.equal(asked(), 2)
    await browser.get('/login')
    t.equal(asked(), 2)
  },
)

t.test(
  'F-21: if the clock is set back, the client does not share the result of a renewal for longer than usual',
  async t => {
    const { browser, clock, renewals } = await buildSignedIn(t)
    const copy = browser.copy()
    clock.advance(3601)
    t.equal((await openPage(browser)).statusCode, 200)
    clock.advance(-60)
    copy.cookies.delete('__Host-session')
    t.equal((await openPage(copy)).statusCode, 200)
    t.equal(renewals().length, 2)
  },
)

t.test('F-20: a client whose clock is corrected by five minutes still accepts its own cookies', async t => {
  for (const skew of [-300, 300]) {
    const { browser, clock } = await buildSignedIn(t)
    const started = await beginLogin(browser)
    clock.advance(skew)
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  }
})
