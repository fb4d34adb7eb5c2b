// Everything that must stay secret, collected on a walk through all that the client does, and looked for in its log.
import { createHash, randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import {
  beginLogin,
  buildApplicationsClient,
  callbackUrl,
  clientSecret,
  signIn,
  TestClock,
} from '../support/build-test-client.ts'
import { exchangeRaw, rawGet } from '../support/raw-socket.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm } from '../support/read-form.ts'
import { rememberingApi } from '../support/remembering-api.ts'
import { accessTokenOf, applicationRecord, send, tokenAnswer } from '../support/scripted-platform.ts'
import { TestBrowser } from '../support/test-browser.ts'

const unguessable = () => randomBytes(18).toString('base64url')

/** A client that logs all it can, on a platform that never gives the same token twice; `secrets` collects. */
async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const key = randomBytes(32).toString('base64url')
  const secrets = new Set([clientSecret, key])
  const scripts = {
    ...api.scripts,
    'PUT /apps/v1/app-1': { body: applicationRecord('app-1') },
    'POST /api/revokeToken': { body: {} },
  }
  const test = await buildApplicationsClient(t, { clock, scripts, environment: { COOKIE_KEYS: key } })
  const { platform } = test
  const loginUrl = platform.url
  platform.answer('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: loginUrl,
      code_challenge_methods_supported: ['S256'],
      revocation_endpoint: `${loginUrl}/api/revokeToken`,
    },
  })
  clock.advance(3_601)
  const tokens = (more: object = {}) => {
    const fresh = { access_token: accessTokenOf('visitor-1', { jti: unguessable() }), refresh_token: unguessable() }
    for (const secret of Object.values(fresh)) secrets.add(secret)
    return { ...fresh, ...more }
  }
  platform.answer('POST /api/exchangeToken', (request, response) => {
    for (const name of ['code', 'code_verifier', 'refresh_token', 'state']) {
      const value = request.form.get(name)
      if (value) secrets.add(value)
    }
    send(response, { body: tokenAnswer(request, tokens()) })
  })

  /** Takes note of cookies, of hidden fields and of every parameter of an address, as the browser does. */
  class NotingBrowser extends TestBrowser {
    override keep(response: LightMyRequestResponse) {
      super.keep(response)
      for (const { value } of response.cookies) if (value.length > 5) secrets.add(value)
      for (const [, value] of response.body.matchAll(/name="formToken" value="([^"]*)"/g)) secrets.add(value!)
      const { location } = response.headers
      const query = location ? new URL(location, 'http://here').searchParams : []
      for (const [name, value] of query) if (name === 'state' || name === 'code_challenge') secrets.add(value)
    }
  }
  const browser = new NotingBrowser(test.client, 'http://localhost:3000', clock.read)
  return { ...test, browser, api, secrets, tokens }
}

/** A callback with a code and a subject that were never seen before. */
function callback(started: URLSearchParams, secrets: Set<string>, change: Record<string, string | undefined> = {}) {
  const fresh = { code: unguessable(), subject: unguessable() }
  for (const secret of Object.values(fresh)) secrets.add(secret)
  return callbackUrl(started, { ...fresh, ...change })
}

