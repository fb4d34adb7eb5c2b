// Hides every value that may be secret, as soon as the laboratory gets the value. A short keyed hash replaces the
// value, so that the laboratory can recognise equal values.
import { hash as digest, randomBytes } from 'node:crypto'
import { beginningOf, createAllowance } from './allowance.ts'
import { bitsOf, isUuid } from './entropy.ts'
import type { Hidden, HiddenState, Value, Values } from './recorded.ts'

/**
 * Only values with these names stay readable. All other values are hidden, because a client under development may
 * misspell the name of a secret.
 */
const readableNames = new Set(
  `
    grant_type response_type client_id redirect_uri cancel_url scope code_challenge_method
    token_type token_type_hint expires_in
    error error_description error_uri iss subject issuer status message
    decision page clientId userId groupId
    type @type context @context @id
    name description webPageUrl iconUrl privacyPolicyUrl redirectUris defaultRedirectUri scopes defaultScopes
    accept accept-encoding accept-language allow cache-control connection
    content-length content-type content-encoding date etag host if-match origin referer retry-after
    sec-fetch-dest sec-fetch-mode sec-fetch-site user-agent www-authenticate x-request-id
  `
    .trim()
    .toLowerCase()
    .split(/\s+/),
)

/**
 * A secret has at least 22 characters, because 128 random bits do not fit into fewer characters. So a name or client id
 * with more than 21 characters may be a secret.
 */
const longestWithoutSecret = 21

/** The longer names in the metadata of a portal (RFC 8414). */
const longNames = /^[a-z]+(_[a-z]+)*_(supported|endpoint|uri)$/

/** The names of values that are addresses. */
const addressNames = /(uris?|url)$/i

/** Replaces a name that may contain a secret. */
const otherName = '(other name)'

/**
 * The maximum size of a readable value, in bytes of JSON. The laboratory keeps only the beginning of a longer value.
 */
const longestReadable = 500
const dayMs = 24 * 60 * 60_000

export type Hide = ReturnType<typeof createHide>

