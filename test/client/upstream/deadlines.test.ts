// If the portal or the API is slow or silent, the visitor gets a page in time. These tests wait for real deadlines.

import { lookup } from 'node:dns'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Agent } from 'undici'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { beginLogin, buildTestClient, callbackUrl, signIn } from '../support/build-test-client.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { setCookieLine } from '../support/read-response.ts'
import { giveTokens, type Received, type Script, send } from '../support/scripted-platform.ts'
import { smallApi, smallProduct } from '../support/small-product.ts'
import type { TestProduct } from '../support/test-product.ts'
import { startUnacceptingPort } from '../support/unaccepting-port.ts'

// The tests only wait, so they run at the same time. Together they take as long as the longest test.
t.jobs = 8

const drip = (start: string) => (socket: Socket) => {
  socket.write(start)
  const timer = setInterval(() => socket.write('x'), 200)
  socket.on('close', () => clearInterval(timer))
}

const slow: Record<string, (socket: Socket) => unknown> = {
  'headers that never come': () => {},
  'headers that arrive byte by byte': drip('HTTP/1.1 200 OK\r\nx-drip: '),
  'a body that arrives byte by byte': drip(
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{"a":"',
  ),
  'a body that stops': socket => socket.write(rawAnswer('{}', { headers: { 'content-length': '10' } })),
}

t.test(
  'UP-03, F-06, F-07: if the exchange is slow, the visitor gets a page within six seconds, and the socket is closed',
  async t => {
    const cases = Object.entries(slow).map(async ([what, script]) => {
      const portal = await startRawUpstream(t, script)
      const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: portal.url } })
      const [page, took] = await timed(signIn(browser))
      t.equal(page.statusCode, 504, what)
      t.match(textOf(page), upstreamTexts.portal.timeout, what)
      t.ok(took.wall > 4.5 && took.own < 6, `${what}: ${took.own} s`)
      t.equal(setCookieLine(page, '__Host-session'), undefined, what)
      t.match(setCookieLine(page, '__Host-login-'), '=; Max-Age=0', what)
      t.equal(portal.requests.length, 1, what)
      await hangsUp(portal)
    })
    await Promise.all(cases)
  },
)

t.test(
  'UP-03, F-06, F-07: if an API call is slow, the visitor gets a page within eleven seconds, and the socket is closed',
  async t => {
    const cases = Object.entries(slow).map(async ([what, script]) => {
      const api = await startRawUpstream(t, script)
      const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
      await signIn(browser)
      const [page, took] = await timed(browser.get('/page'))
      t.equal(page.statusCode, 504, what)
      t.match(textOf(page), upstreamTexts.api.timeout, what)
      t.ok(took.wall > 9.5 && took.own < 11, `${what}: ${took.own} s`)
      t.equal(api.requests.length, 1, what)
      t.ok(browser.cookie('__Host-session'), what)
      await hangsUp(api)
      api.script = socket => socket.write(rawAnswer('[]'))
      t.equal((await browser.get('/page')).statusCode, 200, what)
    })
    await Promise.all(cases)
  },
)

/** Resolves when the client has closed every connection. If the client leaves a connection open, the test times out. */
async function hangsUp(upstream: { openConnections: () => number }) {
  while (upstream.openConnections() > 0) await setImmediate()
}

t.test('UP-03: one deadline limits the total time of all calls of a request', async t => {
  const { browser, clock, platform } = await buildTestClient(t, { scripts: smallApi, requestDeadlineMs: 2_000 })
  await signIn(browser)
  const form = readForm(await browser.get('/note'), '/note')
  /**
   * Each call is fast enough for its own deadline, but together the calls take longer than the whole request may take.
   */
  const slowly = (script: Script) => async (request: Received, response: ServerResponse) => {
    await wait(250)
    return typeof script === 'function' ? script(request, response) : send(response, script)
  }
  platform.answer('POST /api/exchangeToken', slowly(giveTokens()))
  platform.answer(
    'POST /things',
    slowly((_request, response) => {
      platform.answer('POST /things', () => {})
      send(response, { status: 401, body: {} })
    }),
  )
  clock.advance(3601)
  const [page, took] = await timed(browser.post('/note', { ...form, note: 'a thought' }))
  t.equal(page.statusCode, 504)
  t.ok(took.own < 2.4, `${took.own} s`)
  t.equal(readForm(page, '/note').note, 'a thought')
  t.ok(setCookieLine(page, '__Host-refresh-'), 'the answer must have the cookies of the renewed session')
  t.equal(
    platform.received('POST /things').length,
    2,
    'the call must be sent twice: the API refuses the first call, and the second call ends at the deadline',
  )
})

