// GET /login: the redirect to the portal, and the login cookie.
import t from 'tap'
import { cpuMs } from '../../support/stopwatch.ts'
import {
  beginLogin,
  buildTestClient,
  callbackUrl,
  clientId,
  clientSecret,
  signIn,
  TestClock,
} from '../support/build-test-client.ts'
import { forgedLike, plantCookies } from '../support/forged-cookies.ts'
import { headerBytes, setCookieLine, setCookieLines } from '../support/read-response.ts'
import { startScriptedPlatform } from '../support/scripted-platform.ts'

const otherThanNavigations: Record<string, string>[] = [
  { 'sec-fetch-dest': 'iframe' },
  { 'sec-fetch-dest': 'image' },
  { 'sec-fetch-dest': 'empty' },
  { 'sec-fetch-dest': 'embed' },
  { 'sec-fetch-mode': 'cors' },
  { 'sec-fetch-mode': 'no-cors' },
  { 'sec-purpose': 'prefetch' },
  { 'sec-purpose': 'prefetch;prerender' },
]

const loginCookies = (names: string[]) => names.filter(name => name.startsWith('__Host-login-'))

t.test(
  'CL-01: /login sends the browser to the portal, and the address has exactly six parameters, each once',
  async t => {
    const { browser, platform } = await buildTestClient(t)
    const response = await browser.get('/login')
    t.equal(response.statusCode, 302)
    t.equal(response.headers['cache-control'], 'no-store')
    const url = new URL(String(response.headers.location))
    t.equal(url.origin + url.pathname, `${platform.url}/`)
    const { state, ...others } = Object.fromEntries(url.searchParams)
    t.match(state, /^[\w-]{22,}$/)
    t.same(others, {
      grant_type: 'authorization',
      response_type: 'code',
      client_id: clientId,
      redirect_uri: 'http://localhost:3000/exchangeToken',
      cancel_url: 'http://localhost:3000/cancelled',
    })
    t.equal([...url.searchParams].length, 6)
    t.notMatch(JSON.stringify(response.headers) + response.body, clientSecret)
  },
)

t.test('CL-01: if the portal’s address has a path, the redirect keeps it', async t => {
  const platform = await startScriptedPlatform(t)
  const environment = { LOGIN_URL: 'https://platform.test/portal/', LOGIN_INTERNAL_URL: platform.url }
  const { browser } = await buildTestClient(t, { platform, environment })
  const { headers } = await browser.get('/login')
  t.match(headers.location, /^https:\/\/platform\.test\/portal\/\?grant_type=authorization&/)
})

t.test('F-02: /login redirects to the portal even if the portal is down', async t => {
  const { browser, platform } = await buildTestClient(t)
  platform.server.closeAllConnections()
  platform.server.close()
  t.equal((await browser.get('/login')).statusCode, 302)
})

t.test(
  'CL-02: if two replicas make 10,000 state values, no two values are equal, and no two values begin with the same eight characters',
  async t => {
    const { client, platform } = await buildTestClient(t, { environment: { LOG_LEVEL: 'silent' } })
    const replica = await buildTestClient(t, { platform, environment: { LOG_LEVEL: 'silent' } })
    const states: string[] = []
    for (let index = 0; index < 5_000; index++) {
      for (const app of [client, replica.client]) {
        const { headers } = await app.inject('/login')
        states.push(new URL(String(headers.location)).searchParams.get('state') ?? '')
      }
    }
    t.equal(new Set(states).size, 10_000)
    t.ok(states.every(state => /^[\w-]{22,}$/.test(state)))
    // 128 bits fill 21 1/3 characters. At each of the 21 places, every character must occur. No two state values may
    // begin with the same eight characters.
    for (let place = 0; place < 21; place++)
      t.equal(new Set(states.map(state => state[place])).size, 64, `character ${place} must be random`)
    t.equal(new Set(states.map(state => state.slice(0, 8))).size, 10_000)
  },
)

t.test('CL-06: two logins in two tabs both succeed if the first login is finished first', async t => {
  const { browser } = await buildTestClient(t)
  const [first, second] = [await beginLogin(browser), await beginLogin(browser)]
  t.equal((await browser.get(callbackUrl(first), { site: 'cross-site' })).statusCode, 200)
  t.equal((await browser.get(callbackUrl(second), { site: 'cross-site' })).statusCode, 200)
})

