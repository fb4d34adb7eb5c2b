// The sizes of cookies. Browsers drop a cookie of more than 4,096 bytes, and servers refuse 16 KiB of headers.

import { randomBytes, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { signInTexts } from '../../../../src/client/sign-in/texts.ts'
import { webTexts } from '../../../../src/client/web/texts.ts'
import { exchangeRaw, rawGet } from '../../../support/raw-socket.ts'
import type { TestBrowser } from '../../../support/test-browser.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../../support/build-test-client.ts'
import { readForm } from '../../support/read-form.ts'
import { setCookieLine, setCookieLines } from '../../support/read-response.ts'
import { accessTokenOf, giveTokens, type Script, send } from '../../support/scripted-platform.ts'

/** A random string of characters that are allowed in a bearer token. */
const ofLength = (length: number) => randomBytes(length).toString('base64url').slice(0, length)

async function buildWithToken(t: Test, length: number, token = `eyJ.${ofLength(length - 4)}`) {
  const test = await buildTestClient(t, {
    scripts: {
      'POST /api/exchangeToken': giveTokens({ access_token: token }),
      'GET /things': { body: ['first thing'] },
    },
  })
  return { ...test, token }
}

/**
 * The length of the longest access token that fits, for a visitor whose id has 36 characters. Older clients accepted
 * up to 3,538 characters.
 */
const longestToken = 3540
const longestRefreshToken = 86

/** The headers of a navigation in Chromium. */
const headersOfChromium = {
  'cache-control': 'max-age=0',
  'sec-ch-ua': '"Chromium";v="156", "Not)A;Brand";v="24", "Google Chrome";v="156"',
  'sec-ch-ua-mobile': '?0',
  'sec-ch-ua-platform': '"Windows"',
  'upgrade-insecure-requests': '1',
  'user-agent':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'sec-fetch-site': 'same-origin',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-user': '?1',
  'sec-fetch-dest': 'document',
  referer: 'http://localhost:3000/page',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'accept-language': 'en-GB,en;q=0.9,fi;q=0.8',
}

for (const length of [100, 2800, 2900, 3000, 3100, 3300, 3500, 3538, longestToken]) {
  t.test(
    `CK-03: with an access token of ${length} characters, the visitor is signed in, and no cookie is longer than 4,096 bytes`,
    async t => {
      const { browser, platform, token } = await buildWithToken(t, length)
      const lines = setCookieLines(await signIn(browser))
      for (const line of lines) t.ok(line.split(';')[0]!.length - 1 <= 4096)
      t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
      t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${token}`)
    },
  )
}

t.test(
  'CK-03: with the longest tokens, the session cookies take at most 5,000 bytes together, and the refresh cookie takes at most 300',
  async t => {
    const { browser, platform, clock, token } = await buildWithToken(t, longestToken)
    const refreshToken = ofLength(longestRefreshToken)
    platform.answer(
      'POST /api/exchangeToken',
      giveTokens({ access_token: token, refresh_token: refreshToken, expires_in: 400 * 24 * 3600 }),
    )
    await signIn(browser)
    const bytesOf = (prefix: string) =>
      browser
        .cookieHeader()
        .split('; ')
        .filter(cookie => cookie.startsWith(prefix))
        .join('; ').length
    t.ok(bytesOf('__Host-session') > 4_990, 'this token must be as long as a token can be')
    t.ok(bytesOf('__Host-session') <= 5_000, `${bytesOf('__Host-session')} bytes`)
    t.ok(bytesOf('__Host-refresh-') > 290, 'this refresh token must be as long as a refresh token can be')
    t.ok(bytesOf('__Host-refresh-') <= 301, '300 bytes, and the equals sign between name and value')

    clock.advance(30 * 24 * 3600 - 30)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${token}`)

    browser.cookies.delete('__Host-session')
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200, 'renewed')
    t.equal(platform.received('POST /api/exchangeToken').at(-1)?.form.get('refresh_token'), refreshToken)
  },
)

t.test(
  'CK-03: if the access token is one character too long, the login fails; if the refresh token is one character too long, the client does not keep it',
  async t => {
    const { browser } = await buildWithToken(t, longestToken + 1)
    const page = await signIn(browser)
    t.equal(page.statusCode, 502)
    t.match(page.body, signInTexts.loginErrors.token_too_long)

    const { browser: other, platform, token: access_token } = await buildWithToken(t, 200)
    const refresh_token = ofLength(longestRefreshToken + 1)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token, refresh_token }))
    t.equal((await signIn(other)).statusCode, 200)
    t.ok(other.cookie('__Host-session'))
    t.notMatch(other.cookieHeader(), '__Host-refresh-')
  },
)

for (const length of [3800, 8 * 1024, 40 * 1024]) {
  t.test(`CK-03: a token of ${length} characters is refused with a page that says why`, async t => {
    const { browser } = await buildWithToken(t, length)
    const page = await signIn(browser)
    t.equal(page.statusCode, 502)
    t.match(page.body, signInTexts.loginErrors.token_too_long)
    t.notOk(setCookieLines(page).some(line => /^__Host-(session|refresh)/.test(line)))
  })
}

