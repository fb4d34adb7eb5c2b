// Reads one Set-Cookie line, and decides whether a browser keeps the cookie (RFC 6265bis, 5.6 and 5.7).
import { readCookieDate } from './cookie-date.ts'
import { isAddress, isPublicSuffix, isTrustworthy } from './site.ts'

export interface SetCookie {
  name: string
  value: string
  domain: string
  path: string
  isHostOnly: boolean
  isSecure: boolean
  isHttpOnly: boolean
  /** Undefined if the line has no SameSite attribute, or one with an unknown value. */
  sameSite: 'strict' | 'lax' | 'none' | undefined
  /** Seconds. */
  maxAge?: number
  /** Milliseconds since 1970. */
  expires?: number
}

const longestPair = 4096
const longestAttribute = 1024
const prefixes = ['__Host-Http-', '__Host-', '__Secure-', '__Http-']

/**
 * Splits a line. The returned names of attributes are in lower case. If several attributes have the same name, the last
 * one counts.
 */
export function splitSetCookie(line: string): { name: string; value: string; attributes: Map<string, string> } {
  const [pair = '', ...rest] = line.split(';')
  // A line without "=" has no name. The whole text is then the value.
  const at = pair.indexOf('=')
  const attributes = new Map<string, string>()
  for (const attribute of rest) {
    const [key = '', ...more] = attribute.split('=')
    const text = trim(more.join('='))
    if (text.length <= longestAttribute) attributes.set(trim(key).toLowerCase(), text)
  }
  return { name: trim(pair.slice(0, Math.max(at, 0))), value: trim(pair.slice(at + 1)), attributes }
}

/** Returns undefined for a line that browsers drop. `line` has one character for each byte, as Node reads headers. */
export function parseSetCookie(line: string, from: URL): SetCookie | undefined {
  const { name, value, attributes } = splitSetCookie(line)
  if (name + value === '' || name.length + value.length > longestPair) return undefined
  if (/\t/.test(name + value) || hasControl(line)) return undefined
  const host = from.hostname
  const domain = readDomain(attributes.get('domain') ?? '', host)
  if (domain === undefined) return undefined
  const path = attributes.get('path') ?? ''
  const expires = readCookieDate(attributes.get('expires') ?? '')
  const maxAge = /^[+-]?\d+$/.exec(attributes.get('max-age') ?? '')?.[0]
  const cookie: SetCookie = {
    name,
    value,
    domain: domain || host,
    isHostOnly: domain === '',
    path: path.startsWith('/') ? path : defaultPath(from.pathname),
    isSecure: attributes.has('secure'),
    isHttpOnly: attributes.has('httponly'),
    sameSite: readSameSite(attributes),
    ...(maxAge === undefined ? {} : { maxAge: Number(maxAge) }),
    ...(expires === undefined ? {} : { expires }),
  }
  if (cookie.isSecure && !isTrustworthy(from)) return undefined
  if (cookie.sameSite === 'none' && !cookie.isSecure) return undefined
  if (attributes.has('partitioned') && !cookie.isSecure) return undefined
  return keepsPrefix(cookie, path, attributes.get('domain')) ? cookie : undefined
}

/** Returns a sentence that says why browsers drop this line, or undefined if they keep the cookie. */
export function whyDropped(line: string, from: URL): string | undefined {
  if (parseSetCookie(line, from)) return undefined
  const { name, value } = splitSetCookie(line)
  if (name.length + value.length > longestPair)
    return `Browsers drop a cookie of more than ${longestPair} bytes: ${name}.`
  if (/^__(Host-Http|Host|Secure|Http)-/i.test(name))
    return `Browsers drop the cookie ${name}. A cookie whose name begins with __Host- must have Secure and Path=/, and must not have Domain. A cookie with another prefix, such as __Secure-, must have Secure.`
  return `Browsers drop the cookie ${name} because of its name, value or attributes.`
}

/**
 * Returns an empty string for a cookie that belongs only to this host, and undefined for a domain that this host may
 * not set.
 */
function readDomain(attribute: string, host: string): string | undefined {
  if (attribute === '') return ''
  const domain = attribute.replace(/^\./, '').toLowerCase()
  if (domain === host && (isAddress(host) || isPublicSuffix(host))) return ''
  const isOwn = domain === host || (host.endsWith(`.${domain}`) && !isAddress(host))
  return isOwn && !isPublicSuffix(domain) ? domain : undefined
}

function defaultPath(pathname: string): string {
  return pathname.slice(0, pathname.lastIndexOf('/')) || '/'
}

export function readSameSite(attributes: Map<string, string>): SetCookie['sameSite'] {
  const known = attributes.get('samesite')?.toLowerCase()
  return known === 'strict' || known === 'lax' || known === 'none' ? known : undefined
}

/**
 * Whether the cookie obeys the rules for its prefix. Browsers ignore case in prefixes. A cookie without a name
 * must not have a value that begins with a prefix.
 */
function keepsPrefix({ name, value, isSecure, isHttpOnly }: SetCookie, path: string, domain = ''): boolean {
  const begin = (name || value).toLowerCase()
  const prefix = prefixes.find(one => begin.startsWith(one.toLowerCase()))
  if (!prefix) return true
  if (name === '' || !isSecure) return false
  if (prefix.startsWith('__Host-') && !(domain === '' && path === '/')) return false
  return !prefix.endsWith('Http-') || isHttpOnly
}

function trim(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '')
}

function hasControl(line: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that browsers refuse.
  return /[\x00-\x08\x0a-\x1f\x7f]/.test(line)
}