t.test('UP-03: if the API refuses a token, the second call must end before the deadline of the first call', async t => {
  const product: TestProduct = {
    ...smallProduct,
    async pages(app) {
      app.get('/page', async (request, reply) => {
        await request.visitor.api.get('/things', {}, { deadlineMs: 2_000 })
        return reply.message({ title: 'Page', message: 'Things', nextStep: { href: '/', text: 'Start' } })
      })
    },
  }
  const { browser, platform } = await buildTestClient(t, { product })
  await signIn(browser)
  platform.answer('GET /things', async (_request, response) => {
    const { length } = platform.received('GET /things')
    await wait(1_200)
    send(response, length === 1 ? { status: 401, body: {} } : { body: [] })
  })
  t.equal((await browser.get('/page')).statusCode, 504)
  t.equal(platform.received('GET /things').length, 2)
})

t.test('UP-03: the deadline of a request is shorter than the timeout of its socket', async t => {
  const { client } = await buildTestClient(t)
  t.equal(client.server.timeout, 35_000)
  t.ok(client.server.timeout > 25_000)
})

for (const scheme of ['http', 'https'] as const) {
  const what =
    scheme === 'http'
      ? 'F-04: if no connection to the portal can be made'
      : 'F-04: if the portal does not answer the TLS handshake'
  const start = (t: Test) => (scheme === 'http' ? startUnacceptingPort(t) : startSilent(t))
  t.test(`${what}, the visitor gets a page within four seconds`, async t => {
    const url = (await start(t)).replace('http:', `${scheme}:`)
    // When the client starts, it also waits for a connection, to request the metadata. The test must not measure that
    // time.
    const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: url } })
    const started = await beginLogin(browser)
    const [page, took] = await timed(browser.get(callbackUrl(started), { site: 'cross-site' }))
    t.equal(page.statusCode, 504)
    t.ok(took.own < 4, `${took.own} s`)
    t.equal(setCookieLine(page, '__Host-session'), undefined)
  })
}

async function startSilent(t: Test): Promise<string> {
  return (await startRawUpstream(t, () => {})).url
}

t.test('a portal that does not send its metadata delays a login by at most a second', async t => {
  const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: await startUnacceptingPort(t) } })
  const [answer, took] = await timed(browser.get('/login'))
  t.equal(answer.statusCode, 302)
  t.ok(took.own < 1.5, `${took.own} s`)
})

for (const code of ['ENOTFOUND', 'EAI_AGAIN'])
  t.test(
    `F-03: if the lookup of the portal’s host name fails with ${code}, a page says so within a second, and a later login works`,
    async t => {
      let isKnown = false
      const unknown = Object.assign(new Error(`getaddrinfo ${code} portal.invalid`), { code })
      const dispatcher = new Agent({
        connect: {
          lookup: (hostname, options, callback) =>
            isKnown || hostname !== 'portal.invalid'
              ? lookup('localhost', { ...options, family: 4 }, callback)
              : callback(unknown, ''),
        },
      })
      t.teardown(() => dispatcher.destroy())
      const portal = await startRawUpstream(t, socket =>
        socket.write(rawAnswer('{"error":"invalid_grant"}', { status: '401 X' })),
      )
      const url = portal.url.replace('127.0.0.1', 'portal.invalid')
      const { browser } = await buildTestClient(t, { dispatcher, environment: { LOGIN_INTERNAL_URL: url } })
      const [page, took] = await timed(signIn(browser))
      t.equal(page.statusCode, 502)
      t.match(textOf(page), upstreamTexts.portal.unreachable)
      t.match(page.body, 'href="/login"')
      t.notMatch(page.body, /ENOTFOUND|EAI_AGAIN|portal\.invalid/)
      t.same(
        browser.names().filter(name => name.startsWith('__Host-login-')),
        [],
        'the client must have deleted the login cookie',
      )
      t.ok(took.own < 1, `${took.own} s`)

      isKnown = true
      t.equal(
        (await signIn(browser)).statusCode,
        400,
        'the client must send the code to the portal, which refuses the code',
      )
      t.equal(portal.requests.length, 1)
    },
  )
