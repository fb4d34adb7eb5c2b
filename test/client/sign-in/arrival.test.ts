// A login ends on a page that opens the next page automatically. In a browser that keeps no cookies, a login ends with
// an explanation.

import t from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { TestBrowser } from '../../support/test-browser.ts'
import { beginLogin, buildTestClient, callbackUrl, publicUrl, signIn } from '../support/build-test-client.ts'
import { refreshTarget, setCookieLine } from '../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'

const scripts = { 'GET /things': { body: ['first thing'] } }

t.test('after a login, the visitor is signed in on the page where the login began', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts })
  const page = await signIn(browser, '/page?q=weather')
  t.equal(refreshTarget(page), '/page?q=weather')
  const shown = await browser.get('/page?q=weather', { site: 'same-origin' })
  t.equal(shown.statusCode, 200)
  t.match(shown.body, 'first thing')
  t.equal(platform.received('POST /api/exchangeToken').length, 1)
})

t.test(
  'CL-26: a login ends with a page, not with a redirect; the page has status 200 and opens the next page automatically',
  async t => {
    const { browser } = await buildTestClient(t)
    const page = await signIn(browser)
    t.equal(page.statusCode, 200)
    t.equal(page.headers.location, undefined)
    t.equal(page.headers.refresh, undefined)
    t.match(page.headers['content-type'], 'text/html; charset=utf-8')
    t.equal(refreshTarget(page), '/page')
    t.match(
      page.body,
      /<a class="button quiet" href="\/page">[^<]+<\/a>/,
      'the page must have a link for browsers that do not continue automatically',
    )
  },
)

t.test(
  'CL-27: the page at the callback is not stored, does not send a Referer, loads only an icon and a style sheet, and does not contain the code or the state',
  async t => {
    const { browser } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const { headers, body } = await browser.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(headers['cache-control'], 'no-store')
    t.equal(headers['referrer-policy'], 'no-referrer')
    const policy = String(headers['content-security-policy']).split('; ')
    t.same(policy.toSorted(), [
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "style-src 'self'",
    ])
    t.notMatch(body, /<(script|style|iframe|form)\b/)
    const loaded = [...body.matchAll(/<(?:link|img)\b[^>]* (?:href|src)="([^"]+)"/g)].map(([, path]) => path!)
    t.equal(loaded.length, 3, 'two links and the icon in the header')
    for (const path of loaded) t.match(path, /^\/assets\/(icon|style)\./)
    t.notMatch(body, /https?:\/\//)
    t.notMatch(body, started.get('state')!)
    t.notMatch(body, 'Code0123456789')
    t.notMatch(body, accessTokenOf('visitor-1'))
  },
)

t.test('the page at the callback names its icon, because otherwise browsers ask for /favicon.ico', async t => {
  const { browser, client } = await buildTestClient(t)
  for (const page of [await signIn(browser), await browser.copy().get('/page', { site: 'cross-site' })]) {
    t.ok(refreshTarget(page))
    const [, icon] = /<link rel="icon" href="(\/assets\/[^"]+)" type="image\/svg\+xml">/.exec(page.body) ?? []
    const answer = await client.inject(icon ?? '/no-icon')
    t.equal(answer.statusCode, 200)
    t.equal(answer.headers['content-type'], 'image/svg+xml')
    t.match(page.headers['content-security-policy'], "img-src 'self'", 'the policy of the page must allow the icon')
  }
})

t.test('CL-28: browsers must not store the answer to a callback, and a repeated callback is refused', async t => {
  const { browser } = await buildTestClient(t)
  const started = await beginLogin(browser)
  for (const expected of [200, 400, 400]) {
    const response = await browser.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(response.statusCode, expected)
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers.etag, undefined)
    t.equal(response.headers['last-modified'], undefined)
  }
})

t.test('CL-33: a browser that keeps no cookies gets an explanation after at most two redirects', async t => {
  const { client, platform } = await buildTestClient(t)
  const headers = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const page = await client.inject({ url: '/page', headers })
  t.equal(page.statusCode, 302)
  const login = await client.inject({ url: String(page.headers.location), headers })
  t.equal(login.statusCode, 302)
  const started = new URL(String(login.headers.location))
  t.equal(started.origin, platform.url, 'the second redirect must lead to the portal')
  const back = await client.inject({ url: callbackUrl(started.searchParams), headers })
  t.equal(back.statusCode, 400)
  t.match(back.body, signInTexts.loginErrors.login_without_cookies)
  t.equal(back.headers.location, undefined)
  t.equal(refreshTarget(back), undefined)
  t.equal(platform.received('POST /api/exchangeToken').length, 0)
})

t.test('CL-33: a browser that keeps no Strict cookies gets an explanation after signing in', async t => {
  const { browser } = await buildTestClient(t)
  const page = await signIn(browser)
  for (const [name, { sameSite }] of browser.cookies) if (sameSite === 'Strict') browser.cookies.delete(name)
  const next = await browser.get(refreshTarget(page)!, { site: 'same-origin' })
  t.equal(next.statusCode, 401)
  t.match(next.body, signInTexts.couldNotStaySignedIn.noCookie)
  t.match(next.body, 'href="/login?returnTo=%2Fpage"')
})

t.test('CL-33: if the API refuses every access token, the visitor gets an explanation and not a loop', async t => {
  const { browser, platform } = await buildTestClient(t, { scripts: { 'GET /things': { status: 401, body: {} } } })
  await signIn(browser)
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: 'another' }))
  const page = await browser.get('/page', { site: 'same-origin' })
  t.equal(page.statusCode, 401)
  t.match(page.body, signInTexts.couldNotStaySignedIn.title)
  t.equal(browser.cookie('__Host-session'), undefined)
  t.same(browser.names(), [], 'all cookies of the session must be deleted')
  t.ok(platform.received().length <= 6, `${platform.received().length} requests`)
})

t.test(
  'if the portal refuses the renewal right after the login, the page does not blame the cookies, and a reload leads to the login',
  async t => {
    const { browser, platform } = await buildTestClient(t, { scripts })
    await signIn(browser)
    platform.answer('GET /things', { status: 401, body: {} })
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
    const page = await browser.get('/page', { site: 'same-origin' })
    t.equal(page.statusCode, 401)
    t.match(page.body, signInTexts.couldNotStaySignedIn.refused)
    t.match(page.body, 'href="/login?returnTo=%2Fpage"')
    t.notMatch(page.body, signInTexts.couldNotStaySignedIn.noCookie)
    const again = await browser.get('/page', { site: 'same-origin' })
    t.equal(again.statusCode, 302)
    t.match(again.headers.location, /^\/login/)
  },
)

t.test(
  'if a visitor follows a link from another site, the client first sends a short page, which automatically opens the requested page',
  async t => {
    const { browser, client, clock } = await buildTestClient(t, { scripts })
    await signIn(browser)
    const bounce = await browser.get('/page', { site: 'cross-site' })
    t.equal(bounce.statusCode, 200)
    t.equal(refreshTarget(bounce), '/page')
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    const stranger = new TestBrowser(client, publicUrl, clock.read)
    t.equal(refreshTarget(await stranger.get('/page', { site: 'cross-site' })), '/page')
    t.equal((await stranger.get('/page', { site: 'same-origin' })).statusCode, 302)
  },
)

t.test('the cookie that marks a finished login is short-lived, HttpOnly, Secure and Lax', async t => {
  const { browser } = await buildTestClient(t)
  const line = setCookieLine(await signIn(browser), '__Host-arrived=') ?? ''
  t.match(line, /; Max-Age=30; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
})