t.test('LG-01, LG-02, SE-04: no code, state, token, cookie or secret is in any line of the log', async t => {
  const { browser, client, clock, platform, api, secrets, tokens, log } = await start(t)
  const planted = () => {
    const secret = unguessable()
    secrets.add(secret)
    return secret
  }
  const login = async (change: Record<string, string | undefined> = {}) =>
    browser.get(callback(await beginLogin(browser), secrets, change), { site: 'cross-site' })

  // Logins that succeed and logins that fail.
  t.equal((await login()).statusCode, 200)
  await login({ state: planted() })
  await login({ client_id: planted() })
  await login({ code: undefined, error: 'server_error', error_description: planted() })
  await login({ code: undefined, error: planted() })
  await browser.get(`/exchangeToken?code=${planted()}&code=${planted()}&state=${planted()}`)
  await browser.get(`/exchangeToken/${planted()}?code=${planted()}&state=${planted()}`)
  await browser.get(`/cancelled?state=${planted()}&error=access_denied`)
  await browser.get(`/login?returnTo=/applications?token=${planted()}`)
  await browser.get(`/${planted()}?access_token=${planted()}`)
  await browser.get('/applications', { headers: { cookie: `__Host-session=${planted()}`, authorization: planted() } })
  await exchangeRaw(client, rawGet(`/%E0%A4%A?code=${planted()}`, { cookie: `a=${planted()}` }))
  await exchangeRaw(client, `BAD ${planted()}\r\n\r\n`)

  // Everything that a visitor does.
  for (const [page, action] of [
    ['/applications/new', '/applications'],
    ['/applications/app-1/edit', '/applications/app-1/edit'],
    ['/applications/app-1', '/applications/app-1/secret'],
    ['/applications/app-1/delete', '/applications/app-1/delete'],
  ] as const) {
    const form = readForm(await browser.get(page), action)
    const answer = await browser.post(action, { ...form, name: 'Weather', redirectUris: 'https://weather.test/' })
    t.equal(answer.statusCode, 303, action)
    await browser.get(String(answer.headers.location))
    await browser.post(action, form, { site: 'cross-site' })
    await browser.post(action, { formToken: planted() })
  }
  clock.advance(3_590)
  t.equal((await browser.get('/applications')).statusCode, 200, 'renewed')

  // Answers that hold what they should not, and answers that break.
  const answers: Parameters<typeof send>[1][] = [
    { body: tokens({ access_token: `${planted()} x` }) },
    { body: { ...tokens(), token_type: planted() } },
    { body: { ...tokens(), expires_in: planted() } },
    { body: JSON.stringify(tokens()).slice(0, -3) },
    { status: 400, body: { error: 'invalid_grant', error_description: planted() } },
    { status: 401, body: { error: planted() } },
    { status: 500, headers: { 'x-secret': planted() }, body: planted() },
    { status: 307, headers: { location: `${platform.url}/?client_secret=${planted()}` }, body: '' },
  ]
  for (const answer of answers) {
    platform.answer('POST /api/exchangeToken', answer)
    t.ok((await login()).statusCode >= 400)
  }
  platform.answer('POST /api/exchangeToken', (_request, response) => response.destroy())
  await login()
  for (const answer of [...answers, { status: 401, headers: { 'www-authenticate': planted() }, body: planted() }]) {
    platform.answer('GET /apps/v1', answer)
    await browser.get('/applications')
  }
  platform.answer('POST /api/revokeToken', { status: 500, body: planted() })
  await browser.post('/logout')

  for (const secret of api.secrets) secrets.add(secret)
  for (const number of [1, 2]) secrets.add(`app-access-token-${number}-of-app-2`)
  for (const { headers, form } of platform.received())
    for (const value of [headers.authorization?.slice('Bearer '.length), form.get('token')])
      if (value) secrets.add(value)

  const text = log.join('')
  t.ok(log.length > 60, `${log.length} lines`)
  t.ok(secrets.size > 100, `${secrets.size} secrets`)
  for (const secret of secrets) {
    // Told by a hash, so that a test that fails does not print it.
    const name = createHash('sha256').update(secret).digest('hex').slice(0, 8)
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), btoa(secret)]
    if (forms.some(form => text.includes(form))) t.fail(`secret ${name} (${secret.length} characters) is in the log`)
  }
  for (const part of [...secrets]
    .filter(secret => secret.split('.').length === 3)
    .flatMap(token => token.split('.').slice(1)))
    if (part.length > 12 && text.includes(part)) t.fail('a part of an access token is in the log')
})

t.test('LG-01: a code or a state in an address that is not there is not logged either', async t => {
  const { client, log } = await buildApplicationsClient(t)
  const canary = unguessable()
  for (const url of [
    `/nowhere?code=${canary}&state=${canary}`,
    `/${canary}`,
    `/exchangeToken?code=${canary}`,
    `/assets/${canary}`,
  ])
    for (const method of ['GET', 'POST', 'PUT'] as const)
      await client.inject({ method, url, headers: { origin: 'http://localhost:3000' } })
  t.ok(log.length >= 12)
  t.notMatch(log.join(''), canary)
})

t.test('LG-02: what a library hangs on its errors is not logged', async t => {
  const canary = unguessable()
  const headers = { 'content-length': '9999', 'x-secret': canary }
  const api = await startRawUpstream(t, (socket, _request, count) =>
    socket.end(count % 2 ? `${canary}\r\n\r\n` : rawAnswer(canary, { headers })),
  )
  const { browser, log } = await buildApplicationsClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  for (let count = 0; count < 4; count++) t.equal((await browser.get('/applications')).statusCode, 502)
  t.ok(api.requests.length >= 4)
  t.notMatch(log.join(''), canary)
  t.notMatch(log.join(''), /authorization|Bearer/i)
})
