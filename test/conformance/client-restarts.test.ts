// Tests how the suite notices a restart of the client. The client is a server in this process. It can stop and start
// again before the suite looks at it.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { watchRestarts } from '../../src/conformance/client-restarts.ts'

// If the suite does not notice a restart, this test file ends after a minute.
t.setTimeout(60_000)

/**
 * Starts a client. `onConnection` is called for each connection that the suite opens, and gets this connection and all
 * open connections.
 */
async function startClient(
  t: Test,
  onConnection: (socket: Socket, open: Set<Socket>) => void = () => undefined,
  host = '127.0.0.1',
) {
  const sockets = new Set<Socket>()
  const ended = new AbortController()
  const listen = (port: number) =>
    createServer(socket => {
      client.connections++
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      socket.resume()
      onConnection(socket, sockets)
    }).listen(port, '127.0.0.1')
  const client = {
    isAnswering: true,
    /** How often the suite has asked whether the client answers. */
    asked: 0,
    /** The number of connections that the suite has opened. */
    connections: 0,
    openConnections: () => sockets.size,
    closeConnections() {
      for (const socket of sockets) socket.destroy()
    },
    /** Closes the port. Resolves when all connections have closed. */
    stop: () => once(server.close(), 'close'),
    start() {
      server = listen(port)
    },
    /**
     * Makes the suite watch the client, and waits until the client has accepted its connections. `isRestarted` tells
     * whether the suite has noticed a restart.
     */
    async watch() {
      // The first time, the suite opens one more connection, to measure whether the client keeps this connection open.
      const wanted = client.connections === 0 ? 2 : client.connections + 1
      const { restarted } = await begin(ended.signal)
      await until(() => client.connections >= wanted)
      const watch = { restarted, isRestarted: false }
      void restarted.then(() => {
        watch.isRestarted = true
      })
      return watch
    },
  }
  let server = listen(0)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const isAnswering = async () => {
    client.asked++
    return client.isAnswering
  }
  const { begin } = watchRestarts(`http://${host}:${port}`, isAnswering, 50)
  t.teardown(() => {
    ended.abort()
    client.closeConnections()
    server.close()
  })
  return client
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await wait(5)
}

t.test('the suite notices a restart even if the new process listens before the suite connects again', async t => {
  const client = await startClient(t)
  for (const what of ['the first restart', 'the second restart']) {
    const { restarted } = await client.watch()
    void client.stop()
    client.closeConnections()
    client.start()
    await t.resolves(restarted, what)
  }
})

t.test('the suite notices a restart even if another process keeps the port open', async t => {
  const client = await startClient(t)
  const { restarted } = await client.watch()
  client.closeConnections()
  await t.resolves(restarted)
})

t.test('the suite notices a restart that happens while the suite connects again', async t => {
  const client = await startClient(t, (socket, open) => {
    // The old process has accepted the first two connections, and ends now. The new process accepts the third
    // connection.
    if (client.connections === 3) for (const one of open) if (one !== socket) one.destroy()
  })
  const { restarted } = await client.watch()
  await t.resolves(restarted)
})

t.test(
  'if a client waits for all connections to close before it ends, it can still restart, and the suite notices the restart',
  async t => {
    const client = await startClient(t)
    const { restarted } = await client.watch()
    await client.stop()
    client.start()
    await t.resolves(restarted)
  },
)

t.test('after the client has stopped, the suite waits until the client answers again', async t => {
  const client = await startClient(t)
  const watch = await client.watch()
  client.isAnswering = false
  client.closeConnections()
  await until(() => client.asked === 3)
  t.notOk(watch.isRestarted)
  client.isAnswering = true
  await t.resolves(watch.restarted)
})

t.test('the suite keeps opening and closing connections while the client runs, and notices no restart', async t => {
  const client = await startClient(t)
  const watch = await client.watch()
  await until(() => watch.isRestarted || client.connections > 6)
  t.notOk(watch.isRestarted)
  t.ok(client.openConnections() <= 3, `${client.openConnections()} open connections`)
})

t.test('if the client immediately closes every idle connection, the suite does not report a restart', async t => {
  const client = await startClient(t, socket => socket.end())
  const watch = await client.watch()
  await until(() => watch.isRestarted || client.connections > 6)
  t.notOk(watch.isRestarted)
  await client.stop()
  await t.resolves(watch.restarted, 'but if the client refuses connections, the suite must report a restart')
})

t.test(
  'if the host name of a client ends with .localhost, the suite notices a restart, and does not report a restart that did not happen',
  async t => {
    const client = await startClient(t, () => undefined, 'app.localhost')
    const watch = await client.watch()
    await until(() => watch.isRestarted || client.connections > 6)
    t.notOk(watch.isRestarted)
    client.closeConnections()
    await t.resolves(watch.restarted)
  },
)
