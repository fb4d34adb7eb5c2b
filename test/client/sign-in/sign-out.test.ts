// Signing out ends the session at the client and at the portal. A new session begins only when the visitor chooses to
// sign in.

import t, { type Test } from 'tap'
import { signInTexts } from '../../../src/client/sign-in/texts.ts'
import { timed } from '../../support/stopwatch.ts'
import {
  beginLogin,
  buildTestClient,
  clientId,
  clientSecret,
  type Settings,
  signIn,
} from '../support/build-test-client.ts'
import { setCookieLine, setCookieLines } from '../support/read-response.ts'
import { accessTokenOf, giveTokens, type Script, send } from '../support/scripted-platform.ts'
import { smallProduct } from '../support/small-product.ts'

const revokeRoute = 'POST /api/revokeToken'

/** Signs a visitor in. The portal's metadata lists revocation, with an address that the client must not use. */
async function buildSignedIn(t: Test, revoke: Script = { body: {} }, settings: Settings = {}) {
  const test = await buildTestClient(t, {
    ...settings,
    scripts: {
      'GET /.well-known/oauth-authorization-server': ({ headers }, response) =>
        send(response, {
          body: { issuer: `http://${headers.host}`, revocation_endpoint: 'https://elsewhere.test/revoke' },
        }),
      [revokeRoute]: revoke,
      'GET /things': { body: ['first thing'] },
    },
  })
  await signIn(test.browser)
  return test
}

t.test('CK-13: a GET request to /logout gets a 405 answer, and does not sign the visitor out', async t => {
  const { browser } = await buildSignedIn(t)
  const response = await browser.get('/logout', { site: 'same-origin' })
  t.equal(response.statusCode, 405)
  t.equal(response.headers.allow, 'POST')
  t.same(setCookieLines(response), [])
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
})

t.test(
  'CK-13: the answer to POST /logout has status 303, and deletes every cookie of the session and of logins',
  async t => {
    const { browser, clock } = await buildSignedIn(t)
    await beginLogin(browser)
    await beginLogin(browser)
    for (const name of ['__Host-session-2', '__Host-handover', '__Host-notice'])
      browser.cookies.set(name, { ...browser.cookies.get('__Host-session')! })
    const before = browser.names()
    t.equal(before.length, 8)
    const response = await browser.post('/logout')
    t.equal(response.statusCode, 303)
    t.equal(response.headers.location, '/')
    t.equal(response.headers['cache-control'], 'no-store')
    for (const name of before) {
      const line = setCookieLine(response, `${name}=`) ?? ''
      t.match(line, `${name}=; Max-Age=0;`)
      for (const attribute of ['Path=/', 'HttpOnly', 'Secure']) t.ok(line.split('; ').includes(attribute), line)
    }
    t.same(browser.names(), ['__Host-signed-out'])
    clock.advance(60)
    t.not((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  },
)

t.test('CK-13: browsers must not store signed-in pages, so the Back button requests the page again', async t => {
  const { browser } = await buildSignedIn(t)
  for (const path of ['/', '/page', '/logout']) {
    const { headers } = await browser.get(path, { site: 'same-origin' })
    t.equal(headers['cache-control'], 'no-store', path)
  }
})

t.test('CK-13: another site cannot sign a visitor out', async t => {
  const { browser, platform } = await buildSignedIn(t)
  for (const site of ['cross-site', 'same-site'] as const) {
    const response = await browser.post('/logout', {}, { site })
    t.equal(response.statusCode, 403)
    t.same(setCookieLines(response), [])
  }
  t.equal(platform.received(revokeRoute).length, 0)
})

t.test('CK-14: signing out does not tell the browser to clear the cookies of the whole domain', async t => {
  const { browser } = await buildSignedIn(t)
  const response = await browser.post('/logout')
  t.notMatch(String(response.headers['clear-site-data'] ?? ''), /cookies|\*/)
})

t.test(
  'CK-13: the refresh token is revoked at the fixed address of the portal, whatever address the metadata lists',
  async t => {
    const { browser, platform, log } = await buildSignedIn(t)
    await browser.post('/logout')
    t.notMatch(log.join(''), 'revocation_failed')
    const [revocation, ...others] = platform.received(revokeRoute)
    t.same(others, [])
    t.same(Object.fromEntries(revocation!.form), {
      token: 'refresh0refresh0refresh0refresh0',
      client_id: clientId,
      client_secret: clientSecret,
    })
  },
)

t.test('RF-11: signing out revokes every refresh token that the browser has', async t => {
  const { browser, platform } = await buildSignedIn(t)
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: 'of-a-second-login' }))
  await signIn(browser)
  await browser.post('/logout')
  const revoked = platform.received(revokeRoute).map(({ form }) => form.get('token'))
  t.same(revoked.toSorted(), ['of-a-second-login', 'refresh0refresh0refresh0refresh0'])
})

