// Whatever cookies a browser sends, the client sends a page and does not crash.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { exchangeRaw, rawGet } from '../../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, publicUrl, signIn } from '../../support/build-test-client.ts'
import { forgedLike, plantCookies } from '../../support/forged-cookies.ts'
import { headerBytes, setCookieLines } from '../../support/read-response.ts'

const paths = ['/', '/page', '/note', '/login', '/cancelled', '/exchangeToken?code=a&state=b', '/nowhere']

/**
 * Names of cookies. Another program on this host can set cookies with these names, but this client never does. The
 * client must not send a Set-Cookie header with such a name.
 */
const foreignNames = [
  '__Host-refresh-é',
  '__Host-refresh-',
  '__Host-refresh-12345678 9',
  '__Host-refresh-123456789',
  '__Host-refresh-a,b(c)"/@',
  '__Host-login-é',
  '__Host-login-',
  '__Host-login-a b',
  '__Host-login-ééééééééééééééééééééééééééé',
]

const scripts = { 'GET /things': { body: ['first thing'] } }
const { browser: stranger, client } = await buildTestClient(t, { scripts })

for (const name of foreignNames) {
  t.test(`CK-10: another program’s cookie ${name} changes nothing, and signing out succeeds`, async t => {
    const browser = stranger.copy()
    await signIn(browser)
    for (const path of paths) {
      const cookie = `${browser.cookieHeader()}; ${name}=1`
      const request = Buffer.from(rawGet(path, { cookie, 'sec-fetch-site': 'same-origin' }), 'latin1')
      const answer = await exchangeRaw(client, request)
      t.match(answer, /^HTTP\/1\.1 [234]/, path)
      t.notMatch(answer, 'application/json', path)
      t.notMatch(answer, /set-cookie: __Host-(refresh|login)[^;]*Max-Age=0/i, path)
    }
    const headers = { cookie: `${browser.cookieHeader()}; ${name}=1`, origin: publicUrl }
    const response = await client.inject({ method: 'POST', url: '/logout', headers })
    t.equal(response.statusCode, 303)
    t.notOk(setCookieLines(response).some(line => line.startsWith(`${name}=`)))
  })
}

t.test(
  'whatever cookies a browser sends, it gets a page, even if the client’s own cookies are renamed, changed or repeated',
  async t => {
    const { browser, client } = await buildTestClient(t, { environment: { LOG_LEVEL: 'silent' }, scripts })
    await signIn(browser)
    const started = await beginLogin(browser)
    const names = [
      ...browser.names(),
      ...foreignNames,
      '__Host-session-2',
      '__Host-handover',
      '__Host-notice',
      '__Host-signed-out',
      '__proto__',
    ]
    const values = browser.names().map(name => browser.cookie(name)!)
    const good = fc.constantFrom(...values)
    const changed = fc.tuple(good, fc.nat(), fc.base64String()).map(([value, at, put]) => {
      const place = at % value.length
      return value.slice(0, place) + put + value.slice(place + 1)
    })
    // Any byte that is allowed in a header.
    const byte = fc
      .integer({ min: 0x20, max: 0xff })
      .filter(code => code !== 0x7f)
      .map(code => String.fromCharCode(code))
    const odd = fc.string({ unit: byte, maxLength: 60 })
    const anyCookie = fc.tuple(fc.oneof(fc.constantFrom(...names), odd), fc.oneof(good, changed, odd))
    const anyHeader = fc.oneof(
      fc
        .array(anyCookie, { maxLength: 12 })
        .map(cookies => cookies.map(([name, value]) => `${name}=${value}`).join('; ')),
      odd,
    )
    await fc.assert(
      fc.asyncProperty(anyHeader, fc.constantFrom(...paths, callbackUrl(started)), async (cookie, path) => {
        const request = Buffer.from(rawGet(path, { cookie, 'sec-fetch-site': 'same-origin' }), 'latin1')
        const answer = await exchangeRaw(client, request)
        if (!/^HTTP\/1\.1 [234]/.test(answer)) throw new Error(`${path}: ${answer.slice(0, 40)}`)
      }),
      { numRuns: 200 },
    )
    const untouched = await browser.get('/page', { site: 'same-origin' })
    t.equal(untouched.statusCode, 200)
    t.same(setCookieLines(untouched), [])
  },
)

/** Signs a visitor in, and fills the browser with forged refresh cookies. */
async function signInAmongForged(t: Test, value?: string) {
  const test = await buildTestClient(t, { scripts })
  await signIn(test.browser)
  const own = test.browser.names().find(name => name.startsWith('__Host-refresh-'))!
  const count = plantCookies(test.browser, '__Host-refresh-', 8, value ?? forgedLike(test.browser, own))
  t.ok(count > 150, `${count} cookies`)
  return { ...test, own, count }
}

for (const [what, value] of [
  ['as long as real ones', undefined],
  ['of one character', 'x'],
] as const)
  t.test(`CK-10: if a browser is full of forged refresh cookies ${what}, the answer stays short`, async t => {
    const { browser } = await signInAmongForged(t, value)
    const paths = ['/', '/page', '/note', '/login']
    const answers = [
      ...(await Promise.all(paths.map(path => browser.copy().get(path, { site: 'same-origin' })))),
      await browser.copy().get(callbackUrl(await beginLogin(browser)), { site: 'same-site' }),
      await browser.copy().post('/logout'),
    ]
    // Only the session cookies are allowed to make an answer longer.
    for (const answer of answers) t.ok(headerBytes(answer) < 4_096, `${headerBytes(answer)} bytes`)
    browser.cookies.set('__Host-session', { ...browser.cookies.get('__Host-session')!, value: 'unreadable' })
    t.ok(headerBytes(await browser.get('/page', { site: 'same-origin' })) < 4_096)
  })

t.test('CK-10: forged refresh cookies are deleted a few at a time, and the visitor stays signed in', async t => {
  const { browser, own, count } = await signInAmongForged(t)
  const left = () => browser.names().filter(name => name.startsWith('__Host-refresh-')).length
  for (let page = 0; page < Math.ceil(count / 10); page++)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  t.equal(left(), 1)
  t.ok(browser.cookie(own))
})

t.test('CK-10: signing out deletes the visitor’s own refresh cookie before any forged refresh cookie', async t => {
  const { browser, own } = await signInAmongForged(t)
  const value = browser.cookies.get(own)!
  // Moves the cookie to the end, as if the browser had received it last.
  browser.cookies.delete(own)
  browser.cookies.set(own, value)
  await browser.post('/logout')
  t.equal(browser.cookie(own), undefined)
  t.equal(browser.cookie('__Host-session'), undefined)
})
