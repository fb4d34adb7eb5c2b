// Environment variables, commands and scripts for tests that start the client or the sandbox as a process.
import { networkInterfaces } from 'node:os'

/** Returns NODE_OPTIONS with which Node runs this script before the program. */
export const preload = (script: string) => `--import data:text/javascript,${encodeURIComponent(script)}`

/** Returns a command prefix that limits how many files and connections the program can have open. */
export const underLimit = (files: number) => ['sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`]

/**
 * A script that simulates a full disk: after SIGUSR2, the process cannot write to its standard output; after the next
 * SIGUSR2, it can write again.
 */
export const fillDisk = `
  import fs from 'node:fs'
  const { write } = fs
  let isFull = false
  process.on('SIGUSR2', () => { isFull = !isFull })
  const noSpace = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  fs.write = (...call) => (isFull ? setImmediate(call.at(-1), noSpace) : write(...call))
`

/** Whether this machine has the address ::1. */
export const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

/** Two addresses for the name localhost. Without IPv6 both are IPv4 addresses. */
export const addresses = ['127.0.0.1', hasIpv6 ? '::1' : '127.0.0.2']

/**
 * Returns a script that resolves localhost to these addresses, whatever the hosts file of this machine contains. The
 * lookup returns the last address first, as it does with an IPv6 address (RFC 6724).
 */
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
