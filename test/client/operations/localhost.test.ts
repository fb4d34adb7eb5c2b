// The name localhost may be 127.0.0.1, ::1 or both. Here it is both, whatever the hosts file of this machine says.
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { signIn } from '../support/build-test-client.ts'
import { collection, giveTokens, startScriptedPlatform } from '../support/scripted-platform.ts'
import { importing, spawnClient } from '../support/spawn-client.ts'

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
  syncBuiltinESMExports()
`

t.test(`F-46, CT-06: HOST=localhost listens on ${addresses.join(' and ')}${rest}`, async t => {
  const client = await spawnClient(t, { HOST: 'localhost', NODE_OPTIONS: importing(nameBoth(addresses)) })
  const { port } = new URL(client.url)
  for (const address of addresses) {
    const socket = connect(Number(port), address)
    await once(socket, 'connect')
    socket.destroy()
    t.pass(address)
  }
})

for (const address of addresses) {
  t.test(`F-46: a platform at http://localhost that listens on ${address} alone is reached${rest}`, async t => {
    const scripts = { 'POST /api/exchangeToken': giveTokens(), 'GET /apps/v1': { body: collection([]) } }
    const { url } = await startScriptedPlatform(t, scripts, address)
    const platformUrl = `http://localhost:${new URL(url).port}`
    const client = await spawnClient(t, {
      LOGIN_URL: platformUrl,
      API_URL: platformUrl,
      NODE_OPTIONS: importing(nameBoth(['127.0.0.1', '::1'])),
    })
    t.equal((await signIn(client.browser)).statusCode, 200)
    t.equal((await client.browser.get('/applications', { site: 'same-origin' })).statusCode, 200)
  })
}
