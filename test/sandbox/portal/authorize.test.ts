// Tests how the portal answers correct and wrong login requests.
import t from 'tap'
import { type Browser, locationOf, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'

/** Returns a browser that is signed in and has allowed the seeded application. */
async function openAllowed(sandbox: TestSandbox): Promise<Browser> {
  const browser = openBrowser(sandbox)
  await browser.submit(await signIn(browser), { decision: 'allow' })
  return browser
}

t.test(
  'AZ-01: if a login request names an unknown client or no redirect URI, the portal shows an error page, and does not redirect',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const cases = [
      startUrl({ client_id: 'a6b43b9e-0a4e-4f7d-9b52-2a0a4cf2b0d1' }),
      startUrl({ client_id: undefined }),
      startUrl({ client_id: "'; drop table users; --" }),
      startUrl({ client_id: 'nul\0' }),
      startUrl({ redirect_uri: undefined }),
      startUrl({ redirect_uri: 'https://evil.example.test/exchangeToken' }),
      `${startUrl()}&client_id=${seeded.clientId}`,
      `${startUrl()}&redirect_uri=${encodeURIComponent(seeded.redirectUri)}`,
      '/?response_type=code',
    ]
    for (const url of cases) {
      const page = await browser.get(url)
      t.equal(page.statusCode, 400, url)
      t.equal(page.headers.location, undefined)
      t.match(page.headers['content-type'], /^text\/html/)
      t.match(page.headers['content-security-policy'], /form-action 'self';/, 'the policy must contain no other origin')
    }
  },
)

t.test(
  'AZ-02: if the redirect URI of a login request differs in any byte from the registered URI, the portal shows an error page',
  async t => {
    const registered = 'http://localhost:3000/exchangeToken'
    const browser = openBrowser(await buildTestSandbox(t, { redirectUris: [registered] }))
    const others = [
      `${registered}/`,
      `${registered}/../exchangeToken`,
      `${registered}?x=1`,
      'http://localhost:3000/a/../exchangeToken',
      `${registered}%2f`,
      'HTTP://localhost:3000/exchangeToken',
      'http://LOCALHOST:3000/exchangeToken',
      `${registered}#f`,
      'http://localhost:3000@evil.test/exchangeToken',
      'http://localhost.evil.test:3000/exchangeToken',
      `${registered}\t`,
      ` ${registered}`,
      'http://localhost:3000//exchangeToken',
      'http://localhost:3001/exchangeToken',
      '//localhost:3000/exchangeToken',
    ]
    t.equal((await browser.get(startUrl({ redirect_uri: registered }))).statusCode, 200)
    for (const redirect_uri of others) {
      const page = await browser.get(startUrl({ redirect_uri }))
      t.equal(page.statusCode, 400, redirect_uri)
      t.equal(page.headers.location, undefined)
      t.match(page.headers['content-type'], /^text\/html/)
      t.match(page.body, 'an address that it has not registered')
    }
  },
)

