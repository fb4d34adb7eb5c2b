// Finds secrets in text from the client, in every encoding that programs print. Also finds a secret if the text
// contains only a part of it.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import { isTokenCall } from '../platform-calls.ts'
import { jsonOf } from '../tokens.ts'
import { credentialsOf } from './applications.ts'
import { decodeSafely } from './set-cookies.ts'

export interface KnownSecret {
  /** The kind of the value, with an article: "an access token". */
  what: string
  value: string
  isCookie: boolean
}

interface Leak {
  what: string
  /** The text before the secret in its line, without other values that may be secret. */
  place: string
}

/**
 * Text counts as a leak if it contains this many characters of a secret. Shorter parts could be equal by coincidence.
 */
const partLength = 16
/** The words in which a secret may be: words of at least `partLength` characters. */
const longWords = /[\w\-.~+/=%]{16,}/g

export function secret(what: string, value: unknown): KnownSecret[] {
  if (typeof value !== 'string' || value.length < partLength) return []
  return [{ what, value, isCookie: false }]
}

export function cookieSecret(value: string): KnownSecret[] {
  return [value, ...sessionIdsIn(value)].flatMap(text =>
    secret('a cookie', text).map(one => ({ ...one, isCookie: true })),
  )
}

/**
 * Returns the session id in the value of a cookie, if the value has one of two common formats. In the first format, the
 * value consists of `s:`, the id, a dot and a signature. In the second format, the value is the id in Base64. Programs
 * often print the id alone.
 */
export function sessionIdsIn(value: string): string[] {
  const signed = /^s:([\w-]{16,})\.[\w+/=-]{27,}$/.exec(decodeSafely(value))?.[1]
  const decoded = Buffer.from(value, 'base64').toString('latin1')
  return [...(signed ? [signed] : []), ...(/^[\w-]{16,64}$/.test(decoded) ? [decoded] : [])]
}

/**
 * Returns a function that finds the first secret in a text. The function is fast even for many secrets and long texts.
 * The function calls `isSecret` only for values that are in the text. If `isSecret` returns false, the value does not
 * count.
 */
export function findLeaksOf(secrets: KnownSecret[], isSecret: (secret: KnownSecret) => boolean = () => true) {
  const known = new Map<string, Set<KnownSecret>>()
  for (const one of secrets) for (const part of partsOf(one)) known.set(part, (known.get(part) ?? new Set()).add(one))

  /**
   * Returns one of these secrets. Returns undefined if several cookies with different values contain this part, because
   * the part is then not random.
   */
  function pickSecret(withPart: Set<KnownSecret>): KnownSecret | undefined {
    const found = [...withPart].filter(isSecret)
    const isShared = found.every(({ isCookie }) => isCookie) && new Set(found.map(({ value }) => value)).size > 1
    return isShared ? undefined : found[0]
  }

  return (text: string): Leak | undefined => {
    for (const word of new Set(text.match(longWords)))
      for (let at = 0; at + partLength <= word.length; at++) {
        const withPart = known.get(word.slice(at, at + partLength))
        const found = withPart && pickSecret(withPart)
        if (!found) continue
        const place = text.indexOf(word)
        const before = text
          .slice(Math.max(0, place - 120), place)
          .split(/[\r\n]/)
          .at(-1)!
        return { what: found.what, place: `${before.replace(longWords, '…')}…` }
      }
    return undefined
  }
}

/**
 * Returns the end of each spelling. Also returns the beginning if the beginning is random. The beginning is the same in
 * all JWTs, and in all cookies of some frameworks.
 */
function partsOf({ value, isCookie }: KnownSecret): string[] {
  const hasRandomBeginning = !isCookie && !value.startsWith('eyJ')
  return spellings(value).flatMap(text => [
    text.slice(-partLength),
    ...(hasRandomBeginning ? [text.slice(0, partLength)] : []),
  ])
}

/** Returns the value in several encodings: unchanged, percent-encoded, and inside a text that was encoded as Base64. */
export function spellings(value: string): string[] {
  const encoded = [0, 1, 2].flatMap(offset => {
    const bytes = Buffer.from(' '.repeat(offset) + value)
    // Leaves out characters at both ends, because in Base64 they depend on the text around the value.
    const inner = (text: string) => text.replace(/=+$/, '').slice(offset === 0 ? 0 : offset + 1, -1)
    return [inner(bytes.toString('base64')), inner(bytes.toString('base64url'))]
  })
  return [...new Set([value, encodeURIComponent(value), ...encoded])].filter(text => text.length >= partLength)
}

/** Returns a visitor's tokens in this answer from the portal. */
export function tokenSecrets(step: LabStep): KnownSecret[] {
  if (!isTokenCall(step)) return []
  const { access_token, refresh_token } = jsonOf(step)
  return [...secret('an access token', access_token), ...secret('a refresh token', refresh_token)]
}

/** Returns an application's credentials in this answer from the API. */
export function credentialSecrets(step: LabStep): KnownSecret[] {
  if (step.kind !== 'api' || step.request.method !== 'POST') return []
  const { clientSecrets, tokens } = credentialsOf(step)
  return [
    ...clientSecrets.flatMap(one => secret('the secret of an application', one)),
    ...tokens.flatMap(one => secret('an app access token', one)),
  ]
}
