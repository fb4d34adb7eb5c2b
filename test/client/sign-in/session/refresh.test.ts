// Renewing a session: when it happens, with which token, and which cookies the browser gets.
import t from 'tap'
import type { TestBrowser } from '../../../support/test-browser.ts'
import { signIn } from '../../support/build-test-client.ts'
import { readForm } from '../../support/read-form.ts'
import { setCookieLine } from '../../support/read-response.ts'
import { accessTokenOf, giveTokens, type Script, send, tokenAnswer } from '../../support/scripted-platform.ts'
import { buildSignedIn, openPage, refreshCookieNames, renewedToken, tokenRoute } from '../support/build-signed-in.ts'

t.test(
  'CK-09: if a page is requested a second after the access token has expired, the client renews the session once and shows the page',
  async t => {
    const { browser, clock, platform, renewals, config } = await buildSignedIn(t)
    clock.advance(3601)
    t.notOk(browser.cookie('__Host-session'))
    const page = await openPage(browser)
    t.equal(page.statusCode, 200)
    t.equal(renewals().length, 1)
    t.same(Object.fromEntries(renewals()[0]!.form), {
      grant_type: 'refresh_token',
      refresh_token: 'first',
      client_id: config.clientId,
      client_secret: config.clientSecret.reveal(),
    })
    t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${renewedToken}`)
    await openPage(browser)
    t.equal(renewals().length, 1)
  },
)

t.test('CK-09: without the refresh cookie, the client redirects the visitor to the login', async t => {
  const { browser, clock, renewals } = await buildSignedIn(t)
  for (const name of refreshCookieNames(browser)) browser.cookies.delete(name)
  clock.advance(3601)
  const page = await openPage(browser)
  t.equal(page.statusCode, 302)
  t.match(page.headers.location, /^\/login\?returnTo=/)
  t.equal(renewals().length, 0)
})

t.test('CK-09: without the refresh cookie, a session works until its last second', async t => {
  const { browser, clock, renewals } = await buildSignedIn(t)
  await openPage(browser)
  for (const name of refreshCookieNames(browser)) browser.cookies.delete(name)
  clock.advance(3599)
  const page = await openPage(browser)
  t.equal(page.statusCode, 200)
  t.equal(page.headers['set-cookie'], undefined)
  t.equal(renewals().length, 0)
})

t.test('refresh-cookie-end: a renewal does not extend the thirty days after which a session ends', async t => {
  const { browser, clock, platform, renewals } = await buildSignedIn(t)
  for (let day = 1; day < 30; day++) {
    platform.answer(tokenRoute, giveTokens({ refresh_token: `of-day-${day}` }))
    clock.advance(24 * 3600)
    const page = await openPage(browser)
    t.equal(page.statusCode, 200, `day ${day}`)
    const cookie = page.cookies.find(({ name, value }) => name.startsWith('__Host-refresh-') && value)
    t.equal(cookie?.maxAge, (30 - day) * 24 * 3600)
    t.equal(refreshCookieNames(browser).length, 1)
  }
  clock.advance(24 * 3600)
  t.equal((await openPage(browser)).statusCode, 302)
  t.equal(renewals().length, 29)
})

t.test(
  'RF-07: a session ends when its refresh token expires, even if its access token is valid for longer',
  async t => {
    const day = 24 * 3600
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    const lasting = giveTokens({ expires_in: 20 * day, refresh_token: 'second' })
    platform.answer(tokenRoute, lasting)
    clock.advance(3601)
    await openPage(browser)
    clock.advance(20 * day)
    const page = await openPage(browser)
    t.equal(page.statusCode, 200)
    t.equal(page.cookies.find(({ name }) => name === '__Host-session')?.maxAge, 20 * day, 'CK-01')
    clock.advance(10 * day - 3601 - 1)
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(renewals().length, 2, 'a session that ends with its refresh token must not be renewed')
    clock.advance(1)
    t.ok(browser.cookie('__Host-session'))
    t.equal((await openPage(browser)).statusCode, 302)
    t.notOk(browser.cookie('__Host-session'))
  },
)

t.test(
  'CK-01, RF-07: a session that was never renewed ends after thirty days, even if the access token and the session cookie are valid for longer',
  async t => {
    const day = 24 * 3600
    const { browser, clock, platform, renewals, log } = await buildSignedIn(t)
    platform.answer(tokenRoute, giveTokens({ expires_in: 60 * day, refresh_token: undefined }))
    const page = await signIn(browser)
    t.equal(page.cookies.find(({ name }) => name === '__Host-session')?.maxAge, 60 * day)
    const shown = (await browser.get('/', { site: 'same-origin' })).body
    t.match(shown, '<time datetime="2026-03-31T12:00:00.000Z"')
    clock.advance(30 * day - 1)
    t.equal((await openPage(browser)).statusCode, 200)
    clock.advance(1)
    t.notMatch((await browser.get('/', { site: 'same-origin' })).body, 'action="/logout"')
    t.equal((await openPage(browser)).statusCode, 302)
    t.notOk(browser.cookie('__Host-session'))
    t.equal(renewals().filter(({ form }) => form.get('grant_type') === 'refresh_token').length, 0)
    const events = log.map(line => JSON.parse(line).event)
    t.ok(events.includes('session_ended'))
    t.notOk(events.includes('session_unreadable'))
  },
)

t.test('if the client knows when the visitor has to sign in again, every page shows this time', async t => {
  const { browser, clock } = await buildSignedIn(t)
  const shownTime = async (path: string) =>
    /<footer>[^<]*<p>[^<]*<time datetime="([^"]+)"/.exec((await browser.get(path, { site: 'same-origin' })).body)?.[1]
  for (const path of ['/', '/page']) t.equal(await shownTime(path), '2026-03-31T12:00:00.000Z', path)
  clock.advance(3601)
  t.equal(await shownTime('/page'), '2026-03-31T12:00:00.000Z', 'a renewal must not change the time')
  for (const name of refreshCookieNames(browser)) browser.cookies.delete(name)
  for (const path of ['/', '/page'])
    t.equal(
      await shownTime(path),
      '2026-03-01T14:00:01.000Z',
      `${path}: without a refresh token, the time must be the end of the access token`,
    )
})

t.test(
  'RF-10: the client renews an access token 30 seconds before the token expires, but not yet 90 seconds before',
  async t => {
    const { browser, clock, renewals } = await buildSignedIn(t)
    clock.advance(3600 - 90)
    await openPage(browser)
    t.equal(renewals().length, 0)
    clock.advance(60)
    await openPage(browser)
    t.equal(renewals().length, 1)
  },
)

t.test(
  'RF-10: if access tokens expire after five seconds, one request causes at most one renewal, and the client renews at most once every two seconds',
  async t => {
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    let count = 0
    platform.answer(tokenRoute, (request, response) =>
      send(response, { body: tokenAnswer(request, { expires_in: 5, refresh_token: `token-${count++}` }) }),
    )
    clock.advance(3601)
    for (let request = 0; request < 40; request++) {
      const before = renewals().length
      t.equal((await openPage(browser)).statusCode, 200)
      t.ok(renewals().length - before <= 1)
      clock.advance(0.5)
    }
    t.ok(renewals().length <= 10, `${renewals().length} in 20 seconds`)
    t.ok(renewals().length >= 4)
  },
)

t.test('RF-08: if the answer to a renewal has no refresh token, the client keeps the old refresh token', async t => {
  const { browser, clock, renewals } = await buildSignedIn(t, giveTokens({ refresh_token: undefined }))
  for (const times of [1, 2, 3]) {
    clock.advance(3601)
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(renewals().length, times)
  }
  t.ok(renewals().every(({ form }) => form.get('refresh_token') === 'first'))
})

t.test(
  'RF-08: if the portal keeps the refresh token and access tokens expire after five seconds, the visitor stays signed in',
  async t => {
    const { browser, clock, platform } = await buildSignedIn(t)
    const issuedAt = new Map<string, number>()
    platform.answer(tokenRoute, (request, response) => {
      const token = accessTokenOf('visitor-1', { jti: `token-${issuedAt.size}` })
      issuedAt.set(`Bearer ${token}`, clock.read().getTime())
      send(response, { body: tokenAnswer(request, { access_token: token, expires_in: 5, refresh_token: undefined }) })
    })
    platform.answer('GET /things', (request, response) => {
      const ageMs = clock.read().getTime() - (issuedAt.get(String(request.headers.authorization)) ?? 0)
      send(response, ageMs < 5_000 ? { body: [] } : { status: 401, body: {} })
    })
    clock.advance(3601)
    for (let request = 0; request < 40; request++) {
      t.equal((await openPage(browser)).statusCode, 200)
      clock.advance(0.5)
    }
  },
)

t.test(
  'F-24: if the answer to a renewal contains the same refresh token again, the client keeps this token',
  async t => {
    const { browser, clock, renewals } = await buildSignedIn(t, giveTokens({ refresh_token: 'first' }))
    for (const times of [1, 2]) {
      clock.advance(3601)
      t.equal((await openPage(browser)).statusCode, 200)
      t.equal(renewals().length, times)
    }
    t.equal(refreshCookieNames(browser).length, 1)
  },
)

t.test(
  'RF-08: if the answer to a renewal has a new refresh token, the client replaces the old refresh token',
  async t => {
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    clock.advance(3601)
    await openPage(browser)
    platform.answer(tokenRoute, giveTokens({ refresh_token: 'third' }))
    clock.advance(3601)
    await openPage(browser)
    t.same(
      renewals().map(({ form }) => form.get('refresh_token')),
      ['first', 'second'],
    )
    t.equal(refreshCookieNames(browser).length, 1)
  },
)

t.test(
  'RF-08: the client accepts any state in the answer to a renewal, because the request contains no state',
  async t => {
    for (const state of ['of-nobody', undefined]) {
      const { browser, clock } = await buildSignedIn(t, giveTokens({ state }))
      clock.advance(3601)
      t.equal((await openPage(browser)).statusCode, 200)
    }
  },
)

type Forms = { note: Record<string, string>; strict: Record<string, string> }
type Ending = {
  status: number
  script?: Record<string, Script>
  ask: (browser: TestBrowser, forms: Forms) => ReturnType<TestBrowser['get']>
}

const endings: Record<string, Ending> = {
  'with status 404': { status: 404, ask: browser => browser.get('/gone', { site: 'same-origin' }) },
  'with status 502': { status: 502, script: { 'GET /things': { status: 500, body: {} } }, ask: openPage },
  'with a redirect': {
    status: 303,
    script: { 'POST /things': { status: 201, body: {} } },
    ask: (browser, { note }) => browser.post('/note', note),
  },
  'with a form that is shown again': { status: 422, ask: (browser, { strict }) => browser.post('/strict', strict) },
}

for (const [what, { status, script = {}, ask }] of Object.entries(endings)) {
  t.test(`RF-09: a request that renews the session sets the new cookies, even if the request ends ${what}`, async t => {
    const { browser, clock, platform, renewals } = await buildSignedIn(t)
    for (const [route, answer] of Object.entries(script)) platform.answer(route, answer)
    const forms = {
      note: readForm(await browser.get('/note'), '/note'),
      strict: readForm(await browser.get('/strict'), '/strict'),
    }
    clock.advance(3601)
    const response = await ask(browser, forms)
    t.equal(response.statusCode, status)
    t.ok(setCookieLine(response, '__Host-session='))
    t.equal(renewals().length, 1)
    platform.answer('GET /things', { body: [] })
    platform.answer(tokenRoute, { status: 401, body: { error: 'invalid_grant' } })
    t.equal((await openPage(browser)).statusCode, 200, 'the renewed session must work')
  })
}
