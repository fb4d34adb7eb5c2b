// Several processes with the same keys, or with keys that are being rotated.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../../support/build-test-client.ts'
import { readForm } from '../../support/read-form.ts'
import { refreshTarget, setCookieLine, setCookieLines } from '../../support/read-response.ts'
import { send } from '../../support/scripted-platform.ts'

type TestClient = Awaited<ReturnType<typeof buildTestClient>>

const newKey = () => randomBytes(32).toString('base64url')

const scripts = {
  'GET /.well-known/oauth-authorization-server': ({ headers }, response) =>
    send(response, { body: { issuer: `http://${headers.host}`, code_challenge_methods_supported: ['S256'] } }),
  'GET /things': { body: ['first thing'] },
  'POST /things': { status: 201, body: {} },
} satisfies NonNullable<Parameters<typeof buildTestClient>[1]>['scripts']

const buildWithKeys = (t: Test, ...keys: string[]) =>
  buildTestClient(t, { scripts, environment: { COOKIE_KEYS: keys.join(',') } })

/**
 * Starts another client with the platform and the clock of `of`, and connects `of.browser` to this new client. Returns
 * the log of the new client.
 */
async function switchTo(t: Test, of: TestClient, ...keys: string[]) {
  const { platform, clock } = of
  const { client, log } = await buildTestClient(t, { platform, clock, environment: { COOKIE_KEYS: keys.join(',') } })
  of.browser.server = client
  return log
}

t.test(
  'CK-12: a visitor can sign in, send a form and sign out if each request goes to a different replica',
  async t => {
    const key = newKey()
    const test = await buildWithKeys(t, key)
    const { browser } = test
    const started = await beginLogin(browser, '/page?q=1')
    await switchTo(t, test, key)
    const arrival = await browser.get(callbackUrl(started), { site: 'cross-site' })
    t.equal(refreshTarget(arrival), '/page?q=1')
    await switchTo(t, test, key)
    t.equal((await browser.get('/page?q=1', { site: 'same-origin' })).statusCode, 200)
    await switchTo(t, test, key)
    const form = readForm(await browser.get('/note', { site: 'same-origin' }), '/note')
    await switchTo(t, test, key)
    const saved = await browser.post('/note', { ...form, note: 'typed' })
    t.equal(saved.statusCode, 303)
    await switchTo(t, test, key)
    test.clock.advance(3601)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200, 'renewed')
    await switchTo(t, test, key)
    t.equal((await browser.post('/logout')).statusCode, 303)
  },
)

