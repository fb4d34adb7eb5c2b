// Finds the IP addresses of a host. The suite remembers these addresses for the run, because the resolver of the system
// takes longer than the rest of a request.
import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'

const known = new Map<string, LookupAddress[]>()

/**
 * The `lookup` function for connections. It treats every name that ends with .localhost as this machine, even if the
 * resolver does not know the name (RFC 6761, 6.3).
 */
export const findHost: LookupFunction = (host, options, done) => {
  const name = host.endsWith('.localhost') ? 'localhost' : host
  const answer = (found: LookupAddress[]) => {
    const [first] = found
    if (options.all || !first) done(null, found)
    else done(null, first.address, first.family)
  }
  const remembered = known.get(name)
  // Callers expect a lookup to call back asynchronously.
  if (remembered) return void process.nextTick(answer, remembered)
  lookup(name, { all: true }, (error, found) => {
    if (error) return done(error, [])
    known.set(name, found)
    answer(found)
  })
}
