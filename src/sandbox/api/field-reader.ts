// Reads the fields of a JSON body one by one, and says everything that is wrong with them at once.
import { plainHostRule } from '../values/plain-host.ts'
import { isRedirectUri } from '../values/redirect-uri.ts'
import { isLonger } from '../values/text-length.ts'
import { isWebUrl } from '../web/web-url.ts'
import { ApiError, type FieldProblems } from './api-error.ts'

const missing = 'Missing data for required field.'
const notText = 'Not a valid string.'
const notObject = 'Invalid input type.'

const maxProblems = 10
const longestUrl = 2048

/**
 * Takes the envelope `{context, type, data}` of the specification, or its data alone. Each reader returns an empty value
 * for a bad field; `close` throws ApiError 422 when there were any. Only strings are taken, and nothing is made into one.
 */
export function createFieldReader(body: unknown) {
  const problems: FieldProblems = {}
  const envelope = asObject(body, '_schema')
  const hasEnvelope = Object.hasOwn(envelope, 'data')
  const data = hasEnvelope ? asObject(envelope.data, 'data') : envelope

  function add(name: string, problem: string): '' {
    problems[name] = [...(problems[name] ?? []), problem]
    return ''
  }

  function asObject(value: unknown, name: string): Record<string, unknown> {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    add(name, notObject)
    return {}
  }

  function checkEnvelope(expected: string): void {
    const { context, type } = envelope
    if (context === undefined) add('context', missing)
    // Measured first: to parse an address takes a time that grows faster than its length.
    else if (typeof context !== 'string' || context.length > longestUrl || !URL.canParse(context))
      add('context', 'Not a valid URL.')
    if (type === undefined) add('type', missing)
    else if (type !== expected) add('type', `Must be one of: ${expected}.`)
  }

  function text(name: string, { min = 0, max }: { min?: number; max: number }): string {
    const value = data[name]
    if (value === undefined) return add(name, missing)
    // NUL has no place in PostgreSQL's text, and half a surrogate pair none in UTF-8.
    if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) return add(name, notText)
    if (isLonger(value, max)) return add(name, `Longer than maximum length ${max}.`)
    if (!isLonger(value, min - 1)) return add(name, `Shorter than minimum length ${min}.`)
    return value
  }

  return {
    text,

    has: (name: string): boolean => data[name] !== undefined,

    webUrl(name: string): string {
      const value = text(name, { max: longestUrl })
      return value === '' || isWebUrl(value) ? value : add(name, `Not a valid http or https URL ${plainHostRule}.`)
    },

    redirectUris(name: string): string[] {
      if (text(name, { min: 1, max: 65_536 }) === '') return []
      const uris = (data[name] as string)
        .split(',')
        .map(uri => uri.trim())
        .filter(uri => uri !== '')
      if (uris.length === 0) add(name, 'Shorter than minimum length 1.')
      // A body has room for thousands of bad ones, and the answer must not be larger than the body.
      for (const uri of uris.filter(uri => !isRedirectUri(uri)).slice(0, maxProblems))
        add(
          name,
          `Not a valid redirect URI: ${uri.slice(0, 100)}. It must be absolute, without fragment, with https, or http on a loopback address, ${plainHostRule}.`,
        )
      return [...new Set(uris)]
    },

    /** Left out or empty, it is the fallback. */
    oneOf(name: string, allowed: string[], fallback: string): string {
      const value = data[name] === undefined ? '' : text(name, { max: longestUrl })
      if (value === '') return fallback
      // When there is no list there is nothing to compare with; but then, too, it must be a redirect URI.
      const isAllowed = allowed.length === 0 ? isRedirectUri(value) : allowed.includes(value)
      return isAllowed ? value : add(name, 'Must be one of redirectUris.')
    },

    /** For a field that callers could take for one of this body: ignoring it would promise what is not done. */
    refuse(name: string): void {
      if (data[name] !== undefined) add(name, 'Unknown field.')
    },

    /** The envelope must be there, and name this type. */
    ofType: checkEnvelope,

    /** For bodies that may come without the envelope. */
    ofTypeIfSaid(type: string): void {
      if (hasEnvelope) checkEnvelope(type)
    },

    close(): void {
      if (Object.keys(problems).length > 0) throw new ApiError(422, problems)
    },
  }
}