t.test('CK-12: a login continues after a restart of the client', async t => {
  const key = newKey()
  const test = await buildWithKeys(t, key)
  const started = await beginLogin(test.browser)
  await test.client.close()
  await switchTo(t, test, key)
  t.equal((await test.browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
})

t.test(
  'CK-11: a session that is sealed with the older key continues, and the next renewal seals the session with the newer key',
  async t => {
    const [older, newer] = [newKey(), newKey()]
    const test = await buildWithKeys(t, older)
    const { browser } = test
    await signIn(browser)
    await switchTo(t, test, newer, older)
    const page = await browser.get('/page', { site: 'same-origin' })
    t.equal(page.statusCode, 200)
    t.same(setCookieLines(page), [], 'only a renewal may set a session cookie')
    test.clock.advance(3600 - 30)
    t.ok(setCookieLine(await browser.get('/page', { site: 'same-origin' }), '__Host-session='))
    await switchTo(t, test, newer)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    test.clock.advance(3601)
    t.equal(
      (await browser.get('/page', { site: 'same-origin' })).statusCode,
      200,
      'the refresh token must have the newer key',
    )
  },
)

t.test('CK-11: a login and a form that are sealed with the older key still work', async t => {
  const [older, newer] = [newKey(), newKey()]
  const test = await buildWithKeys(t, older)
  const { browser } = test
  await signIn(browser)
  const started = await beginLogin(browser)
  const form = readForm(await browser.get('/note'), '/note')
  const filled = { ...form, note: 'typed' }
  await switchTo(t, test, newer, older)
  t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  t.equal((await browser.post('/note', filled)).statusCode, 303)
  await switchTo(t, test, newer)
  t.equal(
    (await browser.post('/note', filled)).statusCode,
    409,
    'a form that was sealed with a removed key must be refused as too old',
  )
})

{
  const [older, newer] = [newKey(), newKey()]
  const steps: { what: string; before: string[]; after: string[] }[] = [
    { what: 'the newer key is added at the end of the list', before: [older], after: [older, newer] },
    { what: 'the newer key is moved to the front of the list', before: [older, newer], after: [newer, older] },
  ]
  for (const { what, before, after } of steps)
    t.test(
      `CK-11: while ${what}, replicas with the old list and replicas with the new list read each other’s cookies`,
      async t => {
        const test = await buildWithKeys(t, ...before)
        const { browser, clock } = test
        const restarted = (await buildTestClient(t, { ...test, environment: { COOKIE_KEYS: after.join(',') } })).client
        for (const [first, second] of [
          [test.client, restarted],
          [restarted, test.client],
        ] as const) {
          browser.server = first
          const started = await beginLogin(browser)
          browser.server = second
          t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
          browser.server = first
          t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
          clock.advance(3601)
          t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200, 'renewed')
          browser.server = second
          t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
          const form = readForm(await browser.get('/note', { site: 'same-origin' }), '/note')
          browser.server = first
          t.equal((await browser.post('/note', { ...form, note: 'typed' })).statusCode, 303)
        }
      },
    )
}

t.test(
  'CK-11: when the older key is removed from the settings, the sessions and logins that were sealed with this key become invalid, without an error',
  async t => {
    const [older, newer] = [newKey(), newKey()]
    const test = await buildWithKeys(t, older)
    const { browser } = test
    await signIn(browser)
    const started = await beginLogin(browser)
    test.clock.advance(31)
    await switchTo(t, test, newer)
    const page = await browser.get('/page', { site: 'same-origin' })
    t.equal(page.statusCode, 302)
    t.match(page.headers.location, /^\/login/)
    t.notOk(browser.names().some(name => /^__Host-(session|refresh)/.test(name)))
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 400)
    t.equal((await signIn(browser)).statusCode, 200)
  },
)

t.test(
  'F-29: during a rolling update, cookies of the other version do not sign anybody in, and do not cause an error',
  async t => {
    const key = newKey()
    const test = await buildWithKeys(t, key)
    const { browser } = test
    await signIn(browser)
    for (const [name, kept] of browser.cookies) {
      const bytes = Buffer.from(kept.value, 'base64url')
      bytes[0]! += 1
      if (/^__Host-(session|refresh)/.test(name))
        browser.cookies.set(name, { ...kept, value: bytes.toString('base64url') })
    }
    const started = await beginLogin(browser)
    const page = await browser.get('/page', { site: 'same-origin' })
    t.equal(page.statusCode, 401)
    t.equal(
      (await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode,
      200,
      'the other login must continue',
    )
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  },
)

t.test(
  'F-36: if a key is changed on only one replica, the key ids in /health/ready differ, and no request causes an error',
  async t => {
    const [key, other] = [newKey(), newKey()]
    const test = await buildWithKeys(t, key)
    const { browser } = test
    const ids = async () => (await browser.get('/health/ready')).json().cookieKeyIds
    const before = await ids()
    await signIn(browser)
    const first = browser.server
    const log = await switchTo(t, test, other)
    t.notSame(await ids(), before)
    t.notMatch(JSON.stringify(await ids()), other)
    test.clock.advance(31)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 302)
    t.match(log.join(''), '"event":"session_unreadable"')
    browser.server = first
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 302)
    t.same(await ids(), before)
  },
)

t.test('SE-07: replicas with the same keys show the same key ids in the same order', async t => {
  const [newer, older] = [newKey(), newKey()]
  const one = await buildWithKeys(t, newer, older)
  const ids = (await one.browser.get('/health/ready')).json().cookieKeyIds
  await switchTo(t, one, newer, older)
  t.same((await one.browser.get('/health/ready')).json().cookieKeyIds, ids)
  t.equal(ids.length, 2)
})
