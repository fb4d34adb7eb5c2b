// The name localhost may be 127.0.0.1, ::1 or both. Here it is both, whatever the hosts file of this machine says.
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { publicUrl, signIn } from '../support/build-test-client.ts'
import { giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { importing, type SpawnedClient, spawnClient, spawnSmallClient } from '../support/spawn-client.ts'

const isThere = (address: string) =>
  Object.values(networkInterfaces()).some(all => all?.some(one => one.address === address))
const addresses = ['127.0.0.1', '::1'].filter(isThere)
const rest = addresses.includes('::1') ? '' : ' (this machine has no ::1)'

/** The address that is asked first is the one of IPv6, as RFC 6724 has it. */
const nameBoth = (known: string[]) => `
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const { lookup } = dns
  const all = ${JSON.stringify(known.toReversed())}.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  dns.lookup = (name, options, done = options) => {
    if (name !== 'localhost') return lookup(name, options, done)
    process.nextTick(() => (options.all ? done(null, all) : done(null, all[0].address, all[0].family)))
  }
  dns.promises.lookup = (...asked) => new Promise((resolve, reject) =>
    dns.lookup(...asked, (error, found, family) => (error ? reject(error) : resolve(found))))
  syncBuiltinESMExports()
`

/** It has come back from starting when it listens on the first of them. */
const listensOn = (client: SpawnedClient, address: string) =>
  client.says(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:`)

t.test(`F-46, CT-06: HOST=localhost listens on ${addresses.join(' and ')}${rest}`, async t => {
  const client = await spawnClient(t, { HOST: 'localhost', NODE_OPTIONS: importing(nameBoth(addresses)) })
  const { port } = new URL(client.url)
  for (const address of addresses) {
    await listensOn(client, address)
    const socket = connect(Number(port), address)
    await once(socket, 'connect')
    socket.destroy()
    t.pass(address)
  }
})

for (const address of addresses) {
  t.test(
    `F-26: a request on ${address} is finished when the client is told to stop, and then it stops${rest}`,
    async t => {
      const client = await spawnClient(t, { HOST: 'localhost', NODE_OPTIONS: importing(nameBoth(addresses)) })
      await listensOn(client, address)
      const socket = connect(Number(new URL(client.url).port), address)
      await once(socket, 'connect')
      const idle = connect(Number(new URL(client.url).port), address)
      idle.on('error', () => {}).write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
      await once(idle, 'data')
      socket.write(`POST /logout HTTP/1.1\r\nhost: x\r\norigin: ${publicUrl}\r\n`)
      socket.write('content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=')
      // What has arrived before it is asked has arrived when it answers.
      t.equal((await client.get('/health/live')).statusCode, 200)
      const answer = text(socket)
      client.child.kill('SIGTERM')
      await once(idle, 'close')
      socket.write('b')
      t.match(await answer, /^HTTP\/1\.1 303 /)
      t.same(await client.exited, [0, null])
    },
  )
}

for (const address of addresses) {
  t.test(`F-46: a platform at http://localhost that listens on ${address} alone is reached${rest}`, async t => {
    const scripts = { 'POST /api/exchangeToken': giveTokens(), ...smallApi }
    const { url } = await startScriptedPlatform(t, scripts, address)
    const platformUrl = `http://localhost:${new URL(url).port}`
    const client = await spawnSmallClient(t, {
      LOGIN_URL: platformUrl,
      API_URL: platformUrl,
      NODE_OPTIONS: importing(nameBoth(['127.0.0.1', '::1'])),
    })
    t.equal((await signIn(client.browser)).statusCode, 200)
    t.equal((await client.browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  })
}
