// Connections: a second login whose tokens go to the product, and the renewal of these tokens without a session.

import t, { type Test } from 'tap'
import type { Connection } from '../../../src/client/sign-in/connections.ts'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { linksOf, textOf } from '../support/read-form.ts'
import { refreshTarget } from '../support/read-response.ts'
import { accessTokenOf, giveTokens, type Script, send } from '../support/scripted-platform.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'

const given = {
  access_token: accessTokenOf('visitor-1', { jti: '2' }),
  refresh_token: 'connected0connected0connected00',
}
const metadata: Script = ({ headers }, response) =>
  send(response, {
    body: { issuer: `http://${headers.host}`, revocation_endpoint: '/x', code_challenge_methods_supported: ['S256'] },
  })

/** Signs a visitor in. `onConnected` gets the connection that the product would store. */
async function start(t: Test, onConnected?: (connection: Connection) => Promise<void>) {
  const connected: Connection[] = []
  const keep = async (connection: Connection) => void connected.push(connection)
  const returnTo = `/page/1?${'x'.repeat(190)}`
  const test = await buildTestClient(t, {
    scripts: {
      ...smallApi,
      'GET /.well-known/oauth-authorization-server': metadata,
      'POST /api/revokeToken': { body: {} },
    },
    product: {
      ...smallProduct,
      onConnected: onConnected ?? keep,
      async pages(app, options) {
        await app.register(smallProduct.pages, options)
        app.post('/connect', (request, reply) => app.signIn.connect(request, reply, { returnTo: '/page/1' }))
        app.post('/connect-far', (request, reply) => app.signIn.connect(request, reply, { returnTo }))
        app.get('/connect', (request, reply) => app.signIn.connect(request, reply, { returnTo: '/page/1' }))
      },
    },
  })
  const { browser, platform } = test
  await signIn(browser)
  platform.answer('POST /api/exchangeToken', giveTokens(given))
  const connect = async (path = '/connect') => {
    const response = await browser.post(path)
    t.equal(response.statusCode, 303)
    return new URL(String(response.headers.location)).searchParams
  }
  const revoked = () => platform.received('POST /api/revokeToken').map(({ form }) => form.get('token'))
  return { ...test, connected, connect, revoked }
}

const sessionOf = ({ browser }: Awaited<ReturnType<typeof start>>) =>
  browser
    .names()
    .filter(name => /session|refresh/.test(name))
    .map(name => `${name}=${browser.cookie(name)}`)

t.test('the tokens of a connection go to the product, and the session stays as it was', async t => {
  const test = await start(t)
  const { browser, clock, connected, connect } = test
  const before = sessionOf(test)
  const started = await connect()
  t.equal(started.get('code_challenge_method'), 'S256')
  const page = await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.equal(page.statusCode, 200)
  t.equal(refreshTarget(page), '/page/1')
  t.same(sessionOf(test), before)
  t.same(connected, [
    {
      userId: 'visitor-1',
      accessToken: given.access_token,
      refreshToken: given.refresh_token,
      expiresAt: new Date(clock.read().getTime() + 3_600_000),
    },
  ])
  t.same(
    browser.names().filter(name => name.startsWith('__Host-login-')),
    [],
    'the login cookie must be deleted',
  )
})

t.test('CL: the callback of a connection is checked like the callback of a login', async t => {
  const { browser, connected, connect, platform } = await start(t)
  const started = await connect()
  const before = platform.received('POST /api/exchangeToken').length
  const stranger = browser.copy()
  stranger.cookies.clear()
  t.equal(
    (await stranger.get(callbackUrl(started), { site: 'cross-site' })).statusCode,
    400,
    'a callback in another browser must be refused',
  )
  for (const change of [
    { state: 'x'.repeat(22) },
    { iss: 'https://evil.test' },
    { client_id: 'another' },
    { code: undefined },
  ]) {
    const wrong = await connect()
    t.equal((await browser.get(callbackUrl(wrong, change), { site: 'cross-site' })).statusCode, 400)
  }
  t.equal(platform.received('POST /api/exchangeToken').length, before)
  await browser.get(callbackUrl(started), { site: 'cross-site' })
  t.ok(platform.received('POST /api/exchangeToken').at(-1)?.form.get('code_verifier'))
  t.equal(connected.length, 1)
})

