// Tests HEAD requests, which probes and link checkers send. HEAD requests never renew a session, begin a login or set a
// cookie.
import t from 'tap'
import { exchangeRaw, rawHead } from '../../support/raw-socket.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { setCookieLines } from '../support/read-response.ts'

t.test(
  'AP-20: on the start page, the assets and the health checks, HEAD gets the same answer as GET, but without the body',
  async t => {
    const { browser, client } = await buildTestClient(t)
    const start = await browser.get('/')
    const assets = [...start.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    t.ok(assets.length >= 3)
    for (const path of ['/', '/favicon.ico', '/health/live', '/health/ready', ...assets]) {
      const [get, head] = [await client.inject(path), await client.inject({ method: 'HEAD', url: path })]
      t.equal(head.statusCode, 200, path)
      for (const name of ['content-type', 'content-length', 'cache-control', 'content-security-policy'])
        t.equal(head.headers[name], get.headers[name], `${path}: ${name}`)
      const raw = await exchangeRaw(client, rawHead(path))
      t.match(raw, /^HTTP\/1\.1 200 OK\r\n/, path)
      t.equal(raw.slice(raw.indexOf('\r\n\r\n') + 4), '', path)
    }
  },
)

t.test(
  'head-as-get: if an address accepts GET requests from other sites, it also accepts HEAD requests from them',
  async t => {
    const { client } = await buildTestClient(t)
    for (const site of ['cross-site', 'same-site', 'none'])
      t.equal((await client.inject({ method: 'HEAD', url: '/', headers: { 'sec-fetch-site': site } })).statusCode, 200)
  },
)

t.test(
  'CL-31, PG-04: on every page except the start page, the client answers a HEAD request with 405, and does not renew a session, begin a login or set a cookie',
  async t => {
    const { browser, client, platform, clock } = await buildTestClient(t)
    await signIn(browser)
    const started = await beginLogin(browser)
    clock.advance(3601)
    const before = platform.received().length
    for (const url of ['/login', callbackUrl(started), '/cancelled', '/page', '/page/1', '/note']) {
      const head = await client.inject({ method: 'HEAD', url, headers: { cookie: browser.cookieHeader() } })
      t.equal(head.statusCode, 405, url)
      t.match(head.headers.allow, /^GET(, POST)?$/, url)
      t.same(setCookieLines(head), [], url)
    }
    t.equal(platform.received().length, before)
    for (const [url, allow] of [
      ['/logout', 'POST'],
      ['/', 'GET, HEAD'],
    ] as const) {
      const answer = await client.inject({ method: 'PUT', url, headers: { 'sec-fetch-site': 'same-origin' } })
      t.equal(answer.statusCode, 405)
      t.equal(answer.headers.allow, allow)
    }
    t.equal((await client.inject({ method: 'HEAD', url: '/nowhere' })).statusCode, 404)
  },
)
