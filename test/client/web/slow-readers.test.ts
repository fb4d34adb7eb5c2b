// If a visitor reads an answer very slowly, the client needs little memory for this answer and closes the connection in
// time. The tests shorten the deadlines.
import t from 'tap'
import { openSocket } from '../../support/raw-socket.ts'
import { timed } from '../../support/stopwatch.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { holdWithSlowReaders, readSlowly } from '../support/slow-reader.ts'
import { smallHeap, spawnClient } from '../support/spawn-client.ts'

/** Returns a list of `count` strings of `length` characters. On a page each `&` takes five characters. */
const thingsOf = (count: number, length: number) => Buffer.from(JSON.stringify(Array(count).fill('&'.repeat(length))))

t.test(
  'DO-07: if 200 visitors read half a megabyte at one byte per second, the client does not run out of memory',
  async t => {
    const platform = await startScriptedPlatform(t, {
      'POST /api/exchangeToken': giveTokens(),
      'GET /things': { body: thingsOf(50, 2_000) },
    })
    const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url }, { prefix: smallHeap })
    await signIn(client.browser)
    await holdWithSlowReaders(t, client, '/page')
  },
)

for (const [what, length] of [
  ['that is too long for the buffers of the network', 40_000],
  ['that fits into the buffers of the network', 100],
] as const) {
  t.test(
    `DO-07: if a browser reads a page ${what}, the client closes the connection after 73 seconds at most`,
    async t => {
      const { browser, client, platform } = await buildTestClient(t)
      platform.answer('GET /things', { body: thingsOf(50, length) })
      await signIn(browser)
      t.ok(client.server.timeout > 25_000, 'the timeout must be longer than the time limit of a page')
      // If Node has sent bytes since its last check, Node waits for the whole timeout again. So closing the connection
      // can take twice the timeout.
      t.ok(client.server.timeout * 2 <= 73_000)
      t.ok(client.server.keepAliveTimeout <= 72_000)
      client.server.timeout = 1_000
      client.server.keepAliveTimeout = 1_000
      const { promise: areClosed, resolve: tellClosed } = Promise.withResolvers<void>()
      let open = 5
      client.server.on('connection', socket => socket.once('close', () => --open || tellClosed()))
      const sockets = await Promise.all(
        Array.from({ length: 5 }, async () => readSlowly(await openSocket(client), '/page', browser.cookieHeader())),
      )
      const [, took] = await timed(areClosed)
      t.ok(took.own < 5 && took.wall > 0.9, `${took.own} s`)
      for (const socket of sockets) socket.destroy()
      t.equal((await browser.get('/page')).statusCode, 200)
    },
  )
}
