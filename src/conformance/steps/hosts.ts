// Wrong schemes and hosts for the headers of a request, and a function that finds a host in an address.
import { otherLoopback } from '../other-site.ts'

/** Returns the scheme that the address of the client does not have: http or https. */
export function otherSchemeOf(client: string): string {
  return client.startsWith('https:') ? 'http' : 'https'
}

/** Returns the host of the client with a port that no client uses. */
export function otherPortOf(client: string): string {
  return `${new URL(client).hostname}:9`
}

/**
 * Returns wrong values of the Host header that many frameworks accept, although they refuse unknown hosts. Such a
 * framework compares only the name of the host, or it also allows the other name of this machine.
 */
export function similarHosts(client: string): string[] {
  const { host, hostname, port } = new URL(client)
  const withPort = (name: string) => (port === '' ? name : `${name}:${port}`)
  const all = [otherPortOf(client), hostname, withPort(`${hostname}.`), withPort(otherLoopback(hostname))]
  return all.filter(one => one !== host)
}

/** Whether the address leads to this host. `localhost:9` is not a part of `localhost:9001`. */
export function leadsToHost(address: string, host: string): boolean {
  return address
    .split(`//${host}`)
    .slice(1)
    .some(rest => !/^\d/.test(rest))
}
