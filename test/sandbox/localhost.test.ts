// The name localhost may be 127.0.0.1, ::1 or both. Here it is both, whatever the hosts file of this machine says.
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { makeSqliteUrl } from './support/build-test-sandbox.ts'
import { preload, startSandbox } from './support/start-sandbox.ts'

const all = Object.values(networkInterfaces()).flatMap(one => one ?? [])
const addresses = ['::1', '127.0.0.1'].filter(address => all.some(one => one.address === address))
const rest = addresses.includes('::1') ? '' : ' (this machine has no ::1)'

const nodeOptions = preload(`
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const { lookup } = dns
  const all = ${JSON.stringify(addresses)}.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  dns.lookup = (name, options, done = options) => {
    if (name !== 'localhost') return lookup(name, options, done)
    process.nextTick(() => (options.all ? done(null, all) : done(null, all[0].address, all[0].family)))
  }
  syncBuiltinESMExports()
`)

t.test(`F-46: HOST=localhost listens on ${addresses.join(' and ')}, with both listeners${rest}`, async t => {
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

t.test(`CT-05: HOST=localhost answers what is open on ${addresses.join(' and ')} before it ends${rest}`, async t => {
  const settings = { HOST: 'localhost' }
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, nodeOptions })
  const { portalPort: port } = sandbox
  const body = 'grant_type=authorization_code&client_id=none&client_secret=none&redirect_uri=none&code=none'
  const head = `POST /api/exchangeToken HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n`
  const senders = await Promise.all(
    addresses.map(async address => {
      const socket = connect(port, address)
      const answer = text(socket)
      await new Promise<unknown>(resolve => socket.write(`${head}${body.slice(0, 10)}`, resolve))
      return { socket, answer }
    }),
  )
  // What was sent before is read before.
  for (const address of addresses) t.ok(await accepts(port, address))
  const code = sandbox.stop()
  while (await accepts(port, addresses[0]!));
  const first = senders.shift()!
  first.socket.write(body.slice(10))
  t.match(await first.answer, /^HTTP\/1.1 401 /)
  for (const address of addresses.slice(1)) while (await accepts(port, address));
  for (const { socket, answer } of senders) {
    socket.write(body.slice(10))
    t.match(await answer, /^HTTP\/1.1 401 /, 'the store is still there')
  }
  t.equal(await code, 0)
})

t.test(`CT-05: HOST=localhost cuts what never ends on ${addresses.join(' and ')} after 8 seconds${rest}`, async t => {
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
})

async function accepts(port: number, address: string): Promise<boolean> {
  const socket = connect(port, address)
  const isAccepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isAccepted
}
