// Finds out which address a request comes from. Only proxies that the operator has named are trusted.
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

const longestPrefix = { 4: 32, 6: 128 }

/**
 * Returns true for an IP address or a network (`address/bits`). Returns false for an IPv4 address in IPv6 form. Also
 * returns false for a network with 0 bits, because it contains every address.
 */
export function isNetwork(text: string): boolean {
  const [address = '', bits, rest] = text.split('/', 3)
  const family = isIP(address) as 0 | 4 | 6
  if (family === 0 || /%|^::ffff:/i.test(address) || rest !== undefined) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= longestPrefix[family])
}

/**
 * Returns the source of a request: an IPv4 address, or the /64 network of an IPv6 address. One household or machine
 * usually has a whole /64 network. Failures and waiting requests are counted per source. Fastify reads X-Forwarded-For
 * from right to left, and stops at the first entry that does not belong to a trusted proxy. The sender can write
 * anything to the left of this entry. If this entry is not an address, the source is the last known proxy.
 */
export function sourceOf({ ips = [] }: FastifyRequest): string {
  const address = ips.map(toPlainAddress).findLast(Boolean) ?? ''
  return address.includes(':') ? networkOf(address) : address
}

/**
 * Converts an IPv4 address in IPv6 form to IPv4. Returns an empty string if `text` is not an address. If the connection
 * has already ended, Fastify does not know the address of the sender, and `text` is undefined.
 */
function toPlainAddress(text: string | undefined): string {
  const address = (text ?? '').split('%', 1)[0] ?? ''
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  return isIP(mapped) ? mapped : ''
}

function networkOf(address: string): string {
  // The URL parser writes every IPv6 address in its one normal form, with at most one `::`.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail].map(part => part.split(':').filter(group => group !== ''))
  const zeros = Array<string>(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill('0')
  return `${[...(first ?? []), ...zeros, ...(last ?? [])].slice(0, 4).join(':')}::/64`
}
