// Cookies that differ from the cookies that the client has set: changed, shortened, swapped, doubled, too old, or from
// another version.
import t, { type Test } from 'tap'
import { exchangeRaw, rawGet } from '../../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../../support/build-test-client.ts'
import { setCookieLines } from '../../support/read-response.ts'
import { accessTokenOf } from '../../support/scripted-platform.ts'

async function buildSignedIn(t: Test) {
  const test = await buildTestClient(t, { scripts: { 'GET /things': { body: ['first thing'] } } })
  await signIn(test.browser)
  const session = test.browser.cookie('__Host-session')!
  const [refreshName] = test.browser.names().filter(name => name.startsWith('__Host-refresh-'))
  return { ...test, session, refreshName: refreshName!, refresh: test.browser.cookie(refreshName!)! }
}

type Signed = Awaited<ReturnType<typeof buildSignedIn>>

/** Opens the page with exactly these cookies. */
const pageWith = ({ browser }: Signed, cookie: string) =>
  browser.copy().get('/page', { site: 'same-origin', headers: { cookie } })

/** Checks that the client redirects a visitor with these cookies to the login. */
async function isSignedOut(t: Test, test: Signed, cookie: string) {
  const response = await pageWith(test, cookie)
  t.equal(response.statusCode, 302)
  t.match(response.headers.location, /^\/login\?returnTo=%2Fpage$/)
  return response
}

function changeByte(value: string, index: number, change: (byte: number) => number): string {
  const bytes = Buffer.from(value, 'base64url')
  bytes[index] = change(bytes[index]!)
  return bytes.toString('base64url')
}

t.test('CK-05: no token can be read from a cookie', async t => {
  const { session, refresh } = await buildSignedIn(t)
  for (const value of [session, refresh]) {
    t.notMatch(value, accessTokenOf('visitor-1').slice(0, 8))
    const bytes = Buffer.from(value, 'base64url').toString('latin1')
    for (const readable of ['eyJhbGci', 'refresh0', 'visitor-1', '"sub"']) t.notMatch(bytes, readable)
  }
})

t.test(
  'CK-05: if one byte of a session cookie is changed, there is no session, and the client deletes the cookie',
  async t => {
    const test = await buildSignedIn(t)
    const bytes = Buffer.from(test.session, 'base64url')
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes)
      changed[index]! ^= 1
      const response = await pageWith(test, `__Host-session=${changed.toString('base64url')}`)
      if (response.statusCode !== 302) t.fail(`byte ${index}: ${response.statusCode}`)
      if (!setCookieLines(response).some(line => /^__Host-session=; Max-Age=0;/.test(line)))
        t.fail(`byte ${index}: kept`)
    }
    t.equal(test.platform.received('GET /things').length, 0)
    t.equal(
      (await pageWith(test, `__Host-session=${test.session}`)).statusCode,
      200,
      'the unchanged cookie must be a session',
    )
  },
)

t.test('CK-05: the client does not renew a session with a refresh cookie in which one byte is changed', async t => {
  const test = await buildSignedIn(t)
  const bytes = Buffer.from(test.refresh, 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index]! ^= 1
    const response = await pageWith(test, `${test.refreshName}=${changed.toString('base64url')}`)
    if (response.statusCode !== 302) t.fail(`byte ${index}: ${response.statusCode}`)
  }
  t.equal(test.platform.received('POST /api/exchangeToken').length, 1, 'only the login may ask for tokens')
})

t.test('CK-06: a sealed value is valid only in its own cookie', async t => {
  const test = await buildSignedIn(t)
  const { session, refresh, refreshName, browser, platform } = test
  const started = await beginLogin(browser)
  const loginName = `__Host-login-${started.get('state')}`
  const login = browser.cookie(loginName)!
  const swaps = {
    '__Host-session': [login, refresh],
    [refreshName]: [login, session],
    '__Host-refresh-AAAAAAAA': [refresh, session],
  }
  for (const [name, values] of Object.entries(swaps))
    for (const value of values) await isSignedOut(t, test, `${name}=${value}`)
  for (const value of [session, refresh]) {
    const response = await browser.get(callbackUrl(started), {
      site: 'cross-site',
      headers: { cookie: `${loginName}=${value}` },
    })
    t.equal(response.statusCode, 400)
  }
  t.equal(platform.received('POST /api/exchangeToken').length, 1, 'only the login may ask for tokens')
  t.equal(platform.received('GET /things').length, 0)
})

t.test('CK-06: a cookie is not accepted as the token of a form', async t => {
  const { browser, session, refresh, platform } = await buildSignedIn(t)
  for (const formToken of [session, refresh]) {
    const response = await browser.post('/note', { formToken, note: 'typed' })
    t.equal(response.statusCode, 409)
  }
  t.equal(platform.received('POST /things').length, 0)
})

t.test('CK-07: the client refuses a copy of a session cookie after its access token has expired', async t => {
  const test = await buildSignedIn(t)
  const cookie = `__Host-session=${test.session}`
  test.clock.advance(3599)
  t.equal((await pageWith(test, cookie)).statusCode, 200)
  test.clock.advance(1)
  await isSignedOut(t, test, cookie)
})

