// Reads applications, credentials and groups from the API's answers. A field that is missing or has the wrong type
// becomes an empty value.
import { isRecord } from '../upstream.ts'
import type { ApplicationFields, Client } from './fields.ts'

/** If a text field is missing from the API's answer, its value is an empty string. */
export type Application = Omit<ApplicationFields, keyof Client> & {
  /** The platform gives an application and its OAuth client the same id, so this is also the client ID. */
  id: string
  createdAt: Date | undefined
  updatedAt: Date | undefined
  /** Undefined if the application comes from a list, or if the API does not return the OAuth client. */
  client: Client | undefined
  /** The names of the optional fields that the API did not return. Their values above are empty. */
  missing: string[]
  /**
   * The times at which the valid client secrets were created, newest first. If the API does not return these times, the
   * list is empty. If the application comes from a list, the value is undefined.
   */
  secretTimes?: Date[]
  /**
   * The strong ETag of the application. Undefined if the application comes from a list, or if the API does not send a
   * strong ETag.
   */
  etag?: string | undefined
}

/**
 * A client secret and app access tokens. The API returns these credentials only once. This client keeps the credentials
 * in two places:
 *
 * - in a sealed cookie, until the next page has shown the credentials, but for at most ten minutes (handover.ts);
 * - in memory, so that the client gives the same response if the browser sends a form twice (`once` in web/forms.ts).
 *   The credentials in memory expire after ten minutes. The process deletes expired credentials when somebody next
 *   sends a form of the same kind.
 */
export type Credentials = {
  clientId: string
  clientSecret: string
  /** `endsAt` is an RFC 3339 time. If the API does not return a lifetime, `endsAt` is missing. */
  appAccessTokens: { id: string; token: string; endsAt?: string }[]
}

export type Group = {
  id: string
  name: string
  /** Whether the visitor created the group. Undefined if the API does not say who created the group. */
  isOwn: boolean | undefined
}

/** Whether an item of a list has an id that fits into an address. An item without such an id cannot have a page. */
export function hasApplicationId(item: unknown): item is { '@id': string } {
  return isRecord(item) && applicationId.test(textOf(item['@id']))
}

/** An id that fits into an address. */
export const applicationId = /^[\w-]{1,100}$/

/** The fields of an application that may be empty. */
const optionalFields = [
  'description',
  'webPageUrl',
  'iconUrl',
  'privacyPolicyUrl',
  'defaultRedirectUri',
  'scopes',
  'defaultScopes',
]

export function readApplication(record: { '@id': string; [name: string]: unknown }): Application {
  const { '@id': id, data, metadata, inLinks, client } = record
  const { name, description, webPageUrl, iconUrl, privacyPolicyUrl } = objectOf(data)
  const { createdAt, updatedAt } = objectOf(metadata)
  const returned = { ...objectOf(data), ...objectOf(client) }
  const groupLink = listOf(inLinks).find(link => objectOf(link)['@type'] === 'DeveloperOf')
  return {
    id,
    name: textOf(name),
    description: textOf(description),
    webPageUrl: textOf(webPageUrl),
    iconUrl: textOf(iconUrl),
    privacyPolicyUrl: textOf(privacyPolicyUrl),
    groupId: textOf(objectOf(groupLink).from),
    createdAt: readTime(createdAt),
    updatedAt: readTime(updatedAt),
    client: isRecord(client) ? readClient(client) : undefined,
    missing: optionalFields.filter(name => typeof returned[name] !== 'string'),
  }
}

function readClient({ redirectUris, defaultRedirectUri, scopes, defaultScopes }: Record<string, unknown>): Client {
  return {
    redirectUris: [redirectUris].flat().map(textOf).join(','),
    defaultRedirectUri: textOf(defaultRedirectUri),
    scopes: textOf(scopes),
    defaultScopes: textOf(defaultScopes),
  }
}

/** The API returns the lifetime of each token in seconds. `now` is the time at which the API answered. */
export function readAppAccessTokens(tokens: unknown, now: Date): Credentials['appAccessTokens'] {
  return listOf(tokens).map(item => {
    const { id, token, expires_in: seconds } = objectOf(item)
    // 1e10 seconds are 317 years. With a much larger lifetime, the end would not be a valid JavaScript date.
    const hasEnd = typeof seconds === 'number' && seconds > 0 && seconds < 1e10
    const end = hasEnd && { endsAt: new Date(now.getTime() + seconds * 1000).toISOString() }
    return { id: textOf(id), token: textOf(token), ...end }
  })
}

export function readGroup(link: unknown): Group {
  const { to, data } = objectOf(link)
  const { name, status } = objectOf(data)
  return { id: textOf(to), name: textOf(name), isOwn: status === undefined ? undefined : status === 'maker' }
}

/** Compares two applications. If a list is sorted with this function, the newest application comes first. */
export function byNewest(a: Application, b: Application): number {
  return (b.createdAt?.getTime() ?? 0) - (a.createdAt?.getTime() ?? 0)
}

function objectOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The result has no half surrogate pair, because encodeURIComponent would throw an error for it. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}

/**
 * Reads a header that contains times, separated by commas. Returns an empty list if the header is missing, or if the
 * answer contains the header more than once.
 */
export function readTimes(header: string | string[] | undefined): Date[] {
  const times = typeof header === 'string' ? header.split(',') : []
  return times.map(time => readTime(time.trim())).filter(time => time !== undefined)
}

/** Reads an RFC 3339 time or an HTTP date. */
export function readTime(value: unknown): Date | undefined {
  const time = Date.parse(textOf(value))
  return Number.isNaN(time) ? undefined : new Date(time)
}