t.test('revoke-access-token: if a session has no refresh token, signing out revokes the access token', async t => {
  const { browser, platform } = await buildSignedIn(t)
  await browser.post('/logout')
  platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: undefined }))
  await signIn(browser)
  await browser.post('/logout')
  const [, revocation, ...others] = platform.received(revokeRoute)
  t.same(others, [])
  t.same(Object.fromEntries(revocation!.form), {
    token: accessTokenOf('visitor-1'),
    client_id: clientId,
    client_secret: clientSecret,
  })
})

t.test(
  'revoke-access-token: the access token is revoked even if a refresh token of an earlier login exists',
  async t => {
    const { browser, platform } = await buildSignedIn(t)
    const accessToken = accessTokenOf('visitor-1', { jti: 'of a login without a refresh token' })
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token: accessToken, refresh_token: undefined }))
    await signIn(browser)
    await browser.post('/logout')
    const revoked = platform.received(revokeRoute).map(({ form }) => form.get('token'))
    t.same(revoked.toSorted(), [accessToken, 'refresh0refresh0refresh0refresh0'].toSorted())
  },
)

t.test('RF-11: revocation starts before the product’s sign-out hook, and does not wait for this hook', async t => {
  const { browser, platform, log } = await buildSignedIn(t, undefined, {
    requestDeadlineMs: 5_000,
    product: {
      ...smallProduct,
      // The hook ends only after the portal has received the revocation.
      beforeSignOut: () => platform.waitForRequests(revokeRoute),
    },
  })
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.equal(platform.received(revokeRoute).length, 1)
  t.notMatch(log.join(''), /hook_failed|revocation_failed/)
})

for (const [what, beforeSignOut] of [
  ['never ends', () => new Promise<void>(() => {})],
  ['fails', () => Promise.reject(new Error('no disk'))],
  [
    'throws an error immediately',
    () => {
      throw new Error('no disk')
    },
  ],
] as const)
  t.test(`RF-11: the tokens are revoked even if a hook of the product ${what}`, async t => {
    const product = { ...smallProduct, beforeSignOut }
    const { browser, platform, log } = await buildSignedIn(t, undefined, { product })
    t.equal((await browser.post('/logout')).statusCode, 303)
    t.same(browser.names(), ['__Host-signed-out'])
    t.equal(platform.received(revokeRoute).length, 1)
    t.notMatch(log.join(''), 'revocation_failed')
    t.match(log.join(''), '"event":"hook_failed"', 'the log must contain the failure')
  })

t.test('RF-11: if the portal’s metadata does not list revocation, the client does not revoke tokens', async t => {
  const { browser, platform } = await buildTestClient(t)
  await signIn(browser)
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.equal(platform.received(revokeRoute).length, 0)
})

t.test('CK-13: a process that has not read the portal’s metadata reads the metadata at a sign-out', async t => {
  const { browser, platform, clock, config } = await buildSignedIn(t)
  const document = platform.script('GET /.well-known/oauth-authorization-server')
  platform.answer('GET /.well-known/oauth-authorization-server', { status: 502, body: {} })
  const environment = { COOKIE_KEYS: config.cookieKeys[0]!.reveal() }
  browser.server = (await buildTestClient(t, { platform, clock, environment })).client
  // This login waits until the client has read the metadata document.
  await browser.server.inject('/login')
  platform.answer('GET /.well-known/oauth-authorization-server', document)
  await browser.post('/logout')
  t.equal(platform.received(revokeRoute).length, 1)
})

for (const [what, revoke] of Object.entries({
  refuses: { status: 400, body: { error: 'invalid_request' } },
  'answers with status 500': { status: 500, body: {} },
  'drops the connection': (_request, response) => response.destroy(),
  'never answers': () => new Promise(() => {}),
} satisfies Record<string, Script>)) {
  t.test(`RF-11: the sign-out succeeds within two seconds if the portal ${what}`, async t => {
    const { browser, log } = await buildSignedIn(t, revoke)
    const [response, took] = await timed(browser.post('/logout'))
    t.ok(took.own < 2, `${took.own} s`)
    t.equal(response.statusCode, 303)
    t.same(browser.names(), ['__Host-signed-out'])
    t.match(log.join(''), '"event":"revocation_failed"', 'the log must contain the failure')
  })
}

t.test('RF-11: the sign-out succeeds if the portal is down', async t => {
  const { browser, platform } = await buildSignedIn(t)
  platform.server.closeAllConnections()
  platform.server.close()
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.same(browser.names(), ['__Host-signed-out'])
})

