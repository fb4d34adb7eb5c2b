// Who reads an answer too slowly holds neither the memory nor a connection for ever. The deadlines are shortened here.
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { buildApplicationsClient, signIn } from '../support/build-test-client.ts'
import { memoryOf } from '../support/memory-of.ts'
import { openSocket, rawGet } from '../support/raw-socket.ts'
import { applicationRecord, collection, giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { spawnClient } from '../support/spawn-client.ts'

/** Applications with descriptions of this length; each of their characters takes five on a page. */
const listOf = (count: number, length: number) =>
  Buffer.from(
    JSON.stringify(
      collection(
        Array.from({ length: count }, (_, index) =>
          applicationRecord(`app-${index}`, { description: '&'.repeat(length) }),
        ),
      ),
    ),
  )

/** Asks for the list, and reads a byte of it every second. */
function readSlowly(socket: Socket, cookie: string): Socket {
  socket.on('error', () => {}).write(rawGet('/applications', { cookie, connection: 'keep-alive' }))
  socket.once('readable', () => {
    socket.read(1)
    const timer = setInterval(() => socket.read(1), 1_000)
    socket.once('close', () => clearInterval(timer))
  })
  return socket
}

t.test('DO-07: 200 visitors who read the longest list a byte a second leave memory to the others', async t => {
  const platform = await startScriptedPlatform(t, {
    'POST /api/exchangeToken': giveTokens(),
    // The longest descriptions that the platform takes, on ten pages.
    'GET /apps/v1': { body: listOf(500, 2_000) },
  })
  // As much heap as Node takes by itself in a container of 256 MiB.
  const prefix = [`NODE_OPTIONS=--max-old-space-size=128 --max-semi-space-size=1`]
  const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url }, { prefix })
  await signIn(client.browser)
  const cookie = client.browser.cookieHeader()
  const sockets: Socket[] = []
  const open = async () => {
    const socket = readSlowly(connect(Number(new URL(client.url).port), '127.0.0.1'), cookie)
    sockets.push(socket)
    await new Promise(resolve => socket.once('readable', resolve))
  }
  for (let count = 0; count < 200; count += 10) await Promise.all(Array.from({ length: 10 }, open))

  const askedAt = performance.now()
  t.equal((await client.browser.get('/applications')).statusCode, 200)
  t.equal((await client.get('/health/ready')).statusCode, 200)
  t.ok(performance.now() - askedAt < 1_000, 'others are served meanwhile')
  const memory = memoryOf(client.child.pid)
  t.ok(memory < 256, `${memory} MiB`)
  for (const socket of sockets) socket.destroy()
})

for (const [what, length] of [
  ['that waits for its reader', 40_000],
  ['that has left for the network', 100],
] as const) {
  t.test(`DO-07: a list ${what} holds its connection for 73 seconds at most`, async t => {
    const { browser, client, platform } = await buildApplicationsClient(t)
    platform.answer('GET /apps/v1', { body: listOf(50, length) })
    await signIn(browser)
    t.ok(client.server.timeout > 25_000, 'longer than a page may take to come')
    // While anything has moved since the last look, Node waits once more.
    t.ok(client.server.timeout * 2 <= 73_000)
    t.ok(client.server.keepAliveTimeout <= 72_000)
    client.server.timeout = 1_000
    client.server.keepAliveTimeout = 1_000
    const sockets = await Promise.all(
      Array.from({ length: 5 }, async () => readSlowly(await openSocket(client), browser.cookieHeader())),
    )
    const count = promisify(client.server.getConnections.bind(client.server))
    const askedAt = performance.now()
    while ((await count()) > 0) await setTimeout(50)
    const took = performance.now() - askedAt
    t.ok(took < 5_000 && took > 900, `${took} ms`)
    for (const socket of sockets) socket.destroy()
    t.equal((await browser.get('/applications')).statusCode, 200)
  })
}
