// Reads the attributes of a Set-Cookie line, for checks that judge the line itself.
import { unzipSync } from 'node:zlib'
import type { HttpExchange } from '../browser/browser.ts'
import { readCookieDate } from '../browser/cookie-date.ts'
import { readSameSite, splitSetCookie } from '../browser/set-cookie.ts'
import { setCookiesOf } from '../findings.ts'

export interface ReadCookie {
  name: string
  value: string
  isSecure: boolean
  isHttpOnly: boolean
  sameSite: 'strict' | 'lax' | 'none' | undefined
  domain: string | undefined
  path: string | undefined
  /**
   * Seconds, from Max-Age or Expires. Undefined for a cookie that is deleted when the browser closes. NaN for an
   * invalid value.
   */
  maxAge: number | undefined
  isDeletion: boolean
  /** The unchanged values, keyed by the attributes' names in lower case. */
  attributes: Map<string, string>
}

export function readSetCookie(line: string): ReadCookie {
  const { name, value, attributes } = splitSetCookie(line)
  const maxAge = readAge(attributes)
  return {
    name,
    value,
    isSecure: attributes.has('secure'),
    isHttpOnly: attributes.has('httponly'),
    sameSite: readSameSite(attributes),
    domain: attributes.get('domain') || undefined,
    path: attributes.get('path'),
    maxAge,
    isDeletion: maxAge !== undefined && maxAge <= 0,
    attributes,
  }
}

/** Max-Age overrides Expires (RFC 6265bis, 5.5). */
function readAge(attributes: Map<string, string>): number | undefined {
  const [age, expires] = [attributes.get('max-age'), attributes.get('expires')]
  if (age !== undefined) return /^-?\d+$/.test(age) ? Number(age) : Number.NaN
  if (expires === undefined) return undefined
  return ((readCookieDate(expires) ?? Number.NaN) - Date.now()) / 1000
}

/** Browsers shorten a longer lifetime to this limit (RFC 6265bis, 5.5). */
export const longestCookieSeconds = 400 * 86_400

/**
 * Returns the mistake in the lifetime of a cookie, such as "has Max-Age=soon". The text completes a sentence that
 * starts with the cookie's name. Returns undefined if the lifetime is correct.
 */
export function wrongAgeOf({ attributes, maxAge }: ReadCookie): string | undefined {
  const [age, expires] = [attributes.get('max-age'), attributes.get('expires')]
  if (age !== undefined && !/^-?\d+$/.test(age)) return `has Max-Age=${age}`
  if (expires && readCookieDate(expires) === undefined) return `has an invalid date in Expires: ${expires}`
  return maxAge !== undefined && maxAge > longestCookieSeconds ? `lives for ${maxAge} seconds` : undefined
}

/** Returns all Set-Cookie lines of a navigation, with their attributes. */
export function cookiesOf(trail: HttpExchange[]) {
  return trail.flatMap(exchange =>
    setCookiesOf(exchange).map(line => ({ line, cookie: readSetCookie(line), exchange })),
  )
}

/**
 * Returns the strings that anybody can read in a value, whether they are unchanged, percent-encoded, in base64, in
 * hexadecimal or compressed. Frameworks that sign a session without encrypting it write such values.
 */
export function readableTextsIn(value: string): string[] {
  const plain = decodeSafely(value)
  const bytes = plain
    .split(/[^\w+/=-]/)
    .filter(part => part.length >= 8)
    .flatMap(part => [Buffer.from(part, 'base64'), ...(/^[0-9a-f]+$/i.test(part) ? [Buffer.from(part, 'hex')] : [])])
  return [value, plain, ...bytes.flatMap(one => [one.toString('latin1'), unpackSafely(one)])]
}

function unpackSafely(bytes: Buffer): string {
  try {
    // Reads zlib and gzip. A cookie is at most 4 KB long.
    return unzipSync(bytes, { maxOutputLength: 1 << 20 }).toString('latin1')
  } catch {
    return ''
  }
}

export function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