t.test('signing out without a session succeeds without a call to the portal', async t => {
  const { browser, platform } = await buildTestClient(t)
  t.equal((await browser.post('/logout')).statusCode, 303)
  t.same(
    platform.received().filter(({ method }) => method === 'POST'),
    [],
  )
})

t.test('CK-15: a copy of the cookies is useless after the portal has revoked the tokens', async t => {
  const { browser, platform, clock } = await buildSignedIn(t)
  const copy = browser.copy()
  await browser.post('/logout')
  platform.answer('GET /things', { status: 401, body: { error: { status: 401, message: 'Unauthorized' } } })
  platform.answer('POST /api/exchangeToken', { status: 401, body: { error: 'invalid_grant' } })
  clock.advance(60)
  const page = await copy.get('/page', { site: 'same-origin' })
  t.equal(page.statusCode, 302)
  t.match(page.headers.location, /^\/login/)
  t.notOk(copy.names().some(name => name.startsWith('__Host-refresh')))
  t.equal((await copy.get('/page', { site: 'same-origin' })).statusCode, 302)
  t.notOk(copy.names().some(name => name.startsWith('__Host-session')))
})

t.test(
  'logout-not-silent: after signing out, pages that need a session offer a sign-in button and do not redirect to the login',
  async t => {
    const { browser, clock } = await buildSignedIn(t)
    await browser.post('/logout')
    t.match((await browser.get('/', { site: 'same-origin' })).body, signInTexts.signedOut.notice)
    clock.advance(60)
    const page = await browser.get('/page?page=2', { site: 'same-origin' })
    t.equal(page.statusCode, 401)
    t.equal(page.headers.location, undefined)
    t.match(page.body, signInTexts.signedOut.title)
    t.match(page.body, 'href="/login?returnTo=%2Fpage%3Fpage%3D2"')
    t.match((await browser.get('/page', { site: 'cross-site' })).body, 'url=/page')
  },
)

for (const [what, site, headers] of [
  ['another site', 'cross-site', {}],
  ['a sibling site', 'same-site', {}],
  ['another site, in a browser without Sec-Fetch-Site', undefined, { referer: 'https://evil.test/' }],
  ['an unknown page, in a browser without Sec-Fetch-Site', undefined, {}],
] as const)
  t.test(
    `logout-not-silent: after signing out, a link to /login from ${what} leads to a page that first asks the visitor to sign in`,
    async t => {
      const { browser, client } = await buildSignedIn(t)
      await browser.post('/logout')
      const url = '/login?returnTo=%2Fnote'
      const cookie = browser.cookieHeader()
      const page = site
        ? await browser.get(url, { site })
        : await client.inject({ url, headers: { cookie, ...headers } })
      t.equal(page.statusCode, 401)
      t.equal(page.headers.location, undefined)
      t.match(page.body, signInTexts.signedOut.title)
      t.match(page.body, `href="${url}"`)
      t.same(setCookieLines(page), [], 'the page must not begin a login')
      const chosen = site
        ? await browser.get(url, { site: 'same-origin' })
        : await client.inject({ url, headers: { cookie, referer: 'http://localhost:3000/login' } })
      t.equal(chosen.statusCode, 302, 'the button must begin a login')
    },
  )

t.test(
  'logout-not-silent: if the visitor has not signed out, a link to /login from another site signs the visitor in',
  async t => {
    const { browser } = await buildTestClient(t)
    t.equal((await browser.get('/login', { site: 'cross-site' })).statusCode, 302)
  },
)

t.test('logout-not-silent: the cookie that marks a sign-out is short-lived, and the next login deletes it', async t => {
  const { browser, clock } = await buildSignedIn(t)
  const line = setCookieLine(await browser.post('/logout'), '__Host-signed-out=') ?? ''
  t.match(line, /; Max-Age=\d{2,3}; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const later = browser.copy()
  await signIn(browser)
  t.equal(browser.cookie('__Host-signed-out'), undefined)
  t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  clock.advance(1000)
  t.equal((await later.get('/page', { site: 'same-origin' })).statusCode, 302)
})

t.test('if a login began before the visitor signed out, its callback no longer signs the visitor in', async t => {
  const { browser } = await buildSignedIn(t)
  const started = await beginLogin(browser)
  await browser.post('/logout')
  const response = await browser.get(
    `/exchangeToken?code=a&subject=b&client_id=${clientId}&state=${started.get('state')}`,
  )
  t.equal(response.statusCode, 400)
  t.equal(setCookieLine(response, '__Host-session='), undefined)
})
