// Decides whether two addresses belong to one site. Two addresses belong to one site if their schemes and registrable
// domains are the same. The port does not matter.
import { isIP } from 'node:net'
import { getDomain, getPublicSuffix } from 'tldts'

type SiteRelation = 'same-origin' | 'same-site' | 'cross-site'

/**
 * `a` is an origin as `URL.origin` writes it. The text `null` means an opaque origin, which does not belong to any
 * site.
 */
export function relate(a: string, b: URL): SiteRelation {
  if (a === 'null') return 'cross-site'
  if (a === b.origin) return 'same-origin'
  return siteOf(new URL(a)) === siteOf(b) ? 'same-site' : 'cross-site'
}

function siteOf({ protocol, hostname }: URL): string {
  return `${protocol}//${registrableDomain(hostname)}`
}

/** The public suffix list as browsers use it, including private suffixes such as `github.io`. */
const asBrowsers = { allowPrivateDomains: true }

/**
 * Returns the part of a host name that somebody can register, such as `example.com`. For an IP address, a public suffix
 * or a name without dots, the function returns the whole name.
 */
export function registrableDomain(host: string): string {
  return isAddress(host) ? host : (getDomain(host, asBrowsers) ?? host)
}

/**
 * Whether the name is a public suffix such as `co.uk`. Browsers would send a cookie for a public suffix to the hosts of
 * many owners.
 */
export function isPublicSuffix(domain: string): boolean {
  return !isAddress(domain) && getPublicSuffix(domain, asBrowsers) === domain
}

/** Whether the host is an IP address. An IPv6 address must be in brackets, as in `URL.hostname`. */
export function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0
}

/**
 * Whether the address begins with https or is on this machine. For such addresses, browsers keep Secure cookies and
 * send fetch metadata (W3C Secure Contexts, 3.1).
 */
export function isTrustworthy({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname)
}

/** Whether the name or address of a host means this machine. Does not ask a resolver. */
function isLoopback(host: string): boolean {
  return /^(?:.+\.)?localhost$|^127\.\d+\.\d+\.\d+$|^\[::1\]$/.test(host)
}