t.test('CL-06: two logins in two tabs both succeed if the second login is finished first', async t => {
  const { browser } = await buildTestClient(t)
  const [first, second] = [await beginLogin(browser), await beginLogin(browser)]
  t.equal((await browser.get(callbackUrl(second), { site: 'cross-site' })).statusCode, 200)
  t.equal((await browser.get(callbackUrl(first), { site: 'cross-site' })).statusCode, 200)
})

t.test(
  'CL-07: after fifty logins have begun, the browser has five login cookies, and the last login can be finished',
  async t => {
    const { browser, clock } = await buildTestClient(t)
    await signIn(browser)
    let last = new URLSearchParams()
    for (let tab = 0; tab < 50; tab++) {
      clock.advance(1)
      last = await beginLogin(browser, '/page?q='.padEnd(200, 'x'))
    }
    t.equal(loginCookies(browser.names()).length, 5)
    t.ok(browser.cookie('__Host-session'))
    t.ok(browser.cookieHeader().length < 8192, `${browser.cookieHeader().length} bytes`)
    t.equal((await browser.get(callbackUrl(last), { site: 'cross-site' })).statusCode, 200)
  },
)

for (const [when, seconds] of [
  ['a second apart', 1],
  ['within one second', 0],
] as const) {
  t.test(`CL-07: of six logins that began ${when}, the client removes only the oldest`, async t => {
    const { browser, clock } = await buildTestClient(t)
    const started: URLSearchParams[] = []
    for (let tab = 0; tab < 6; tab++) {
      started.push(await beginLogin(browser))
      clock.advance(seconds)
    }
    const [oldest, ...others] = started
    t.equal((await browser.get(callbackUrl(oldest!), { site: 'cross-site' })).statusCode, 400)
    for (const login of others) t.equal((await browser.get(callbackUrl(login), { site: 'cross-site' })).statusCode, 200)
  })
}

t.test(
  'CL-07: the client first removes login cookies that another program on this host has forged, and only then real login cookies',
  async t => {
    const { browser } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const planted = { value: 'x', sameSite: 'Lax' as const, expiresAt: Number.POSITIVE_INFINITY }
    for (let index = 0; index < 5; index++) browser.cookies.set(`__Host-login-${'x'.repeat(21)}${index}`, planted)
    await beginLogin(browser)
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  },
)

