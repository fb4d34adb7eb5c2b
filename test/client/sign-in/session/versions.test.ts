// Sealed payloads with another version, and the product's own data in the session. The client must never misread these
// payloads.

import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Config } from '../../../../src/client/config.ts'
import { createSealer } from '../../../../src/client/web/seal.ts'
import { webTexts } from '../../../../src/client/web/texts.ts'
import type { TestBrowser } from '../../../support/test-browser.ts'
import { buildTestClient, signIn, type TestClock } from '../../support/build-test-client.ts'
import { setCookieLine, setCookieLines } from '../../support/read-response.ts'
import { accessTokenOf, giveTokens } from '../../support/scripted-platform.ts'
import { smallProduct } from '../../support/small-product.ts'
import type { TestProduct } from '../../support/test-product.ts'

declare module '../../../../src/client/sign-in/visitor.ts' {
  interface SessionData {
    role?: string
  }
}

const tokenRoute = 'POST /api/exchangeToken'
const scripts = { 'GET /things': { body: ['first thing'] } }
const day = 24 * 60 * 60 * 1000

/** A sealer with the keys of the client. */
function sealerOf({ cookieKeys, clientId, loginUrl, redirectUri }: Config, clock: TestClock) {
  return createSealer(cookieKeys, `${clientId}\n${loginUrl}\n${redirectUri}`, clock.read)
}

const refreshName = `__Host-refresh-${hash('sha256', 'a-refresh-token', 'base64url').slice(0, 8)}`

/** Payloads as this client seals them. The tests change their version. */
function payloads(clock: TestClock) {
  const now = clock.read().getTime()
  return {
    session: {
      v: 1 as unknown,
      token: accessTokenOf('visitor-1'),
      owner: 'visitor-1',
      name: 'Jane Doe',
      renewAt: now + 3_540_000,
      refreshCookie: refreshName.slice('__Host-refresh-'.length),
      refreshEndsAt: now + 30 * day,
    },
    refresh: { v: 1 as unknown, token: 'a-refresh-token', owner: 'visitor-1', name: 'Jane Doe', at: now },
  }
}

async function buildWithSealer(t: Test) {
  const test = await buildTestClient(t, { scripts })
  const sealer = sealerOf(test.config, test.clock)
  const now = test.clock.read().getTime()
  const set = (name: string, payload: unknown, lifetimeMs: number) => {
    const { value } = sealer.sealCookie(name, payload, new Date(now + lifetimeMs), 'strict')
    test.browser.cookies.set(name, { value, sameSite: 'Strict', expiresAt: now + lifetimeMs })
  }
  return {
    ...test,
    setSession: (payload: unknown) => set('__Host-session', payload, 3_600_000),
    setRefresh: (payload: unknown) => set(refreshName, payload, 30 * day),
  }
}

const openPage = (browser: TestBrowser) => browser.get('/page', { site: 'same-origin' })

