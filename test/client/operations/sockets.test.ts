// Tests MAX_CONNECTIONS, which limits how many connections the client keeps open, on all its addresses together.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { addresses, nameBoth, preload } from '../../support/start-conditions.ts'
import { smallHeap, spawnClient, waitUntilListening } from '../support/spawn-client.ts'

const health = 'GET /health/live HTTP/1.1\r\nhost: localhost:3000\r\n\r\n'

/**
 * Opens a connection, gets one answer, and keeps the connection open. Returns undefined if the client closes the
 * connection without an answer.
 */
async function open(t: Test, port: string, address: string, request = health): Promise<Socket | undefined> {
  const socket = connect(Number(port), address).on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write(request)
  const answered = new Promise<boolean>(resolve => {
    socket.once('data', () => resolve(true))
    socket.once('close', () => resolve(false))
  })
  return (await answered) ? socket : undefined
}

/** Calls `tryToOpen` until it returns a connection. Returns undefined after 200 attempts. */
async function openSoon(tryToOpen: () => Promise<Socket | undefined>): Promise<Socket | undefined> {
  for (let tries = 0; tries < 200; tries++) {
    const socket = await tryToOpen()
    if (socket) return socket
  }
}

t.test(
  'DO-06: if MAX_CONNECTIONS connections are open on all addresses together, the client immediately closes a new connection',
  async t => {
    const settings = { HOST: 'localhost', MAX_CONNECTIONS: '4', METRICS_PORT: '0' }
    const client = await spawnClient(t, { ...settings, NODE_OPTIONS: preload(nameBoth(addresses)) })
    for (const address of addresses) await waitUntilListening(client, address)
    const { port } = new URL(client.url)
    const metrics = new URL(client.metricsUrl)
    const metricsHost = metrics.hostname.replace(/[[\]]/g, '')
    const scrape = () => open(t, metrics.port, metricsHost, health.replace('/health/live', '/metrics'))

    const kept = []
    for (const address of [...addresses, ...addresses]) kept.push(await open(t, port, address))
    t.ok(kept.every(Boolean), 'four connections must be open')
    for (const address of addresses)
      t.notOk(await open(t, port, address), `a fifth connection must be refused on ${address}`)
    t.notOk(await scrape(), 'a fifth connection must also be refused on the port of the metrics')

    const [first] = kept
    first!.write(health)
    t.match(`${await once(first!, 'data')}`, '200 OK', 'open connections must still get answers')
    first!.destroy()
    // The client notices a moment later that the connection was closed.
    const next = await openSoon(() => open(t, port, addresses[1]!))
    t.ok(next, 'a new connection must be accepted after another connection has closed')
    t.notOk(await open(t, port, addresses[0]!), 'a fifth connection must be refused')
    next?.destroy()
    t.ok(await openSoon(scrape), 'a connection to the metrics must be accepted')
    t.notOk(await open(t, port, addresses[0]!), 'a connection to the metrics must also count')

    await client.waitForOutput('connections_full')
    const warnings = client.log().filter(({ event }) => event === 'connections_full')
    t.match(warnings, [{ level: 40, max: 4 }])
    t.equal(warnings.length, 1, 'the log must have one line for all refused connections')
  },
)

t.test('DO-06: a client with the memory of a small container survives thousands of half-sent requests', async t => {
  const client = await spawnClient(t, {}, { prefix: smallHeap })
  const { port } = new URL(client.url)
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  let refused = 0
  const half = `GET / HTTP/1.1\r\nhost: localhost:3000\r\nx-large: ${'x'.repeat(15_000)}`
  while (sockets.length < 4_000) {
    const some = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
    // Without resume() the socket would not report that the client has closed the connection normally.
    for (const socket of some)
      socket
        .resume()
        .once('close', () => refused++)
        .write(half)
    sockets.push(...some)
    await Promise.all(some.map(socket => (socket.connecting ? once(socket, 'connect').catch(() => {}) : undefined)))
  }
  while (refused < 3_000) await new Promise(resolve => setTimeout(resolve, 20))
  for (const socket of sockets) socket.destroy()
  let live: number | undefined
  while (live !== 200)
    live = await client.get('/health/live').then(
      ({ statusCode }) => statusCode,
      () => undefined,
    )
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${client.child.pid}/status`, 'utf8'))![1]) / 1024
  t.ok(peak < 256, `${peak} MiB`)
})