t.test(
  'CL-08: the name of the login cookie begins with __Host-; the cookie is sealed, Secure, HttpOnly and Lax, and lives for at most ten minutes',
  async t => {
    const { browser } = await buildTestClient(t)
    const response = await browser.get('/login?returnTo=/page?q=readable')
    const [line, ...others] = setCookieLines(response)
    t.same(others, [])
    const [pair, ...attributes] = line!.split('; ')
    t.same(attributes.toSorted(), ['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
    const [name, value] = pair!.split('=', 2)
    t.match(name, /^__Host-login-[\w-]+$/)
    t.notMatch(Buffer.from(value!, 'base64url').toString('latin1'), 'readable')
  },
)

t.test('CL-31: a HEAD request does not begin a login', async t => {
  const { client } = await buildTestClient(t)
  const response = await client.inject({ method: 'HEAD', url: '/login' })
  t.not(response.statusCode, 302)
  t.equal(response.headers['set-cookie'], undefined)
})

t.test(
  'CL-31: after a HEAD request for a callback, a GET request for the same callback still signs the visitor in',
  async t => {
    const { browser, client, platform } = await buildTestClient(t)
    const started = await beginLogin(browser)
    const headers = { cookie: browser.cookieHeader() }
    const response = await client.inject({ method: 'HEAD', url: callbackUrl(started), headers })
    t.equal(response.headers['set-cookie'], undefined)
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
  },
)

for (const [what, headers] of Object.entries({
  'without Sec-Fetch-Site and Origin': {},
  'from the portal (form_post)': { 'sec-fetch-site': 'cross-site', origin: 'https://portal.test' },
})) {
  t.test(`CL-31: a POST ${what} is not accepted as a callback`, async t => {
    const { browser, client, platform } = await buildTestClient(t)
    const url = callbackUrl(await beginLogin(browser))
    const response = await client.inject({
      method: 'POST',
      url,
      headers: { ...headers, cookie: browser.cookieHeader() },
    })
    t.equal(response.statusCode, 405)
    t.equal(response.headers.allow, 'GET')
    t.same(setCookieLines(response), [])
    t.equal(platform.received('POST /api/exchangeToken').length, 0)
  })
}

// Refused requests change nothing, so these tests share one client.
const { client, platform, browser } = await buildTestClient(t)

for (const path of ['/login', '/exchangeToken']) {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    t.test(`CL-31: ${method} ${path} gets a 405 answer with Allow: GET`, async t => {
      const response = await client.inject({ method, url: path, headers: { 'sec-fetch-site': 'same-origin' } })
      t.equal(response.statusCode, 405)
      t.equal(response.headers.allow, 'GET')
      t.same(setCookieLines(response), [])
      t.equal(platform.received('POST /api/exchangeToken').length, 0)
    })
  }

  for (const headers of otherThanNavigations) {
    t.test(`CL-32: ${path} refuses a request that is not a navigation: ${JSON.stringify(headers)}`, async t => {
      const started = await beginLogin(browser)
      const response = await browser.get(path === '/login' ? path : callbackUrl(started), { headers })
      t.equal(response.statusCode, 403)
      t.same(setCookieLines(response), [])
      t.equal(platform.received('POST /api/exchangeToken').length, 0)
      t.ok(setCookieLine(await browser.get('/login'), '__Host-login-'), 'a navigation must begin a login')
    })
  }
}

t.test('CL-07: if a browser is full of forged login cookies, the answers to this browser stay short', async t => {
  const { browser, clock } = await buildTestClient(t)
  const started = await beginLogin(browser, '/note')
  const count = plantCookies(browser, '__Host-login-', 22, forgedLike(browser, `__Host-login-${started.get('state')}`))
  t.ok(count > 150, `${count} cookies`)
  clock.advance(1)
  for (const response of [await browser.get('/login'), await browser.post('/logout')]) {
    t.ok([302, 303].includes(response.statusCode))
    t.ok(headerBytes(response) < 4_096, `${headerBytes(response)} bytes`)
  }
})

t.test(
  'CL-07: if a browser has forged login cookies, the next logins delete some of the forged cookies, and keep the real login cookies',
  async t => {
    const { browser } = await buildTestClient(t)
    const started = await beginLogin(browser, '/note')
    const count = plantCookies(
      browser,
      '__Host-login-',
      22,
      forgedLike(browser, `__Host-login-${started.get('state')}`),
    )
    for (let login = 0; login < 3; login++) await beginLogin(browser)
    t.ok(loginCookies(browser.names()).length < count - 20)
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
    t.ok(count > 150)
  },
)

t.test(
  'CL-07: signing out deletes the real login cookies before the forged ones, even if there are many forged login cookies',
  async t => {
    const { browser } = await buildTestClient(t)
    const logins = [await beginLogin(browser), await beginLogin(browser)]
    const forged = forgedLike(browser, `__Host-login-${logins[0]!.get('state')}`)
    plantCookies(browser, '__Host-login-', 22, forged)
    logins.push(await beginLogin(browser), await beginLogin(browser))
    await browser.post('/logout')
    t.ok(loginCookies(browser.names()).length > 50, 'the other cookies must be deleted with later answers')
    for (const login of logins) t.equal(browser.cookie(`__Host-login-${login.get('state')}`), undefined)
  },
)

t.test('CL-07: a login takes almost no time, even if the browser is full of forged login cookies', async t => {
  const { browser, client } = await buildTestClient(t, { environment: { LOG_LEVEL: 'silent' } })
  const started = await beginLogin(browser)
  plantCookies(browser, '__Host-login-', 22, forgedLike(browser, `__Host-login-${started.get('state')}`))
  const headers = { cookie: browser.cookieHeader() }
  const repeat = async (times: number) => {
    const before = cpuMs()
    for (let login = 0; login < times; login++) await client.inject({ url: '/login', headers })
    return (cpuMs() - before) / times
  }
  await repeat(10)
  const took = Math.min(await repeat(10), await repeat(10), await repeat(10))
  t.ok(took < 10, `${took} ms for a login`)
})

t.test('CL-07: a login unseals each cookie at most once, even if many cookies are forged', async t => {
  const clock = new TestClock()
  const { read } = clock
  let reads = 0
  // Unsealing a cookie reads the clock, to see whether the cookie has expired.
  clock.read = () => {
    reads++
    return read()
  }
  const { browser } = await buildTestClient(t, { clock })
  const started = await beginLogin(browser)
  const count = plantCookies(browser, '__Host-login-', 22, forgedLike(browser, `__Host-login-${started.get('state')}`))
  const headers = { cookie: browser.cookieHeader() }
  reads = 0
  await browser.server.inject({ url: '/login', headers })
  t.ok(reads < 1.5 * count, `${reads} times for ${count} cookies`)
})
