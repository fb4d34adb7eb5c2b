// Secrets in what is shown: a short keyed hash is left, by which equal values are known from others.
import { createHmac, randomBytes } from 'node:crypto'

// Of this process alone, so that a report says nothing about another.
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

/** Hides what is a secret by its name or its form. */
export function hide(text: string): string {
  return text
    .replace(inFields, (_, before: string, name: string, value: string) => `${before}${name}=${hashOf(decode(value))}`)
    .replace(inJson, (_, name: string, value: string) => `"${name}":"${hashOf(value)}"`)
    .replace(bearer, (_, scheme: string, value: string) => `${scheme} ${hashOf(value)}`)
    .replace(jwt, hashOf)
}

/** The cookies of a Cookie header: names stay, values do not. */
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
