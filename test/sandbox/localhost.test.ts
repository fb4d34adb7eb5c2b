// The name localhost may be 127.0.0.1, ::1 or both. Here it is both, whatever the hosts file of this machine says.
import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { makeSqliteUrl } from './support/build-test-sandbox.ts'
import { startSandbox } from './support/start-sandbox.ts'

const all = Object.values(networkInterfaces()).flatMap(one => one ?? [])
const addresses = ['::1', '127.0.0.1'].filter(address => all.some(one => one.address === address))
const rest = addresses.includes('::1') ? '' : ' (this machine has no ::1)'

const nameAll = `
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const { lookup } = dns
  const all = ${JSON.stringify(addresses)}.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  dns.lookup = (name, options, done = options) => {
    if (name !== 'localhost') return lookup(name, options, done)
    process.nextTick(() => (options.all ? done(null, all) : done(null, all[0].address, all[0].family)))
  }
  syncBuiltinESMExports()
`

t.test(`F-46: HOST=localhost listens on ${addresses.join(' and ')}, with both listeners${rest}`, async t => {
  const prefix = [`NODE_OPTIONS=--import data:text/javascript,${encodeURIComponent(nameAll)}`]
  const settings = { HOST: 'localhost' }
  const { portalPort, apiPort } = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings, prefix })
  for (const port of [portalPort, apiPort])
    for (const address of addresses) {
      const socket = connect(port, address)
      await once(socket, 'connect')
      socket.destroy()
      t.pass(`${address} ${port}`)
    }
})
