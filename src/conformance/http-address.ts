// Reads the host and the port from the address of a server.

/** Returns the host and the port of an address, as functions of node:net expect them: an IPv6 host has no brackets. */
export function addressOf(url: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) }
}