t.test(
  'if the visitor is signed in at the portal as another user, nothing is connected, and the tokens are revoked',
  async t => {
    const { browser, platform, connected, connect, revoked } = await start(t)
    for (const access_token of [accessTokenOf('visitor-2'), 'not-a-jwt']) {
      platform.answer('POST /api/exchangeToken', giveTokens({ ...given, access_token }))
      const page = await browser.get(callbackUrl(await connect(), { subject: 'visitor-1' }), { site: 'cross-site' })
      t.equal(page.statusCode, 409)
      t.match(textOf(page), signInTexts.loginErrors.other_user)
      t.match(textOf(page), signInTexts.connectionFailed)
      t.ok(linksOf(page).includes('/page/1'))
    }
    t.same(connected, [])
    t.same(revoked(), [given.refresh_token, given.refresh_token])
  },
)

t.test('if a connection fails, the page does not say that the sign-in did not work', async t => {
  const { browser, platform, connect } = await start(t)
  const error = { code: undefined, error: 'server_error', error_description: 'Try later' }
  const pages = [await browser.get(callbackUrl(await connect(), error), { site: 'cross-site' })]
  platform.answer('POST /api/exchangeToken', { status: 400, body: { error: 'invalid_grant' } })
  pages.push(await browser.get(callbackUrl(await connect()), { site: 'cross-site' }))
  pages.push(await browser.get(callbackUrl(await connect(), { code: undefined }), { site: 'cross-site' }))
  for (const page of pages) {
    t.equal(page.statusCode, 400)
    t.match(textOf(page), signInTexts.connectionFailed)
    t.notMatch(textOf(page), signInTexts.loginFailed)
    t.notMatch(textOf(page), signInTexts.portalRefused.title)
    t.notMatch(textOf(page), /not signed in|sign in again/i)
    t.ok(linksOf(page).includes('/page/1'))
  }
})

t.test('if the product cannot store the tokens, the client revokes them and tells the visitor', async t => {
  const { browser, connect, revoked, log } = await start(t, () => Promise.reject(new Error('the database is gone')))
  const page = await browser.get(callbackUrl(await connect()), { site: 'cross-site' })
  t.equal(page.statusCode, 500)
  t.match(textOf(page), signInTexts.loginErrors.not_connected)
  t.same(revoked(), [given.refresh_token])
  t.match(log.join(''), 'the database is gone')
  t.notMatch(log.join(''), given.refresh_token)
})

t.test('if onConnected never ends, the visitor gets a page after ten seconds, and the tokens are revoked', async t => {
  const { browser, connect, revoked } = await start(t, () => new Promise(() => {}))
  const [page, took] = await timed(browser.get(callbackUrl(await connect()), { site: 'cross-site' }))
  t.equal(page.statusCode, 500)
  t.match(textOf(page), signInTexts.loginErrors.not_connected)
  t.ok(took.own < 12, `${took.own} s`)
  t.same(revoked(), [given.refresh_token])
})

t.test(
  'if the callback of a connection is delivered twice at the same time, the product gets one connection',
  async t => {
    const { browser, connected, connect } = await start(t)
    const url = callbackUrl(await connect())
    const copy = browser.copy()
    const pages = await Promise.all([browser, copy].map(one => one.get(url, { site: 'cross-site' })))
    t.same(
      pages.map(({ statusCode }) => statusCode),
      [200, 200],
    )
    t.equal(connected.length, 1)
  },
)

t.test(
  'a visitor who declines a connection reads that nothing was connected, and goes back to the page of the product',
  async t => {
    const { browser, connect, connected } = await start(t)
    const state = (await connect()).get('state')!
    const page = await browser.get(`/cancelled?state=${state}&error=access_denied`, { site: 'cross-site' })
    t.match(textOf(page), signInTexts.connectionDeclined.message)
    t.notMatch(textOf(page), signInTexts.declined.title)
    t.ok(linksOf(page).includes('/page/1'))
    t.same(connected, [])
  },
)

