// Finds the addresses of a host. Remembers them for the run, because the resolver of the system takes longer than the
// rest of a request.
import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'

const known = new Map<string, LookupAddress[]>()

/** A `lookup` for connections. Every name below localhost is this machine, whatever the resolver says (RFC 6761, 6.3). */
export const findHost: LookupFunction = (host, options, done) => {
  const name = host.endsWith('.localhost') ? 'localhost' : host
  const answer = (found: LookupAddress[]) => {
    const [first] = found
    if (options.all || !first) done(null, found)
    else done(null, first.address, first.family)
  }
  const remembered = known.get(name)
  // Callers of a lookup expect its answer later, never before they continue.
  if (remembered) return void process.nextTick(answer, remembered)
  lookup(name, { all: true }, (error, found) => {
    if (error) return done(error, [])
    known.set(name, found)
    answer(found)
  })
}
