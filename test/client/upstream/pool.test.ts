// Tests many calls at the same time, and connections that the portal or the API closes at the wrong moment.

import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { timed } from '../../support/stopwatch.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { isPseudo } from '../support/pseudo-texts.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { smallApi } from '../support/small-product.ts'

const things = rawAnswer(JSON.stringify(['one', 'two']))

t.test(
  'UP-08: while 500 page requests wait for the API, pages that do not call the API work, and afterwards all pages work',
  async t => {
    const api = await startRawUpstream(t, () => {})
    const { browser } = await buildTestClient(t, { environment: { API_URL: api.url, LOG_LEVEL: 'silent' } })
    await signIn(browser)
    const pages = timed(Promise.all(Array.from({ length: 500 }, () => browser.copy().get('/page'))))
    while (api.requests.length < 64) await setImmediate()

    for (const path of ['/health/live', '/health/ready', '/login', '/']) {
      const [{ statusCode }, took] = await timed(browser.copy().get(path))
      t.ok([200, 302].includes(statusCode), path)
      t.ok(took.own < 0.2, `${path}: ${took.own} s`)
    }
    t.equal((await signIn(browser.copy())).statusCode, 200)
    t.ok(api.openConnections() <= 64, 'the client must limit the number of connections')

    const [answers, took] = await pages
    const statuses = answers.map(({ statusCode }) => statusCode)
    t.same([...new Set(statuses)].sort(), [503, 504])
    t.equal(
      statuses.filter(status => status === 503).length,
      500 - 256,
      'the client must immediately refuse all requests after the first 256',
    )
    t.ok(took.own < 13, `UP-03: the deadline includes the wait for a connection: ${took.own} s`)

    api.script = socket => socket.write(things)
    t.equal((await browser.get('/page')).statusCode, 200)
  },
)

t.test(
  'UP-16: if the API closes idle connections just as the client begins to use them again, every page works',
  async t => {
    // The API closes the connection at one of three moments: before the client sends the next request, while that
    // request is on its way, or after its arrival.
    const api = await startRawUpstream(t, async (socket, _request, count) => {
      socket.write(things)
      for (let turns = count % 8; turns > 0; turns--) await setImmediate()
      socket.end()
    })
    const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
    await signIn(browser)
    const statuses = new Set<number>()
    for (let count = 0; count < 200; count++) statuses.add((await browser.get('/page')).statusCode)
    t.same([...statuses], [200])
    t.ok(api.connections > 20, 'the API must have closed some connections')
  },
)

t.test('UP-16: if the API resets some connections when the client uses them again, every page works', async t => {
  const used = new WeakSet<object>()
  const api = await startRawUpstream(t, (socket, _request, count) => {
    if (used.has(socket) && count % 10 === 0) return socket.resetAndDestroy()
    used.add(socket)
    socket.write(things)
  })
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  const statuses = new Set<number>()
  for (let count = 0; count < 200; count++) statuses.add((await browser.get('/page')).statusCode)
  t.same([...statuses], [200])
})

t.test(
  'UP-07, UP-16: if the connection of a POST is reset, the page shows an error, and the client does not send the POST again',
  async t => {
    const api = await startRawUpstream(t, socket => socket.write(things))
    const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
    await signIn(browser)
    t.equal((await browser.get('/page')).statusCode, 200, 'this request must open the connection')
    const form = readForm(await browser.get('/note'), '/note')
    api.script = socket => socket.resetAndDestroy()
    const page = await browser.post('/note', form)
    t.equal(page.statusCode, 502)
    t.match(textOf(page, 'problem'), upstreamTexts.api.unreachable)
    t.equal(api.requests.filter(request => request.startsWith('POST')).length, 1)
  },
)

t.test('UP-07: if the connection of a GET is reset, the client repeats the GET once', async t => {
  const api = await startRawUpstream(t, (socket, _request, count) =>
    count === 1 ? socket.resetAndDestroy() : socket.write(things),
  )
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.equal((await browser.get('/page')).statusCode, 200)
  t.equal(api.requests.length, 2)

  api.script = socket => socket.resetAndDestroy()
  t.equal((await browser.get('/page')).statusCode, 502)
  t.equal(api.requests.length, 4)
})

t.test(
  'UP-07: if the connection of a token exchange is reset, the client does not send the exchange again',
  async t => {
    const portal = await startRawUpstream(t, socket => socket.resetAndDestroy())
    const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: portal.url } })
    t.equal((await signIn(browser)).statusCode, 502)
    t.equal(portal.requests.length, 1)
  },
)

for (const status of [429, 503]) {
  t.test(
    `UP-07: after a ${status} with Retry-After, the client answers immediately, and the page says when to try again`,
    async t => {
      const { browser, platform } = await buildTestClient(t)
      await signIn(browser)
      const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString()
      for (const [header, seconds, expected] of [
        ['3600', 3600, '3600'],
        ['7', 7, '7'],
        ['1', 1, '1'],
        ['999999999', 3600, '3600'],
        ['0', undefined, undefined],
        ['-5', undefined, undefined],
        ['Wed, 21 Oct 2037 07:28:00 GMT', 3600, '3600'],
        // A date contains only whole seconds, and some time passes before the client reads the date.
        [inSeconds(90), 'about 90', /^(8\d|90)$/],
        [inSeconds(-60), undefined, undefined],
        ['99 GMT', undefined, undefined],
        ['garbage', undefined, undefined],
      ] as const) {
        // The client ignores the Date header, because the clock of the portal or the API may be wrong.
        const headers = { 'retry-after': header, date: 'Sun, 01 Mar 2026 12:00:00 GMT' }
        platform.answer('GET /things', { status, headers, body: {} })
        const [page, took] = await timed(browser.get('/page'))
        t.ok(took.own < 1, header)
        t.equal(page.statusCode, 503, header)
        const shownSeconds = seconds === 'about 90' ? Number(page.headers['retry-after']) : seconds
        t.match(textOf(page), upstreamTexts.api.busy(shownSeconds), header)
        if (shownSeconds === 1 && !isPseudo) t.match(textOf(page), 'Try again in 1 second.')
        if (expected) t.match(page.headers['retry-after'], expected, header)
        else t.notOk('retry-after' in page.headers, header)
      }
      t.equal(platform.received('GET /things').length, 11, 'the client must make one call for each page')
    },
  )
}

t.test('DO-14: to show a page, the client makes one call, and one more call if the session is renewed', async t => {
  const { browser, platform, clock } = await buildTestClient(t, { scripts: smallApi })
  const total = () => platform.received().filter(({ url }) => !url.startsWith('/.well-known/')).length
  const calls = async (work: Promise<unknown>) => {
    const before = total()
    await work
    return total() - before
  }
  t.equal(await calls(browser.get('/login')), 0)
  t.equal(await calls(signIn(browser)), 2, 'a login must make two calls: the exchange and the name')
  t.equal(await calls(browser.get('/')), 0)
  t.equal(await calls(browser.get('/page')), 1)
  t.equal(await calls(browser.get('/page/1')), 1)
  const page = await browser.get('/note')
  t.equal(await calls(browser.get('/note')), 0)
  t.equal(await calls(browser.post('/note', readForm(page, '/note'))), 1)
  clock.advance(3_601)
  t.equal(await calls(browser.get('/page')), 2, 'the renewal must add one call')
  platform.answer('GET /things', { status: 401, body: {} })
  clock.advance(11)
  t.equal(await calls(browser.get('/page')), 3, 'the page must cause a call, a renewal, and the same call again')
})