t.test(
  'the function connect works only in a POST route, and only for a visitor with a session and a user id',
  async t => {
    const { browser, platform, client } = await start(t)
    t.equal((await browser.get('/connect', { site: 'same-origin' })).statusCode, 500)
    t.equal((await browser.post('/connect', {}, { site: 'cross-site' })).statusCode, 403)
    const stranger = browser.copy()
    stranger.cookies.clear()
    t.equal((await stranger.post('/connect')).statusCode, 401)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: 'not-a-jwt' }))
    await stranger.get(callbackUrl(await beginLogin(stranger)), { site: 'cross-site' })
    const unknown = await stranger.post('/connect')
    t.equal(unknown.statusCode, 502)
    t.match(textOf(unknown), signInTexts.connectionFailed)
    t.ok(client)
  },
)

t.test('CL-07: the login cookie of a connection stays within 500 bytes', async t => {
  const { browser, connect } = await start(t)
  const state = (await connect('/connect-far')).get('state')
  const name = `__Host-login-${state}`
  t.ok(name.length + browser.cookie(name)!.length <= 500, `${name.length + browser.cookie(name)!.length}`)
})

t.test(
  'renewConnection returns new tokens, a final refusal, or a failure after which the caller can try again',
  async t => {
    const { client, platform, clock } = await start(t)
    const { renewConnection } = client.signIn
    t.same(await renewConnection('old'), {
      outcome: 'renewed',
      accessToken: given.access_token,
      refreshToken: given.refresh_token,
      expiresAt: new Date(clock.read().getTime() + 3_600_000),
    })
    const { form } = platform.received('POST /api/exchangeToken').at(-1)!
    t.same([form.get('grant_type'), form.get('refresh_token')], ['refresh_token', 'old'])
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
    t.same(await renewConnection('withdrawn'), { outcome: 'refused' })
    platform.answer('POST /api/exchangeToken', { status: 503, headers: { 'retry-after': '7' }, body: {} })
    t.same(await renewConnection('busy'), { outcome: 'later', retryAfterSeconds: 7 })
    platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_client' } })
    t.match(
      await renewConnection('misconfigured'),
      { outcome: 'later' },
      'a wrong client secret must not end a connection',
    )
    platform.answer('POST /api/exchangeToken', { body: { access_token: 'x', token_type: 'mac', expires_in: 1 } })
    t.match(await renewConnection('nonsense'), { outcome: 'later' })
  },
)

t.test(
  'two simultaneous calls to renewConnection share one renewal; if the portal does not send a new refresh token, the client keeps the old one',
  async t => {
    const { client, platform } = await start(t)
    platform.answer('POST /api/exchangeToken', giveTokens({ ...given, refresh_token: undefined }))
    const before = platform.received('POST /api/exchangeToken').length
    const renewals = await Promise.all([1, 2].map(() => client.signIn.renewConnection('same')))
    for (const renewal of renewals) t.match(renewal, { outcome: 'renewed', refreshToken: 'same' })
    t.equal(platform.received('POST /api/exchangeToken').length, before + 1)
  },
)

t.test(
  'connectionApi sends the token and checks the answer, and throws an error with status 401 if the API refuses the token',
  async t => {
    const { client, platform } = await start(t)
    const things = { type: 'array', items: { type: 'string' } } as const
    t.same(await client.signIn.connectionApi('offline').get('/things', things), ['one', 'two'])
    t.equal(platform.received('GET /things').at(-1)?.headers.authorization, 'Bearer offline')
    platform.answer('GET /things', { body: [1] })
    await t.rejects(client.signIn.connectionApi('offline').get('/things', things), {
      code: 'api_unexpected',
      statusCode: 502,
    })
    platform.answer('GET /things', { status: 401, body: {} })
    await t.rejects(client.signIn.connectionApi('offline').get('/things', things), {
      code: 'sign_in_required',
      statusCode: 401,
    })
  },
)