t.test(
  'CK-03: a session in two cookies can become a session in one cookie, and later need two cookies again',
  async t => {
    const { browser, platform, clock } = await buildWithToken(t, 3300)
    await signIn(browser)
    t.ok(browser.cookie('__Host-session-2'))
    for (const length of [200, 3300, 200]) {
      const access_token = ofLength(length)
      platform.answer('POST /api/exchangeToken', giveTokens({ access_token }))
      clock.advance(3601)
      t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
      t.equal(browser.cookie('__Host-session-2') !== undefined, length > 3000)
      t.equal(platform.received('GET /things').at(-1)?.headers.authorization, `Bearer ${access_token}`)
    }
  },
)

t.test(
  'CK-03: if a session fits into one cookie, the client does not read the second cookie of an earlier session',
  async t => {
    const { browser, platform } = await buildWithToken(t, 3300)
    await signIn(browser)
    const access_token = ofLength(200)
    platform.answer('POST /api/exchangeToken', giveTokens({ access_token }))
    await signIn(browser)
    t.ok(browser.cookie('__Host-session-2'), 'the cookie of the earlier session must still be there')
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    t.equal(platform.received('GET /things')[0]?.headers.authorization, `Bearer ${access_token}`)
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the session must not be renewed')
  },
)

t.test(
  'CK-03: if a session exactly fills one cookie, the client ignores a second cookie of an earlier session',
  async t => {
    const { browser, platform } = await buildWithToken(t, 3300)
    await signIn(browser)
    const lengthWith = async (length: number) => {
      platform.answer('POST /api/exchangeToken', giveTokens({ access_token: ofLength(length) }))
      t.equal(setCookieLine(await signIn(browser), '__Host-session-2='), undefined)
      return browser.cookie('__Host-session')!.length
    }
    // Three bytes of the payload become four characters of the cookie.
    const length = 2000 + 3000 - Math.floor(((await lengthWith(2000)) * 3) / 4)
    t.equal(await lengthWith(length), 4000)
    t.ok(browser.cookie('__Host-session-2'), 'the cookie of the earlier session must still be there')
    for (const name of browser.names()) if (name.startsWith('__Host-refresh-')) browser.cookies.delete(name)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  },
)

t.test(
  'CK-03: if one of two session cookies is missing, there is no session, and the other cookie is deleted',
  async t => {
    for (const lost of ['__Host-session', '__Host-session-2']) {
      const { browser } = await buildWithToken(t, 3300)
      await signIn(browser)
      for (const name of browser.names())
        if (name === lost || name.startsWith('__Host-refresh-')) browser.cookies.delete(name)
      const page = await browser.get('/page', { site: 'same-origin' })
      t.ok(page.statusCode < 500)
      t.notOk(browser.names().some(name => name.startsWith('__Host-session')))
    }
  },
)

for (const [when, seconds] of [
  ['shortly before the old token expires', 3600 - 30],
  ['after the old token has expired', 3601],
] as const) {
  t.test(
    `CK-03: if the renewed access token is too long (${when}), the session ends, and the page after the next login says why`,
    async t => {
      const { browser, platform, clock } = await buildWithToken(t, 200)
      await signIn(browser)
      platform.answer('POST /api/exchangeToken', giveTokens({ access_token: ofLength(8192) }))
      clock.advance(seconds)
      const page = await browser.get('/page', { site: 'same-origin' })
      t.equal(page.statusCode, 302)
      t.match(page.headers.location, /^\/login/)
      t.notOk(browser.names().some(name => /^__Host-(session|refresh)/.test(name)))
      t.match((await signIn(browser)).body, signInTexts.loginErrors.token_too_long)
    },
  )
}

/**
 * Signs in a visitor whose session cookies and refresh cookie are as long as possible. If `keepsDraft` is true, the
 * browser also has the longest possible draft. Then the visitor begins five logins with the longest cookies. Returns
 * all cookies of the client.
 */
async function fillWithCookies(t: Test, { keepsDraft }: { keepsDraft: boolean }) {
  // The token contains a user id, because otherwise the client keeps no draft.
  const owner = randomUUID()
  let fillerLength = 2_600
  let token = ''
  do token = accessTokenOf(owner, { filler: ofLength(fillerLength--) })
  while (token.length > longestToken)
  const { browser, client } = await buildTestClient(t, {
    scripts: {
      'GET /.well-known/oauth-authorization-server': metadataWithPkce,
      'POST /api/exchangeToken': giveTokens({ access_token: token, refresh_token: ofLength(longestRefreshToken) }),
      'GET /things': { body: ['first thing'] },
    },
  })
  await signIn(browser)
  if (keepsDraft) {
    const form = readForm(await browser.get('/note', { site: 'same-origin' }), '/note')
    for (const name of browser.names()) if (/session|refresh/.test(name)) browser.cookies.delete(name)
    const longest = await findLongestDraft(browser, form)
    t.match((await browser.post('/note', { ...form, note: 'd'.repeat(longest) })).body, webTexts.form.draftKept)
    t.ok(browser.cookie('__Host-handover')!.length > 3_450, 'this draft must be as long as a draft can be')
    await signIn(browser)
  }
  for (let tab = 0; tab < 5; tab++) await beginLogin(browser, `/${'"'.repeat(66)}`)
  const cookie = browser.cookieHeader()
  t.match(cookie, '__Host-session-2=')
  t.match(cookie, '__Host-refresh-')
  t.equal(cookie.match(/__Host-login-/g)?.length, 5)
  return { client, cookie }
}

