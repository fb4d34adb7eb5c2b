// Hides secrets in reports: a short keyed hash replaces each, so that equal values can be recognised.
import { createHmac, randomBytes } from 'node:crypto'

// A key of this process only, so that hashes of two reports cannot be compared.
const key = randomBytes(32)

export function hashOf(text: string): string {
  return `sha:${createHmac('sha256', key).update(text).digest('hex').slice(0, 8)}`
}

const inFields =
  /(^|[?&\s])(code|state|code_verifier|code_challenge|client_secret|refresh_token|access_token|token|password|formToken)=([^&\s#"'<>]+)/g
const inJson =
  /"(code|state|code_verifier|code_challenge|client_secret|refresh_token|access_token|token|clientSecret)":\s*"((?:[^"\\]|\\.)*)"/g
const bearer = /\b(Bearer|Basic) ([\w.~+/=-]{8,})/gi
const jwt = /\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g

/** Hides values that are secret by their name or form. */
export function hide(text: string): string {
  return text
    .replace(inFields, (_, before: string, name: string, value: string) => `${before}${name}=${hashOf(decode(value))}`)
    .replace(inJson, (_, name: string, value: string) => `"${name}":"${hashOf(value)}"`)
    .replace(bearer, (_, scheme: string, value: string) => `${scheme} ${hashOf(value)}`)
    .replace(jwt, hashOf)
}

/** The cookies of a Cookie header, with names but without values. */
export function hideCookies(header: string): string[] {
  return header.split(/;\s*/).map(hideValue)
}

/** A Set-Cookie line: name and attributes stay. */
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
