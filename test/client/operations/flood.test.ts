// Tests a flood of visitors: the client uses little memory, and afterwards everything works as before.
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { Client } from 'undici'
import { memoryOf, workOf } from '../../support/process-status.ts'
import { underLimit } from '../../support/start-conditions.ts'
import { openNoMoreFiles } from '../../support/without-files.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { type SpawnedClient, spawnClient } from '../support/spawn-client.ts'

t.test('DO-06: the client answers thousands of logins in a few seconds, and keeps none of them in memory', async t => {
  const platform = await startScriptedPlatform(t)
  const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url }, { prefix: [] })
  const begin = async (count: number) => {
    const answer = await client.get(`/login?returnTo=/page?page=${count}`, { 'x-forwarded-for': `10.0.0.${count}` })
    return answer.statusCode
  }
  const beginAThousand = async () => {
    const before = workOf(client.child.pid)
    const statuses = new Set<number>()
    for (let count = 0; count < 1_000; count += 50) {
      const some = await Promise.all(Array.from({ length: 50 }, (_, index) => begin(count + index)))
      for (const status of some) statuses.add(status)
    }
    t.same([...statuses], [302])
    return workOf(client.child.pid) - before
  }
  for (let round = 0; round < 3; round++) await beginAThousand()
  const before = memoryOf(client.child.pid)
  const health: Promise<{ statusCode: number }>[] = []
  for (let round = 0; round < 5; round++) {
    const thousand = beginAThousand()
    health.push(client.get('/health/ready'))
    const worked = await thousand
    t.ok(worked < 5, `${worked} s`)
  }
  for (const { statusCode } of await Promise.all(health)) t.equal(statusCode, 200)
  const more = memoryOf(client.child.pid) - before
  t.ok(more < 48, `after 5,000 logins, the client uses ${more} MiB more than before`)
  t.same(
    [...new Set(platform.received().map(({ url }) => url))],
    ['/.well-known/oauth-authorization-server'],
    'the client must request only the metadata',
  )
})

t.test(
  'F-37: without free file descriptors, the client refuses new connections, serves the open connections, and recovers',
  async t => {
    const platform = await startScriptedPlatform(t, { 'POST /api/exchangeToken': giveTokens(), ...smallApi })
    const environment = { LOGIN_URL: platform.url, API_URL: platform.url }
    const client = await spawnClient(t, environment, { prefix: underLimit(100) })
    await signIn(client.browser)
    const visitor = stayConnected(t, client)
    const visit = async () => [await visitor('/'), await visitor('/page'), await visitor('/health/ready')]
    t.same(await visit(), [200, 200, 200])

    const flood = await openConnections(client, 300)
    // The number varies: if a file descriptor becomes free, the client accepts one more connection.
    t.ok(flood.refused() > 0, `${flood.refused()} refused`)
    t.same(await visit(), [200, 200, 200], 'requests on an open connection must succeed')

    flood.end()
    while (!(await client.client.inject({ url: '/health/live' }).catch(() => undefined)));
    t.same(await visit(), [200, 200, 200])
    t.equal((await client.client.inject({ url: '/login' })).statusCode, 302)
    t.equal((await signIn(client.browser)).statusCode, 200)
    t.notMatch(client.output(), '"event":"crashed"')
  },
)

t.test(
  'F-37: even if the client cannot open any more files, it can show a page that it has not shown before',
  async t => {
    const { browser } = await buildTestClient(t)
    await browser.get('/health/live')
    openNoMoreFiles(t)
    for (const [path, status] of [
      ['/', 200],
      ['/cancelled', 200],
      ['/nowhere', 404],
    ] as const) {
      const page = await browser.get(path)
      t.equal(page.statusCode, status, path)
      t.match(page.body, '</html>', path)
      t.notMatch(page.body, 'EMFILE', path)
    }
  },
)

/** Returns a function that sends requests of the signed-in visitor, all over one connection. */
function stayConnected(t: Test, { url, browser }: SpawnedClient) {
  const connection = new Client(url)
  t.teardown(() => connection.destroy())
  return async (path: string) => {
    const headers = { cookie: browser.cookieHeader() }
    const { statusCode, body } = await connection.request({ method: 'GET', path, headers })
    await body.dump()
    return statusCode
  }
}

/**
 * Opens `count` connections. Resolves when the client has refused at least one connection, and then no other connection
 * for 300 ms.
 */
async function openConnections({ url }: SpawnedClient, count: number) {
  let refused = 0
  const sockets = Array.from({ length: count }, () =>
    connect(Number(new URL(url).port), '127.0.0.1')
      .on('error', () => {})
      .on('close', () => refused++),
  )
  await Promise.race(sockets.map(socket => once(socket, 'close')))
  for (let last = -1; last !== refused; ) {
    last = refused
    await new Promise(resolve => setTimeout(resolve, 300))
  }
  return {
    refused: () => refused,
    end() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
