// The name localhost can mean 127.0.0.1, ::1 or both. In these tests localhost has two addresses, whatever the hosts
// file of this machine says.
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { addresses, nameBoth, preload } from '../../support/start-conditions.ts'
import { publicUrl, signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { spawnClient, waitUntilListening } from '../support/spawn-client.ts'

const poolMain = fileURLToPath(new URL('../support/pool-main.ts', import.meta.url))

t.test(`F-46, CT-06: with HOST=localhost, the client listens on ${addresses.join(' and ')}`, async t => {
  const client = await spawnClient(t, { HOST: 'localhost', NODE_OPTIONS: preload(nameBoth(addresses)) })
  const { port } = new URL(client.url)
  for (const address of addresses) {
    await waitUntilListening(client, address)
    const socket = connect(Number(port), address)
    await once(socket, 'connect')
    socket.destroy()
    t.pass(address)
  }
})

for (const address of addresses) {
  t.test(`F-26: if a client gets SIGTERM, it answers an open request on ${address}, and then stops`, async t => {
    const client = await spawnClient(t, { HOST: 'localhost', NODE_OPTIONS: preload(nameBoth(addresses)) })
    await waitUntilListening(client, address)
    const socket = connect(Number(new URL(client.url).port), address)
    await once(socket, 'connect')
    const idle = connect(Number(new URL(client.url).port), address)
    idle.on('error', () => {}).write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(idle, 'data')
    socket.write(`POST /logout HTTP/1.1\r\nhost: x\r\norigin: ${publicUrl}\r\n`)
    socket.write('content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=')
    // When the client has answered this request, it has also read the bytes that the test sent earlier.
    t.equal((await client.get('/health/live')).statusCode, 200)
    const answer = text(socket)
    client.child.kill('SIGTERM')
    await once(idle, 'close')
    socket.write('b')
    t.match(await answer, /^HTTP\/1\.1 303 /)
    t.same(await client.exited, [0, null])
  })
}

t.test(
  'F-26: when a client that listens on two addresses stops, it runs the asynchronous onClose hook of its product',
  async t => {
    const environment = { HOST: 'localhost', NODE_OPTIONS: preload(nameBoth(addresses)) }
    const client = await spawnClient(t, environment, { program: poolMain })
    for (const address of addresses) await waitUntilListening(client, address)
    client.child.kill('SIGTERM')
    const stillRunning = setTimeout(15_000, 'it still runs after 15 seconds', { ref: false })
    t.same(await Promise.race([client.exited, stillRunning]), [0, null])
    t.match(client.output(), '"event":"pool_closed"')
  },
)

for (const address of addresses) {
  t.test(`F-26: the onClose hook of a product runs after the last answer on ${address}`, async t => {
    const environment = { HOST: 'localhost', NODE_OPTIONS: preload(nameBoth(addresses)) }
    const client = await spawnClient(t, environment, { program: poolMain })
    for (const one of addresses) await waitUntilListening(client, one)
    const socket = connect(Number(new URL(client.url).port), address)
    await once(socket, 'connect')
    socket.write(`POST /logout HTTP/1.1\r\nhost: x\r\norigin: ${publicUrl}\r\n`)
    socket.write('content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=')
    // When the client has answered this request, it has also read the bytes that the test sent earlier.
    t.equal((await client.get('/health/live')).statusCode, 200)
    const answer = text(socket)
    client.child.kill('SIGTERM')
    for (const one of addresses) while (await accepts(client.url, one)) await setTimeout(10)
    t.notMatch(client.output(), 'pool_closing', 'onClose must not run while a request is open')
    socket.write('b')
    t.match(await answer, /^HTTP\/1\.1 303 /)
    t.same(await client.exited, [0, null])
    const events = client.log().map(({ event, route }) => (event === 'request' ? route : event))
    t.same(events.slice(-3), ['/logout', 'pool_closing', 'pool_closed'])
  })
}

async function accepts(url: string, address: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), address)
  const isAccepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isAccepted
}

for (const address of addresses) {
  t.test(`F-46: the client reaches a platform at http://localhost that listens only on ${address}`, async t => {
    const scripts = { 'POST /api/exchangeToken': giveTokens(), ...smallApi }
    const { url } = await startScriptedPlatform(t, scripts, address)
    const platformUrl = `http://localhost:${new URL(url).port}`
    const client = await spawnClient(t, {
      LOGIN_URL: platformUrl,
      API_URL: platformUrl,
      NODE_OPTIONS: preload(nameBoth(['127.0.0.1', '::1'])),
    })
    t.equal((await signIn(client.browser)).statusCode, 200)
    t.equal((await client.browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  })
}