t.test('CK-07: a copied refresh cookie expires after thirty days', async t => {
  const test = await buildSignedIn(t)
  test.clock.advance(30 * 24 * 3600 + 1)
  await isSignedOut(t, test, `${test.refreshName}=${test.refresh}`)
  t.equal(test.platform.received('POST /api/exchangeToken').length, 1, 'only the login may ask for tokens')
})

const odd: Record<string, string> = {
  'a percent sign that encodes nothing': '__Host-session=%E0%A4%A',
  'four kilobytes of semicolons': ';'.repeat(4096),
  'no equals sign': '__Host-session',
  'only an equals sign': '=',
  'a name without a value': '__Host-session=',
  'a value without a name': '=__Host-session',
  'UTF-8': '__Host-session=caf\u00c3\u00a9; \u00e2\u009c\u0093=1',
  'cookies with the names of built-in object properties': '__proto__=1; constructor=2; toString=3; hasOwnProperty=4',
  '__proto__ in the name of a cookie': '__Host-login-__proto__=1; __Host-refresh-__proto__=1',
  'quotation marks': '__Host-session="x"; __Host-handover="{}"',
  'a hundred sessions': Array.from({ length: 100 }, (_, index) => `__Host-session-${index}=x`).join('; '),
  'a hundred logins': Array.from({ length: 100 }, (_, index) => `__Host-login-${index}=x`).join('; '),
  'a hundred refresh tokens': Array.from({ length: 100 }, (_, index) => `__Host-refresh-${index}=x`).join('; '),
  'an invalid value in every cookie':
    '__Host-session=x; __Host-session-2=y; __Host-refresh-z=z; __Host-handover=x; __Host-signed-out=x; __Host-arrived=x',
}

const { client } = await buildTestClient(t)

for (const [what, cookie] of Object.entries(odd)) {
  t.test(`CK-10: ${what} in the Cookie header does not cause a server error`, async t => {
    for (const path of ['/', '/page', '/login', '/cancelled?state=x', '/exchangeToken?state=x&code=y&subject=z']) {
      const answer = await exchangeRaw(client, rawGet(path, { cookie }))
      t.match(answer, /^HTTP\/1\.1 [234]/, path)
    }
    const post = `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\nconnection: close\r\nsec-fetch-site: same-origin\r\ncookie: ${cookie}\r\n\r\n`
    t.match(await exchangeRaw(client, Buffer.from(post, 'latin1')), /^HTTP\/1\.1 303 /)
  })
}

for (const [what, order] of [
  ['the first one is invalid', (good: string) => `__Host-session=bad; __Host-session=${good}`],
  ['the first one is valid', (good: string) => `__Host-session=${good}; __Host-session=bad`],
] as const) {
  t.test(
    `CK-10: if a request has two session cookies (${what}), the client shows the page or redirects to the login, and never redirects in a loop`,
    async t => {
      const test = await buildSignedIn(t)
      const response = await pageWith(test, order(test.session))
      t.ok([200, 302].includes(response.statusCode), `${response.statusCode}`)
      if (response.statusCode === 200) return
      t.match(response.headers.location, /^\/login/)
      // A browser in which the bad cookie stays forever.
      const { browser } = test
      const openWithBad = async () => {
        const cookie = `__Host-session=bad; ${browser.cookieHeader()}`
        return (await browser.get('/page', { site: 'same-origin', headers: { cookie } })).statusCode
      }
      t.equal(await openWithBad(), 200, 'renewed')
      await signIn(browser)
      for (const name of browser.names()) if (name.startsWith('__Host-refresh-')) browser.cookies.delete(name)
      t.equal(await openWithBad(), 401, 'if the client cannot renew the session, the visitor must get an explanation')
    },
  )
}

for (const [what, spoil] of Object.entries({
  shortened: (value: string) => value.slice(0, 100),
  empty: () => '',
  'too large': (value: string) => value.repeat(20),
  'from the next version': (value: string) => changeByte(value, 0, byte => byte + 1),
  'from the previous version': (value: string) => changeByte(value, 0, byte => byte - 1),
  'sealed with a removed key': (value: string) => changeByte(value, 1, byte => byte ^ 0xff),
  'changed in the middle': (value: string) => changeByte(value, 100, byte => byte ^ 1),
  'a copy of the refresh cookie': (_value: string, refresh: string) => refresh,
})) {
  t.test(
    `F-25: a session cookie that is ${what} ends the session, without a loop and without other effects`,
    async t => {
      const test = await buildSignedIn(t)
      const { browser } = test
      const started = await beginLogin(browser)
      browser.cookies.delete(test.refreshName)
      browser.cookies.set('__Host-session', {
        ...browser.cookies.get('__Host-session')!,
        value: spoil(test.session, test.refresh),
      })
      const first = await browser.get('/page', { site: 'same-origin' })
      t.equal(first.statusCode, 401, 'just after a login the visitor must get an explanation and no further redirect')
      t.notOk(browser.names().includes('__Host-session'))
      t.ok(browser.cookie(`__Host-login-${started.get('state')}`), 'F-29: the client must not delete other cookies')
      const second = await browser.get('/page', { site: 'same-origin' })
      t.same(setCookieLines(second), [])
      t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
    },
  )
}
