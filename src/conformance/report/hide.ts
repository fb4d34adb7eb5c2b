// Hides secrets in reports. A short keyed hash replaces each secret, so that readers can still recognise equal values.
import { createHmac, randomBytes } from 'node:crypto'

// Each process has a new key, so that nobody can compare the hashes of two reports.
const key = randomBytes(32)

const hash = /^sha:[0-9a-f]{8}$/

/**
 * Returns the hash that a report shows instead of the secret. Returns a hash unchanged, because the suite hides the
 * secrets of some texts twice. The hash of a hash would hide that two values are equal.
 */
export function hashOf(text: string): string {
  if (hash.test(text)) return text
  return `sha:${createHmac('sha256', key).update(text).digest('hex').slice(0, 8)}`
}

// A field can be a list, such as `code[]`. The brackets can be percent-encoded.
const inFields =
  /(^|[?&\s])((?:code|state|code_verifier|code_challenge|client_secret|refresh_token|access_token|token|password|formToken)(?:(?:\[|%5B)[^\]=&\s]*?(?:\]|%5D))*)=([^&\s#"'<>]+)/gi
const inJson =
  /"(code|state|code_verifier|code_challenge|client_secret|refresh_token|access_token|token|clientSecret)":\s*"((?:[^"\\]|\\.)*)"/g
const bearer = /\b(Bearer|Basic) ([\w.~+/=-]{8,})/gi
const jwt = /\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g

/** Hides values whose name or format shows that they are secret. */
export function hide(text: string): string {
  return text
    .replace(inFields, (_, before: string, name: string, value: string) => `${before}${name}=${hashOf(decode(value))}`)
    .replace(inJson, (_, name: string, value: string) => `"${name}":"${hashOf(value)}"`)
    .replace(bearer, (_, scheme: string, value: string) => `${scheme} ${hashOf(value)}`)
    .replace(jwt, hashOf)
}

/** Returns the cookies of a Cookie header with their names, but with hidden values. */
export function hideCookies(header: string): string[] {
  return header.split(/;\s*/).map(hideValue)
}

/** Hides the value of a Set-Cookie line, and keeps the name and the attributes. */
export function hideSetCookie(line: string): string {
  const [cookie = '', ...attributes] = line.split(';')
  return [hideValue(cookie), ...attributes.map(attribute => attribute.trim())].join('; ')
}

function hideValue(cookie: string): string {
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(cookie)!
  return value === '' ? `${name}=` : `${name}=${hashOf(value)} (${value.length} characters)`
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return value
  }
}
