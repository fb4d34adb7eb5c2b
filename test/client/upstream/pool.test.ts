// Many calls at once, and connections that the other side closes at the wrong moment.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { rawAnswer, startRawUpstream } from '../support/raw-upstream.ts'
import { readForm, textOf } from '../support/read-form.ts'
import { smallApi } from '../support/small-product.ts'
import { timed } from '../support/stopwatch.ts'

const things = rawAnswer(JSON.stringify(['one', 'two']))

t.test(
  'UP-08: an API that hangs under 500 pages takes nothing from the other pages, and works again afterwards',
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
    t.ok(api.openConnections() <= 64, 'connections have a bound')

    const [answers, took] = await pages
    const statuses = answers.map(({ statusCode }) => statusCode)
    t.same([...new Set(statuses)].sort(), [503, 504])
    t.equal(statuses.filter(status => status === 503).length, 500 - 256, 'the rest is refused at once')
    t.ok(took.own < 13, `UP-03: whoever waits for a connection keeps the deadline, too: ${took.own} s`)

    api.script = socket => socket.write(things)
    t.equal((await browser.get('/page')).statusCode, 200)
  },
)

t.test('UP-16: an API that closes idle connections just as they are used again troubles no page', async t => {
  // The moment moves: before the next request, while it is on its way, or after.
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
  t.ok(api.connections > 20, 'many a connection was closed')
})

t.test('UP-16: an API that resets a connection when it is used again troubles no page', async t => {
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

t.test('UP-07, UP-16: a POST on a connection that is closed is reported, and not sent again', async t => {
  const api = await startRawUpstream(t, socket => socket.write(things))
  const { browser } = await buildTestClient(t, { environment: { API_URL: api.url } })
  await signIn(browser)
  t.equal((await browser.get('/page')).statusCode, 200, 'a connection is there')
  const form = readForm(await browser.get('/note'), '/note')
  api.script = socket => socket.resetAndDestroy()
  const page = await browser.post('/note', form)
  t.equal(page.statusCode, 502)
  t.match(textOf(page, 'problem'), 'could not be reached')
  t.equal(api.requests.filter(request => request.startsWith('POST')).length, 1)
})

t.test('UP-07: a page whose call is reset is asked for once more, and no more than that', async t => {
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

t.test('UP-07: an exchange that is reset is not sent again', async t => {
  const portal = await startRawUpstream(t, socket => socket.resetAndDestroy())
  const { browser } = await buildTestClient(t, { environment: { LOGIN_URL: portal.url } })
  t.equal((await signIn(browser)).statusCode, 502)
  t.equal(portal.requests.length, 1)
})

for (const status of [429, 503]) {
  t.test(`UP-07: a ${status} with Retry-After is not waited for, and the page says when to come back`, async t => {
    const { browser, platform } = await buildTestClient(t)
    await signIn(browser)
    for (const [header, words, told] of [
      ['3600', 'in 3600 seconds', '3600'],
      ['7', 'in 7 seconds', '7'],
      ['999999999', 'in 3600 seconds', '3600'],
      ['0', 'try again soon', undefined],
      ['-5', 'try again soon', undefined],
      ['Wed, 21 Oct 2037 07:28:00 GMT', 'in 3600 seconds', '3600'],
      ['Sun, 01 Mar 2026 12:01:30 GMT', 'in 90 seconds', '90'],
      ['Sun, 01 Mar 2026 11:59:00 GMT', 'try again soon', undefined],
      ['99 GMT', 'try again soon', undefined],
      ['garbage', 'try again soon', undefined],
    ] as const) {
      const headers = { 'retry-after': header, date: 'Sun, 01 Mar 2026 12:00:00 GMT' }
      platform.answer('GET /things', { status, headers, body: {} })
      const [page, took] = await timed(browser.get('/page'))
      t.ok(took.own < 1, header)
      t.equal(page.statusCode, 503, header)
      t.match(textOf(page), words, header)
      t.equal(page.headers['retry-after'], told, header)
    }
    t.equal(platform.received('GET /things').length, 10, 'each asked once')
  })
}

t.test('DO-14: a page makes one call, and one more where the session is renewed', async t => {
  const { browser, platform, clock } = await buildTestClient(t, { scripts: smallApi })
  const total = () => platform.received().filter(({ url }) => !url.startsWith('/.well-known/')).length
  const calls = async (work: Promise<unknown>) => {
    const before = total()
    await work
    return total() - before
  }
  t.equal(await calls(browser.get('/login')), 0)
  t.equal(await calls(signIn(browser)), 2, 'the exchange, and the visitor’s name')
  t.equal(await calls(browser.get('/')), 0)
  t.equal(await calls(browser.get('/page')), 1)
  t.equal(await calls(browser.get('/page/1')), 1)
  const page = await browser.get('/note')
  t.equal(await calls(browser.get('/note')), 0)
  t.equal(await calls(browser.post('/note', readForm(page, '/note'))), 1)
  clock.advance(3_601)
  t.equal(await calls(browser.get('/page')), 2, 'the session is renewed')
  platform.answer('GET /things', { status: 401, body: {} })
  clock.advance(11)
  t.equal(await calls(browser.get('/page')), 3, 'a call, a renewal, and the call once more')
})
