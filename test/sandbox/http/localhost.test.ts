// The name localhost can mean 127.0.0.1, ::1 or both. In these tests localhost has two addresses, whatever the hosts
// file of this machine says.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { addresses, nameBoth, preload } from '../../support/start-conditions.ts'
import { makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { startInVain, startSandbox } from '../support/start-sandbox.ts'

const nodeOptions = preload(nameBoth(addresses))

t.test(`F-46: if HOST is localhost, the portal and the API listen on ${addresses.join(' and ')}`, async t => {
  const settings = { HOST: 'localhost' }
  const { portalPort, apiPort } = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
  for (const port of [portalPort, apiPort])
    for (const address of addresses) {
      const socket = connect(port, address)
      await once(socket, 'connect')
      socket.destroy()
      t.pass(`${address} ${port}`)
    }
})

t.test(
  `CT-05: if HOST is localhost, the sandbox answers open requests on ${addresses.join(' and ')} before it ends`,
  async t => {
    const settings = { HOST: 'localhost' }
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
    const { portalPort: port } = sandbox
    const body = 'grant_type=authorization_code&client_id=none&client_secret=none&redirect_uri=none&code=none'
    const head = `POST /api/exchangeToken HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n`
    const request = head + body
    // Two requests are open on each address: the first has sent its headers and part of its body, and the second has
    // sent only part of its headers.
    const senders = await Promise.all(
      addresses.flatMap(address =>
        [head.length + 10, 20].map(async sent => {
          const socket = connect(port, address)
          const answer = text(socket)
          await new Promise<unknown>(resolve => socket.write(request.slice(0, sent), resolve))
          return { address, sendRest: () => socket.write(request.slice(sent)), answer }
        }),
      ),
    )
    // When the sandbox accepts a later connection, it has already read the bytes above.
    for (const address of addresses) t.ok(await accepts(port, address))
    const code = sandbox.stop()
    while (await accepts(port, addresses[0]!));
    for (const address of addresses) {
      for (const { sendRest, answer } of senders.filter(sender => sender.address === address)) {
        while (await accepts(port, address));
        sendRest()
        t.match(await answer, /^HTTP\/1.1 401 /, 'the request must reach the store')
      }
    }
    t.equal(await code, 0)
  },
)

t.test(
  `CT-05: if HOST is localhost, the sandbox waits 8 seconds for endless requests on ${addresses.join(' and ')} after SIGTERM, and then closes their connections`,
  async t => {
    const settings = { HOST: 'localhost' }
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
    const { portalPort: port } = sandbox
    const head =
      'POST /api/exchangeToken HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{'
    for (const address of addresses) {
      const socket = connect(port, address).on('error', () => undefined)
      await new Promise<unknown>(resolve => socket.write(head, resolve))
    }
    for (const address of addresses) t.ok(await accepts(port, address))
    const startedAt = performance.now()
    t.equal(await sandbox.stop(), 0)
    const stoppedIn = performance.now() - startedAt
    t.ok(stoppedIn > 7900 && stoppedIn < 10_000, `${stoppedIn} ms`)
  },
)

async function accepts(port: number, address: string): Promise<boolean> {
  const socket = connect(port, address)
  const isAccepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isAccepted
}

t.test('if a port is in use on only one of the two addresses of localhost, the sandbox does not start', async t => {
  const taken = createServer().listen(0, addresses[1])
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const settings = { HOST: 'localhost', PORTAL_PORT: `${port}` }
  const { code, stderr } = await startInVain(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
  t.equal(code, 1)
  t.match(stderr, /^The sandbox did not start: .* PORTAL_PORT .*EADDRINUSE.*\n$/)
})

t.test(
  'DO-06: MAX_CONNECTIONS limits the connections to portal, API and laboratory together; further connections are closed immediately',
  async t => {
    const settings = { HOST: 'localhost', LAB_HOST: 'localhost', LAB_PORT: '0', MAX_CONNECTIONS: '6' }
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
    const { labPort } = JSON.parse(sandbox.logLines.find(line => line.includes('the sandbox is ready'))!)
    const ports = [sandbox.portalPort, sandbox.apiPort, labPort]
    const doors = ports.flatMap(port => addresses.map(address => ({ port, address })))
    /** Resolves to undefined if the connection was closed without an answer. */
    const open = async ({ port, address }: (typeof doors)[number]) => {
      const socket = connect(port, address).on('error', () => undefined)
      t.teardown(() => socket.destroy())
      socket.write('GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
      const isAnswered = await new Promise(resolve => {
        socket.once('data', () => resolve(true))
        socket.once('close', () => resolve(false))
      })
      return isAnswered ? socket : undefined
    }
    const kept = []
    for (const door of doors) kept.push(await open(door))
    t.ok(kept.every(Boolean), 'six connections must be open')
    for (const door of doors)
      t.notOk(await open(door), `a seventh connection must be refused on ${door.address} ${door.port}`)
    kept[0]!.destroy()
    // The sandbox needs a moment to notice that the connection was closed.
    let next: Socket | undefined
    for (let tries = 0; tries < 200 && !next; tries += 1) next = await open(doors[5]!)
    t.ok(next, 'a new connection must be accepted after another connection has closed')
    t.notOk(await open(doors[0]!), 'a seventh connection must be refused')
    // A log line may arrive after the connection was closed. When the process has ended, all log lines have arrived.
    t.equal(await sandbox.stop(), 0)
    const warnings = sandbox.logLines.filter(line => line.includes('connections-full'))
    t.equal(warnings.length, 1, 'the log must have one line, however many connections are refused')
    t.match(JSON.parse(warnings[0]!), { level: 40, most: 6 })
  },
)