t.test(
  'AZ-03, AZ-04: if a login request has a mistake, but the right client and redirect URI, the portal redirects to this URI with an error, the state and no code',
  async t => {
    const browser = await openAllowed(await buildTestSandbox(t))
    const cases: [string, string][] = [
      [startUrl({ response_type: 'token' }), 'unsupported_response_type'],
      [startUrl({ response_type: 'code token' }), 'unsupported_response_type'],
      [startUrl({ response_type: undefined }), 'invalid_request'],
      [startUrl({ response_type: '' }), 'invalid_request'],
      [startUrl({ grant_type: 'foo' }), 'invalid_request'],
      [startUrl({ grant_type: 'password' }), 'invalid_request'],
      [startUrl({ grant_type: undefined }), 'invalid_request'],
      [startUrl({ cancel_url: undefined }), 'invalid_request'],
      [`${startUrl()}&response_type=code`, 'invalid_request'],
      [startUrl({ code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' }), 'invalid_request'],
      [startUrl({ code_challenge: 'x'.repeat(43) }), 'invalid_request'],
      [startUrl({ code_challenge: 'short', code_challenge_method: 'S256' }), 'invalid_request'],
      [startUrl({ code_challenge_method: 'S256' }), 'invalid_request'],
      [startUrl({ cancel_url: `${seeded.cancelUrl}?${'x'.repeat(2048)}` }), 'invalid_request'],
      [startUrl({ code_challenge: 'x'.repeat(2049), code_challenge_method: 'S256' }), 'invalid_request'],
    ]
    for (const [url, error] of cases) {
      const answer = await browser.get(url)
      t.equal(answer.statusCode, 303, url)
      const location = new URL(locationOf(answer))
      t.equal(location.origin + location.pathname, seeded.redirectUri)
      t.equal(location.searchParams.get('error'), error, url)
      t.equal(location.searchParams.get('state'), 'a-state')
      t.ok(location.searchParams.get('error_description'))
      t.equal(location.searchParams.get('iss'), portalUrl, 'CL-23: clients refuse an error without iss')
      t.equal(location.searchParams.get('code'), null)
    }
  },
)

t.test(
  'AZ-05: if a login request has two state parameters, the portal refuses the request and returns no state; unknown parameters are ignored',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const location = new URL(locationOf(await (await openAllowed(sandbox)).get(`${startUrl()}&state=another`)))
    t.equal(location.searchParams.get('error'), 'invalid_request')
    t.equal(location.searchParams.get('state'), null)
    t.equal((await browser.get(`${startUrl()}&extra=foobar&extra=foobar`)).statusCode, 200)
    t.equal((await browser.get(`${startUrl()}&client_id=b`)).statusCode, 400, 'two client ids must be refused')
  },
)

t.test(
  'AZ-07: a correct login request always leads to the sign-in page first, whatever additional parameters it has',
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    for (const parameters of [{}, { scope: 'nonsense' }, { prompt: 'none' }, { response_mode: 'fragment' }]) {
      const page = await browser.get(startUrl(parameters))
      t.equal(page.statusCode, 200, JSON.stringify(parameters))
      t.equal(page.headers.location, undefined)
      t.notOk(page.headers.refresh)
      t.match(page.body, /<h1>Sign in/)
    }
  },
)

t.test(
  'AZ-07: if a login request has a mistake, the portal redirects only visitors who have allowed the application before',
  async t => {
    const foreign = 'https://xn--mnchen-3ya.example.test:8443/cb?x=1'
    const sandbox = await buildTestSandbox(t, { redirectUris: [foreign, seeded.redirectUri] })
    const wrong = startUrl({ redirect_uri: foreign, response_type: 'token', state: '"><b>state' })
    const [stranger, signedIn] = [openBrowser(sandbox), openBrowser(sandbox)]
    await signIn(signedIn)
    for (const browser of [stranger, signedIn]) {
      const page = await browser.get(wrong)
      t.equal(page.statusCode, 400)
      t.equal(page.headers.location, undefined)
      t.notOk(page.headers.refresh)
      t.notMatch(page.body, /http-equiv|<script|<form class="(?!visitor)/)
      t.equal(page.headers['referrer-policy'], 'no-referrer')
      t.match(page.headers['content-security-policy'], /form-action 'self';/)
      t.match(page.body, 'response_type must be code.')
      t.match(page.body, '<strong>xn--mnchen-3ya.example.test:8443</strong>')
      const href =
        /<a class="button" href="(https:[^"]+)" rel="noreferrer">/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const back = new URL(href)
      t.equal(href.split('&')[0], foreign)
      t.equal(back.searchParams.get('error'), 'unsupported_response_type')
      t.equal(back.searchParams.get('state'), '"><b>state')
    }
    const allowed = await openAllowed(sandbox)
    t.match(locationOf(await allowed.get(wrong)), /^https:\/\/xn--mnchen-3ya\.example\.test:8443\/cb\?x=1&error=/)
    await sandbox.store.write(db => db.deleteFrom('consents').execute())
    t.equal((await allowed.get(wrong)).statusCode, 400, 'without consent, the login request must be refused')
  },
)

t.test(
  'AZ-06: if the cancel_url of a login request has a different origin from the redirect URI, the portal refuses the request, and never redirects to the cancel_url',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const allowed = await openAllowed(sandbox)
    const refused = [
      'https://evil.test/',
      'javascript:alert(1)',
      '//evil.test',
      'http://localhost:3000@evil.test/',
      'http://user:password@localhost:3000/',
      'http://localhost:3001/cancelled',
      'http://localhost:3000/cancelled#fragment',
      'http://localhost:3000\\@evil.test/',
    ]
    for (const cancel_url of refused) {
      const location = new URL(locationOf(await allowed.get(startUrl({ cancel_url }))))
      t.equal(location.origin, 'http://localhost:3000', cancel_url)
      t.equal(location.searchParams.get('error'), 'invalid_request')
    }
    const browser = openBrowser(sandbox)
    t.equal((await browser.get(startUrl({ cancel_url: 'http://localhost:3000/any/other?path=1' }))).statusCode, 200)
  },
)

t.test(
  'AZ-08: the portal returns the state of a login request unchanged, does not add a state if the request has none, and refuses a state of 64 KB',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const state = `${'+/=%&"<é😀 \'~!*()'.repeat(50)}end`
    const browser = openBrowser(sandbox)
    const consent = await signIn(browser, { state })
    const answer = await browser.submit(consent, { decision: 'allow' })
    const query = locationOf(answer).split('?')[1] ?? ''
    t.equal(new URLSearchParams(query).get('state'), state)
    const raw = query.split('&').find(pair => pair.startsWith('state='))
    t.equal(
      decodeURIComponent(raw?.slice('state='.length) ?? ''),
      state,
      'decodeURIComponent and URLSearchParams must give the same state',
    )
    for (const none of [undefined, '']) {
      const again = await browser.get(startUrl({ state: none }))
      t.notMatch(locationOf(again), /state=/)
    }
    t.equal((await browser.get(startUrl({ state: 's'.repeat(3000) }))).statusCode, 400)
    t.equal((await browser.get(startUrl({ state: 's'.repeat(65536) }))).statusCode, 400)
  },
)