/** Because of PKCE, the cookies of logins also contain a verifier. */
const metadataWithPkce: Script = ({ headers }, response) =>
  send(response, { body: { issuer: `http://${headers.host}`, code_challenge_methods_supported: ['S256'] } })

/** Returns the number of characters of the longest text that the client keeps in a cookie. */
async function findLongestDraft(browser: TestBrowser, form: Record<string, string>): Promise<number> {
  for (let length = 2_600; length > 0; length--) {
    const page = await browser.copy().post('/note', { ...form, note: 'd'.repeat(length) })
    if (page.body.includes(webTexts.form.draftKept)) return length
  }
  throw new Error('The client keeps no draft.')
}

t.test('CK-04: all cookies of the client and 4 KB of foreign cookies fit into one request', async t => {
  const { client, cookie } = await fillWithCookies(t, { keepsDraft: true })
  t.match(cookie, '__Host-handover=')
  t.ok(cookie.length > 10.8 * 1024, `the cookies of this test must be as long as possible: ${cookie.length} bytes`)
  t.ok(cookie.length < 11.4 * 1024, `docs/design/sessions.md promises fewer bytes than ${cookie.length}`)
  const request = rawGet('/page', { ...headersOfChromium, cookie: `${cookie}; other=${'x'.repeat(4096)}` })
  const answer = await exchangeRaw(client, request)
  t.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  t.match(answer, 'first thing')
})

t.test('CK-04: without a draft or credentials, the client’s own cookies stay below 8 KiB', async t => {
  const { cookie } = await fillWithCookies(t, { keepsDraft: false })
  t.ok(cookie.length < 8192, `${cookie.length} bytes`)
})

t.test('CK-04: repeated sign-ins do not leave additional cookies', async t => {
  const { browser, platform, clock } = await buildWithToken(t, 200)
  for (let index = 0; index < 20; index++) {
    platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token: `refresh-token-${index}` }))
    await signIn(browser)
    await browser.get('/page', { site: 'same-origin' })
    clock.advance(1)
  }
  t.equal(browser.names().filter(name => name.startsWith('__Host-refresh-')).length, 1)
})

t.test(
  'CK-04: if a refresh token is too long, the client does not keep it, logs this once, and the session ends when the access token expires',
  async t => {
    const { browser, platform, clock, log } = await buildWithToken(t, 200)
    await signIn(browser)
    t.notMatch(log.join(''), 'refresh_token_too_long')
    const refresh_token = ofLength(400)
    platform.answer('POST /api/exchangeToken', giveTokens({ refresh_token }))
    const lines = setCookieLines(await signIn(browser))
    const events = log.map(line => JSON.parse(line)).filter(({ event }) => event === 'refresh_token_too_long')
    t.match(events, [{ level: 40, characters: 400, reqId: String }])
    t.notMatch(log.join(''), refresh_token)
    for (const name of browser.names()) if (name.startsWith('__Host-refresh-')) browser.cookies.delete(name)
    t.notOk(lines.some(line => line.startsWith('__Host-refresh-')))
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
    clock.advance(3601)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 302)
  },
)

t.test('CK-04: the page for status 431 says what the visitor can do', async t => {
  const { client } = await buildWithToken(t, 200)
  const answer = await exchangeRaw(client, rawGet('/', { cookie: `other=${'x'.repeat(17 * 1024)}` }))
  t.match(answer, /^HTTP\/1\.1 431 /)
  t.match(answer, webTexts.errors.byStatus[431])
  t.notMatch(answer, 'xxx')
})

t.test('CL-07: a login cookie with the longest returnTo and PKCE stays within its 500 bytes', async t => {
  const { browser } = await buildTestClient(t, {
    scripts: { 'GET /.well-known/oauth-authorization-server': metadataWithPkce },
  })
  for (const returnTo of ['/'.padEnd(200, 'x'), `/${'"'.repeat(199)}`, `/${'"'.repeat(66)}`]) {
    const jar = browser.copy()
    const started = await beginLogin(jar, returnTo)
    t.ok(started.get('code_challenge'))
    t.ok(jar.cookieHeader().length <= 500, `${jar.cookieHeader().length} bytes`)
    t.equal((await jar.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  }
})
