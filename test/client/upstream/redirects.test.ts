// The client sends requests only to the addresses in its settings. It does not follow redirects, and does not call
// other addresses.

import t, { type Test } from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { accessTokenOf, giveTokens } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { startListener } from '../support/start-listener.ts'

async function start(t: Test) {
  const test = await buildTestClient(t, { scripts: smallApi })
  return { ...test, listener: await startListener(t) }
}

for (const status of [301, 302, 303, 307, 308, 300, 304]) {
  t.test(
    `UP-02, F-14: if the portal answers the exchange with ${status}, the client does not follow the redirect and does not begin a session`,
    async t => {
      const { browser, platform, listener } = await start(t)
      platform.answer('POST /api/exchangeToken', { status, headers: { location: `${listener.url}/steal` }, body: '' })
      const page = await signIn(browser)
      t.equal(page.statusCode, 502)
      t.match(textOf(page), upstreamTexts.portal.unexpected)
      t.equal(page.headers.location, undefined)
      t.equal(browser.cookie('__Host-session'), undefined)
      t.equal(listener.connections, 0)
      t.equal(platform.received('POST /api/exchangeToken').length, 1)
    },
  )

  t.test(`UP-02, F-14: if the API answers with ${status}, the client does not follow the redirect`, async t => {
    const { browser, platform, listener } = await start(t)
    await signIn(browser)
    const redirect = { status, headers: { location: `${listener.url}/steal` }, body: '' }
    for (const call of ['GET /things', 'GET /things/1', 'POST /things']) platform.answer(call, redirect)
    const form = readForm(await browser.get('/note'), '/note')
    t.equal((await browser.post('/note', form)).statusCode, 502)
    t.equal((await browser.get('/page')).statusCode, 502)
    t.equal((await browser.get('/page/1')).statusCode, 502)
    t.equal(listener.connections, 0)
  })
}

for (const status of [301, 302, 303, 307, 308]) {
  t.test(
    `UP-02: if the portal answers with ${status} to a renewal, a revocation or a request for its metadata, the client does not follow the redirect`,
    async t => {
      const { browser, platform, listener, clock } = await start(t)
      const redirect = { status, headers: { location: `${listener.url}/steal` }, body: '' }
      platform.answer('GET /.well-known/oauth-authorization-server', {
        body: { issuer: platform.url, revocation_endpoint: `${platform.url}/api/revokeToken` },
      })
      clock.advance(3_600)
      await signIn(browser)
      clock.advance(3_590)
      platform.answer('POST /api/exchangeToken', redirect)
      t.equal((await browser.get('/page')).statusCode, 200, 'the old access token must still work')
      clock.advance(60)
      t.equal((await browser.get('/page')).statusCode, 502)
      t.ok(
        browser.names().some(name => name.startsWith('__Host-refresh')),
        'the session must not end',
      )

      platform.answer('POST /api/revokeToken', redirect)
      t.equal((await browser.post('/logout')).statusCode, 303)
      t.equal(platform.received('POST /api/revokeToken').length, 1)

      platform.answer('GET /.well-known/oauth-authorization-server', redirect)
      clock.advance(3_600)
      const asked = platform.received('GET /.well-known/oauth-authorization-server').length
      t.equal((await browser.get('/login')).statusCode, 302)
      t.equal(platform.received('GET /.well-known/oauth-authorization-server').length, asked + 1)
      t.equal(listener.connections, 0)
    },
  )
}

t.test('UP-01: the client never calls an address from a request, a token, a callback or an answer', async t => {
  const { browser, platform, listener, clock } = await start(t)
  const evil = listener.url
  // After this login, the client has read the first metadata document.
  await beginLogin(browser)
  platform.answer('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: platform.url,
      authorization_endpoint: `${evil}/authorize`,
      token_endpoint: `${evil}/token`,
      revocation_endpoint: `${evil}/revoke`,
      jwks_uri: `${evil}/jwks`,
      introspection_endpoint: `${evil}/introspect`,
      code_challenge_methods_supported: ['S256'],
    },
  })
  platform.answer('POST /api/revokeToken', { body: {} })
  clock.advance(3_601)
  const token = accessTokenOf('visitor-1', { iss: evil, aud: evil, jku: `${evil}/jwks`, api_url: evil })
  platform.answer('POST /api/exchangeToken', giveTokens({ access_token: token, token_endpoint: evil, api_url: evil }))
  platform.answer('GET /things/1', { headers: { link: `<${evil}>; rel=next` }, body: { '@context': evil, name: evil } })
  platform.answer('GET /things', { headers: { link: `<${evil}>; rel=next` }, body: [evil] })

  const headers = {
    host: new URL(evil).host,
    'x-forwarded-host': new URL(evil).host,
    'x-original-url': evil,
    forwarded: `host=${evil}`,
  }
  const started = await beginLogin(browser, evil)
  t.equal(started.get('redirect_uri'), 'http://localhost:3000/exchangeToken')
  await browser.get(callbackUrl(started, { redirect_uri: evil, subject: evil }), { site: 'cross-site', headers })
  await browser.get(callbackUrl(await beginLogin(browser), { iss: evil }), { site: 'cross-site' })
  await browser.get(callbackUrl(await beginLogin(browser), { client_id: evil }), { site: 'cross-site' })
  t.ok(browser.cookie('__Host-session'), 'the first callback must sign the visitor in')

  const other = `/things/${encodeURIComponent(evil)}`
  platform.answer(`GET ${other}`, { status: 404, body: {} })
  for (const path of ['/page', '/page/1', `/page?q=${evil}`, `/page/${encodeURIComponent(evil)}`])
    await browser.get(path, { headers })
  t.equal(
    platform.received(`GET ${other}`).length,
    1,
    'the text must be used as a name in the path, and not as an address',
  )
  const form = readForm(await browser.get('/note'), '/note')
  t.equal((await browser.post('/note', { ...form, note: evil }, { headers })).statusCode, 303)
  await browser.post('/logout')
  t.equal(
    platform.received('POST /api/revokeToken').length,
    1,
    'the client must revoke the token at the portal that the settings name',
  )
  t.equal(listener.connections, 0)
})