t.test(
  'AZ-09: the redirect to the client has exactly the platform’s parameters, and keeps the query of the redirect URI',
  async t => {
    const redirectUri = 'http://localhost:3000/exchangeToken?a=1&b=%2F'
    const sandbox = await buildTestSandbox(t, { redirectUris: [redirectUri] })
    const browser = openBrowser(sandbox)
    const consent = await signIn(browser, { redirect_uri: redirectUri })
    const answer = await browser.submit(consent, { decision: 'allow' })
    t.equal(answer.statusCode, 303)
    const location = locationOf(answer)
    t.ok(location.startsWith(`${redirectUri}&`))
    const parameters = new URL(location).searchParams
    t.match(parameters.get('code'), /^[A-Za-z0-9]{30}$/)
    t.match(parameters.get('subject'), /^[0-9a-f-]{36}$/)
    t.equal(parameters.get('redirect_uri'), redirectUri)
    t.equal(parameters.get('client_id'), seeded.clientId)
    t.equal(parameters.get('state'), 'a-state')
    t.equal(parameters.get('iss'), portalUrl)
  },
)

t.test(
  'AZ-13: a login starts with GET; a login request with POST is redirected to the same request with GET; no script from another origin can read an answer',
  async t => {
    const { portal } = await buildTestSandbox(t)
    for (const method of ['PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE'] as const) {
      const headers = { origin: 'https://evil.test', 'sec-fetch-site': 'same-origin' }
      const answer = await portal.inject({ method, url: startUrl(), headers })
      t.equal(answer.statusCode, 405, method)
      t.equal(answer.headers.allow, 'GET, POST')
      t.notOk(Object.keys(answer.headers).some(name => name.startsWith('access-control-')))
    }
    const payload = startUrl().slice('/?'.length)
    const headers = { origin: 'https://evil.test', 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await portal.inject({ method: 'POST', url: '/', headers, payload })
    t.match([sent.statusCode, locationOf(sent)], [303, startUrl()])
    for (const answer of [sent, await portal.inject({ url: startUrl(), headers: { origin: 'https://evil.test' } })])
      t.notOk(Object.keys(answer.headers).some(name => name.startsWith('access-control-')))
  },
)

t.test('DO-10: if 200 visitors open the sign-in page and do nothing else, the store gets no new rows', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  for (let visitor = 0; visitor < 200; visitor += 1) await browser.get(startUrl({ state: `${visitor}` }))
  for (const table of ['grants', 'finished_authorizations', 'portal_sessions', 'failures'] as const)
    t.strictSame(await sandbox.store.read.selectFrom(table).selectAll().execute(), [], table)
})

t.test(
  'PS-08, PS-10: no page of the portal can be framed, and the portal’s forms lead only to the portal and to the client of the login',
  async t => {
    const cancelUrl = 'http://localhost:3001/cancelled'
    const redirectUris = [seeded.redirectUri, 'http://localhost:3001/', 'http://localhost:3002/']
    const browser = openBrowser(await buildTestSandbox(t, { redirectUris }))
    const login = { cancel_url: cancelUrl }
    const pages = [await browser.get(startUrl(login)), await signIn(browser, login), await browser.get('/no-such-page')]
    const [, , missing] = pages
    for (const page of pages) {
      t.match(page.headers['content-security-policy'], /frame-ancestors 'none'/)
      t.match(page.headers, {
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
      })
    }
    for (const page of pages.slice(0, 2))
      t.match(
        page.headers['content-security-policy'],
        /form-action 'self' http:\/\/localhost:3000 http:\/\/localhost:3001;/,
      )
    t.equal(missing?.statusCode, 404)
    t.match(missing?.headers['content-security-policy'], /form-action 'self';/)
  },
)

t.test('LG-01: the portal logs no query strings, no codes and no passwords', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  const consent = await signIn(browser, { state: 'canary-state' })
  const code = new URL(locationOf(await browser.submit(consent, { decision: 'allow' }))).searchParams.get('code') ?? ''
  await browser.get('/missing?code=canary-query')
  const log = sandbox.logLines.join('')
  t.match(log, /"route":"\/sign-in"/)
  for (const secret of [
    'canary-state',
    'canary-query',
    code,
    seeded.password,
    seeded.email,
    ...[...browser.cookies.values()].map(({ value }) => value),
  ])
    t.notOk(log.includes(secret))
})