/** Each process has a random key. After a restart, a value therefore has another hash than before. */
export function createHide(bytes: Buffer = randomBytes(32)) {
  const key = bytes.toString('base64url')
  // The hash must be fast, because a step has about ten hidden values. HMAC is not needed, because a truncated hash
  // does not allow length extension.
  const hash = (text: string) => digest('sha256', key + text, 'base64url').slice(0, 10)

  /**
   * Only the notices about a state need to know how hard a value is to guess, so the code computes this only for
   * states.
   */
  function hideState(text: string, at: Date): HiddenState {
    return {
      hash: hash(text),
      length: text.length,
      bits: Math.floor(bitsOf(text)),
      beginning: text.length >= 12 ? hash(`beginning ${text.slice(0, Math.ceil(text.length / 2))}`) : '',
      isTime: isTime(text, at),
    }
  }

  /**
   * Hides secrets in each address in the text. Only a field for several addresses separates them by commas. An address
   * can also contain a comma, so a new address begins only at a scheme.
   */
  function hideInAddresses(name: string, text: string): string {
    if (!/uris$/i.test(name)) return hideInAddress(text)
    return text
      .split(/,(?=\s*[a-z][a-z\d+.-]*:\/)/i)
      .map(hideInAddress)
      .join(',')
  }

  /**
   * Hides the parameters and the user information of an address. For example, a client may send the whole address of
   * its callback, which contains the code and the state.
   */
  function hideInAddress(address: string): string {
    const shown = address.replace(/^(\s*[a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, '$1(hidden)@')
    const end = shown.search(/[?#]/) + 1
    return end === 0 ? shown : shown.slice(0, end) + shown.slice(end).replace(/[^&#]+/g, hideParameter)
  }

  function hideParameter(parameter: string): string {
    const [name = '', ...rest] = parameter.split('=')
    const value = rest.join('=')
    return showName(name) + (rest.length > 0 ? '=' : '') + (value && `hidden-${hash(value)}`)
  }

  const hidden = (text: string): Hidden => ({ hash: hash(text), length: text.length })

  /** Ids of clients that are neither short nor UUIDs. A sandbox has at most one: SEED_CLIENT_ID. */
  const longClientIds = new Set<string>()

  /** A developer may have swapped the id and the secret of the client. */
  function mayBeSecret(clientId: string): boolean {
    return clientId.length > longestWithoutSecret && !isUuid(clientId) && !longClientIds.has(clientId)
  }

  function hideUnlessReadable(name: string, text: string, at: Date): Value {
    const isHidden = /^client_?id$/i.test(name) && mayBeSecret(text)
    if (readableNames.has(name.toLowerCase()) && !isHidden)
      return beginningOf(addressNames.test(name) ? hideInAddresses(name, text) : text, longestReadable)
    return name === 'state' ? hideState(text, at) : hidden(text)
  }

  return {
    /**
     * Hides one value. A value with a readable name stays readable, except the parameters of an address. Only the
     * beginning of a long value is kept.
     */
    value: hideUnlessReadable,

    /** Returns the hash by which the laboratory recognises the value. */
    hash,

    /** Keeps the id of an existing client readable, even if the id looks like a secret. */
    showClientId(id: string): void {
      if (mayBeSecret(id)) longClientIds.add(id)
    },

    /**
     * Returns the client id that a request contains. If this id may be a secret, the result contains the hash of the id
     * instead.
     */
    clientId: (id: string): string => (mayBeSecret(id) ? hiddenId(hidden(id)) : id),

    /**
     * Hides the values of headers, of a query or of a body. A field inside another field is named `outer.inner`. If the
     * allowance has no room for a value, this value and all later values are left out, because hashing the later values
     * would take time.
     */
    values(fields: Iterable<[string, unknown]>, at: Date, allowance = createAllowance()): Values {
      // A name can be any text, even `__proto__`.
      const values: Values = Object.create(null)
      for (const [path, text, isInList] of flatten(fields)) {
        const value = hideUnlessReadable(path.slice(path.lastIndexOf('.') + 1), text, at)
        if (!allowance.take(path, value)) break
        const before = values[path]
        if (Array.isArray(before)) before.push(value)
        else if (before !== undefined) values[path] = [before, value]
        else values[path] = isInList ? [value] : value
      }
      return values
    },
  }
}

/** The text that takes the place of a hidden id. */
export function hiddenId({ hash }: Hidden): string {
  return `#${hash}`
}

const deepest = 4

/** This is a generator, so that it stops making values when the allowance is used up. */
function* flatten(
  fields: Iterable<[string, unknown]>,
  prefix = '',
  depth = 0,
): Generator<[path: string, text: string, isInList: boolean]> {
  for (const [name, value] of fields) {
    const path = prefix + showName(name)
    for (const one of Array.isArray(value) ? value : [value])
      if (typeof one === 'object' && one !== null) {
        if (depth < deepest) yield* flatten(Object.entries(one), `${path}.`, depth + 1)
      } else if (one !== undefined) yield [path, String(one), Array.isArray(value)]
  }
}

/**
 * Hides a name that may be a secret. For example, a client that sends JSON with the content type of a form sends a
 * single field, whose name is the whole JSON text.
 */
function showName(name: string): string {
  const isShown = name.length <= longestWithoutSecret ? /^[\w@$[\].-]*$/.test(name) : longNames.test(name)
  return isShown ? name : otherName
}

function isTime(text: string, at: Date): boolean {
  if (!/^\d{10}(\d{3})?(\.\d+)?$/.test(text)) return false
  const milliseconds = text.split('.')[0]!.length === 10 ? Number(text) * 1000 : Number(text)
  return Math.abs(milliseconds - at.getTime()) < dayMs
}
