// Finds secrets in texts of the client, in every spelling in which programs print them, and also if a text is cut off.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'

export interface Secret {
  /** What the value is, with its article: "an access token". */
  what: string
  value: string
  isCookie: boolean
}

export interface Leak {
  what: string
  /** The beginning of the line up to the secret, without other values that may be secret. */
  place: string
}

/**
 * A text with this number of characters of a secret counts as the secret. Shorter parts could be equal by coincidence.
 */
const length = 16

export function secret(what: string, value: unknown): Secret[] {
  if (typeof value !== 'string' || value.length < length) return []
  return [{ what, value, isCookie: false }]
}

export function cookieSecret(value: string): Secret[] {
  return secret('a cookie', value).map(one => ({ ...one, isCookie: true }))
}

/**
 * Returns a function that finds the first secret in a text. Many secrets and long texts need little time. `isSecret` is
 * called only for values that are in the text; if it returns false, the value does not count.
 */
export function findLeaksOf(secrets: Secret[], isSecret: (secret: Secret) => boolean = () => true) {
  const known = new Map<string, Set<Secret>>()
  for (const one of secrets) for (const part of partsOf(one)) known.set(part, (known.get(part) ?? new Set()).add(one))

  /** One of these secrets, or undefined: if cookies with different values have a part in common, this part is not random. */
  function pickSecret(withPart: Set<Secret>): Secret | undefined {
    const found = [...withPart].filter(isSecret)
    const isShared = found.every(({ isCookie }) => isCookie) && new Set(found.map(({ value }) => value)).size > 1
    return isShared ? undefined : found[0]
  }

  return (text: string): Leak | undefined => {
    for (const word of new Set(text.match(/[\w\-.~+/=%]{16,}/g)))
      for (let at = 0; at + length <= word.length; at++) {
        const withPart = known.get(word.slice(at, at + length))
        const found = withPart && pickSecret(withPart)
        if (!found) continue
        const place = text.indexOf(word)
        const before = text
          .slice(Math.max(0, place - 120), place)
          .split(/[\r\n]/)
          .at(-1)!
        return { what: found.what, place: `${before.replace(/[\w\-.~+/=%]{16,}/g, '…')}…` }
      }
    return undefined
  }
}

/** The end of each spelling, and the beginning if it is random: all JWTs begin alike, and so do the cookies of some frameworks. */
function partsOf({ value, isCookie }: Secret): string[] {
  const hasRandomBeginning = !isCookie && !value.startsWith('eyJ')
  return spellings(value).flatMap(text => [text.slice(-length), ...(hasRandomBeginning ? [text.slice(0, length)] : [])])
}

/** Plain, percent-encoded, and inside of a text that was encoded as Base64. */
function spellings(value: string): string[] {
  const encoded = [0, 1, 2].flatMap(offset => {
    const bytes = Buffer.from(' '.repeat(offset) + value)
    // Leave out characters at both ends, because in Base64 they depend on the neighbours of the value.
    const inner = (text: string) => text.replace(/=+$/, '').slice(offset === 0 ? 0 : offset + 1, -1)
    return [inner(bytes.toString('base64')), inner(bytes.toString('base64url'))]
  })
  return [...new Set([value, encodeURIComponent(value), ...encoded])].filter(text => text.length >= length)
}

export const isTokenCall = ({ kind }: LabStep) => kind === 'exchange' || kind === 'refresh'

/** The tokens of a visitor that the portal has given to the client in this answer. */
export function tokensGiven(step: LabStep): Secret[] {
  if (!isTokenCall(step)) return []
  const { access_token, refresh_token } = answerOf(step)
  return [...secret('an access token', access_token), ...secret('a refresh token', refresh_token)]
}

/** The credentials of an application that the API has given to the client in this answer. */
export function credentialsGiven(step: LabStep): Secret[] {
  if (step.kind !== 'api' || step.request.method !== 'POST') return []
  const { client, tokens, clientSecret } = answerOf(step)
  const secrets = [clientSecret, ...listOf((client as { clientSecrets?: unknown } | undefined)?.clientSecrets)]
  return [
    ...secrets.flatMap(one => secret('the secret of an application', one)),
    ...listOf(tokens).flatMap(one => secret('an app access token', (one as { token?: unknown } | null)?.token)),
  ]
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function answerOf({ response: { body } }: LabStep): Record<string, unknown> {
  try {
    const answer: unknown = typeof body === 'string' ? JSON.parse(body) : undefined
    return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
