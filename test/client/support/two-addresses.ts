// Two addresses for the name localhost, whatever the hosts file of this machine says.
import { networkInterfaces } from 'node:os'
import type { SpawnedClient } from './spawn-client.ts'

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

/** Without IPv6 a second one of IPv4: what matters is that there are two. */
export const addresses = ['127.0.0.1', hasIpv6 ? '::1' : '127.0.0.2']

/** A script that makes localhost these addresses. The last one comes first, as IPv6 does (RFC 6724). */
export const nameBoth = (known: string[]) => `
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

/** Resolves when the client listens on this address too: spawnClient waits for the first one only. */
export const listensOn = (client: SpawnedClient, address: string) =>
  client.says(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:`)