t.test('F-25: the client accepts the payloads of these tests if they have the current version', async t => {
  const { browser, clock, platform, setSession, setRefresh } = await buildWithSealer(t)
  const { session, refresh } = payloads(clock)
  setSession(session)
  setRefresh(refresh)
  const page = await openPage(browser)
  t.equal(page.statusCode, 200)
  t.match(page.body, webTexts.page.signedInAs('<b>Jane Doe</b>'))
  t.same(setCookieLines(page), [])
  t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${session.token}`)

  browser.cookies.delete('__Host-session')
  t.equal((await openPage(browser)).statusCode, 200, 'the session must be renewed with only the refresh token')
  t.equal(platform.received(tokenRoute)[0]?.form.get('refresh_token'), 'a-refresh-token')
})

/**
 * The list also contains payloads of old clients, which had no version number. In these clients, a payload was an array
 * of the fields.
 */
const otherVersions = {
  'the next version': (payload: object) => ({ ...payload, v: 2 }),
  'the previous version': (payload: object) => ({ ...payload, v: 0 }),
  'no version': (payload: object) => ({ ...payload, v: undefined }),
  'the version as a string': (payload: object) => ({ ...payload, v: '1' }),
  'the fields in an array': (payload: object) => Object.values(payload),
  'a string as payload': () => 'visitor-1',
  'null as payload': () => null,
}

for (const [what, change] of Object.entries(otherVersions)) {
  t.test(
    `F-25: if the session and refresh cookies have ${what}, the client redirects the visitor to the login and deletes the cookies`,
    async t => {
      const { browser, clock, platform, setSession, setRefresh } = await buildWithSealer(t)
      const { session, refresh } = payloads(clock)
      setSession(change(session))
      setRefresh(change(refresh))
      for (const path of ['/', '/note']) {
        const page = await browser.copy().get(path, { site: 'same-origin' })
        t.ok(page.statusCode < 400, path)
        t.notMatch(page.body, /Signed in as|Jane Doe|visitor-1/, path)
      }
      const page = await openPage(browser)
      t.equal(page.statusCode, 302)
      t.equal(page.headers.location, '/login?returnTo=%2Fpage')
      t.match(setCookieLine(page, '__Host-session=')!, /^__Host-session=; Max-Age=0/)
      t.match(setCookieLine(page, refreshName)!, /=; Max-Age=0/)
      t.equal(platform.received(tokenRoute).length, 0, 'no token from the cookies may be sent to the portal')
      t.equal(platform.received('GET /things').length, 0, 'no token from the cookies may be sent to the API')

      t.equal((await signIn(browser, '/page')).statusCode, 200)
      t.equal((await openPage(browser)).statusCode, 200)
    },
  )

  t.test(`F-25: a session with ${what} is renewed if its refresh cookie can be read`, async t => {
    const { browser, clock, platform, setSession, setRefresh } = await buildWithSealer(t)
    const { session, refresh } = payloads(clock)
    setSession(change(session))
    setRefresh(refresh)
    t.equal((await openPage(browser)).statusCode, 200)
    t.equal(platform.received(tokenRoute).length, 1)
  })

  t.test(
    `F-25: a refresh cookie with ${what} does not renew the session, which lasts until the access token expires`,
    async t => {
      const { browser, clock, platform, setSession, setRefresh } = await buildWithSealer(t)
      const { session, refresh } = payloads(clock)
      setSession(session)
      setRefresh(change(refresh))
      clock.advance(3_550)
      t.equal((await openPage(browser)).statusCode, 200)
      clock.advance(51)
      const page = await openPage(browser)
      t.equal(page.statusCode, 302)
      t.match(page.headers.location, /^\/login/)
      t.equal(platform.received(tokenRoute).length, 0)
      t.equal((await browser.post('/logout')).statusCode, 303)
    },
  )

  t.test(`F-25: a sign-out succeeds and deletes the cookies even if they have ${what}`, async t => {
    const { browser, clock, setSession, setRefresh } = await buildWithSealer(t)
    const { session, refresh } = payloads(clock)
    setSession(change(session))
    setRefresh(change(refresh))
    t.equal((await browser.post('/logout')).statusCode, 303)
    t.same(
      browser.names().filter(name => /session|refresh/.test(name)),
      [],
    )
  })
}

/** A product that keeps a role in the session and shows it. `loads` gets an entry each time the role is loaded. */
function productWithRole(role: () => string | Promise<string>) {
  const loads: (string | undefined)[] = []
  const product: TestProduct = {
    ...smallProduct,
    async loadSessionData(visitor) {
      loads.push(visitor.userId)
      return { role: await role() }
    },
    async pages(signedIn, options) {
      await signedIn.register(smallProduct.pages, options)
      signedIn.get('/role', async request => ({ role: request.visitor.data.role ?? null }))
    },
  }
  return { product, loads }
}

const roleOf = async (browser: TestBrowser) => (await browser.get('/role', { site: 'same-origin' })).json().role

t.test('the product’s session data is loaded once at sign-in, and survives renewals', async t => {
  const { product, loads } = productWithRole(() => 'editor')
  const { browser, clock, platform } = await buildTestClient(t, { product, scripts })
  await signIn(browser)
  t.equal(await roleOf(browser), 'editor')
  clock.advance(3_600 - 30)
  t.equal(await roleOf(browser), 'editor', 'the data must stay after a renewal')
  t.equal(platform.received(tokenRoute).length, 2)
  t.same(loads, ['visitor-1'])
  clock.advance(3_601)
  t.equal(await roleOf(browser), 'editor', 'the data must stay after a renewal with only the refresh token')
  t.same(
    loads,
    ['visitor-1', 'visitor-1'],
    'the refresh cookie has no room for the data, so the data must be loaded again',
  )
})

t.test('the session data of one visitor is never given to another visitor', async t => {
  const roles = ['editor', 'reader']
  const { product } = productWithRole(() => roles.shift()!)
  const { browser, platform } = await buildTestClient(t, { product, scripts })
  await signIn(browser)
  t.equal(await roleOf(browser), 'editor')
  platform.answer(tokenRoute, giveTokens({ access_token: accessTokenOf('visitor-2') }))
  await signIn(browser)
  t.equal(await roleOf(browser), 'reader')
})

t.test('session data that cannot be loaded at sign-in is loaded by the next request', async t => {
  let isDown = true
  const { product } = productWithRole(() => {
    if (isDown) throw new Error('the database does not answer')
    return 'editor'
  })
  const { browser, log } = await buildTestClient(t, { product, scripts })
  t.equal((await signIn(browser)).statusCode, 200)
  t.equal(await roleOf(browser), null)
  t.equal(log.filter(line => line.includes('"event":"hook_failed"')).length, 2)
  isDown = false
  t.equal(await roleOf(browser), 'editor')
  isDown = true
  t.equal(await roleOf(browser), 'editor', 'the session must contain the data now')
})

t.test('CK-03: session data of more than 500 bytes is not kept, and the log says so', async t => {
  const { product } = productWithRole(() => 'r'.repeat(500))
  const { browser, log } = await buildTestClient(t, { product, scripts })
  t.equal((await signIn(browser)).statusCode, 200)
  t.equal(await roleOf(browser), null)
  t.match(log.join(''), 'loadSessionData returned 511 bytes of JSON. The session cookie has room for 500.')
})

t.test(
  'CK-03: if a long token leaves too little room for the session data in the cookie, each request loads this data',
  async t => {
    const role = 'r'.repeat(480)
    const { product, loads } = productWithRole(() => role)
    const { browser, platform, log } = await buildTestClient(t, { product, scripts })
    platform.answer(tokenRoute, giveTokens({ access_token: 'x'.repeat(3_300) }))
    t.equal((await signIn(browser)).statusCode, 200)
    t.equal(await roleOf(browser), role)
    t.equal(await roleOf(browser), role)
    t.equal(loads.length, 3)
    t.match(log.join(''), '"event":"session_data_too_long"')
    t.notMatch(log.join(''), 'rrrrr')
    t.equal((await openPage(browser)).statusCode, 200)
  },
)
