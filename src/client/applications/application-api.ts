// The application API (part 4.1 of the specification), as typed calls with the visitor's own access token.
import { FieldError, PublicError } from '../errors.ts'
import type { Caller } from '../sign-in/sign-in.ts'
import { type Answer, type Call, isRecord, type Upstream } from '../upstream.ts'
import { type Client, type Fields, formFields } from './fields.ts'

/** A text that the API does not tell is empty. */
export type Application = Omit<Fields, keyof Client> & {
  id: string
  createdAt: Date | undefined
  updatedAt: Date | undefined
  /** Undefined where the API does not tell it; lists never do. */
  client: Client | undefined
  /** For an update of what was read. Undefined where the API sends no strong one; lists never do. */
  etag?: string | undefined
}

/** Shown once, and stored nowhere here. Times are as in JSON, and left out where the API does not tell. */
export type Credentials = {
  clientId: string
  clientSecret: string
  appAccessTokens: { id: string; token: string; endsAt?: string }[]
}

/** `isOwn`: whether the visitor made it; undefined where the API does not tell. */
export type Group = { id: string; name: string; isOwn: boolean | undefined }

// Yours: the data models that the envelope (part 2 of the specification) names.
const envelopes = {
  App: { context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/', type: 'App' },
  Group: { context: 'https://standards.oftrust.net/v2/Context/Identity/Group/', type: 'Group' },
}

const usualLimits = { deadlineMs: 10_000, maxBytes: 256 * 1024 }

export type ApplicationApi = ReturnType<typeof createApplicationApi>

/** `apiUrl`: where this server reaches the API, without `/apps/v1`. Every call throws PublicError, 401 included. */
export function createApplicationApi(apiUrl: string, upstream: Upstream, clock: () => Date) {
  type Options = { sent?: object; ifMatch?: string | undefined } & Partial<typeof usualLimits>

  /** The answer with the status `expected`; FieldError where the API refuses what is `sent`. */
  async function exchange(
    { accessToken, context }: Caller,
    method: Call['method'],
    path: string,
    expected: number,
    { sent, ifMatch, ...limits }: Options = {},
  ): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${accessToken}`,
      ...(sent && { 'content-type': 'application/json' }),
      ...(ifMatch && { 'if-match': ifMatch }),
    }
    const body = sent && { body: JSON.stringify(sent) }
    const call = { method, url: apiUrl + path, headers, context, ...body }
    const answer = await upstream.send({ ...usualLimits, ...limits, ...call })
    const { status, json } = answer
    if (status === expected) return answer
    if (status === 422 && sent) throw readRefusal(json)
    if (status in refusals) throw refusal(status)
    throw upstream.unusable(answer)
  }

  async function ask(...call: Parameters<typeof exchange>): Promise<Record<string, unknown>> {
    return asRecord((await exchange(...call)).json)
  }

  function readOne(answer: Record<string, unknown>): Application {
    if (hasApplicationId(answer)) return readApplication(answer)
    throw upstream.unexpected('an application without an id')
  }

  return {
    /** Every application that the visitor develops, in the order of the API. */
    async list(caller: Caller): Promise<Application[]> {
      const { ItemList: items } = await ask(caller, 'GET', '/apps/v1', 200, { maxBytes: 8 * 1024 * 1024 })
      if (!Array.isArray(items)) throw upstream.unexpected('no list')
      // Without an id that fits into an address there is no page to lead to.
      return items.filter(hasApplicationId).map(readApplication)
    },

    async get(caller: Caller, id: string): Promise<Application> {
      const { json, etag } = await exchange(caller, 'GET', pathOf(id), 200)
      return { ...readOne(asRecord(json)), etag: strongTag(etag) }
    },

    async create(caller: Caller, fields: Fields): Promise<{ id: string; credentials: Credentials }> {
      const sent = { ...envelopes.App, data: fields }
      const answer = await ask(caller, 'POST', '/apps/v1', 201, { sent }).catch(error => {
        // Both are about the group that was chosen, so they belong beside that field.
        if (error.statusCode === 403) throw new FieldError({ groupId: ['You are not a member of this group.'] })
        if (error.statusCode === 404) throw new FieldError({ groupId: ['There is no group with this id.'] })
        throw error
      })
      const { id } = readOne(answer)
      const credentials = readCredentials(answer, clock())
      if (credentials.clientId && credentials.clientSecret) return { id, credentials }
      throw upstream.unexpected('a new application without its client')
    },

    /**
     * A field that is left out keeps its value. With the tag of what was read, the error `application_changed` where
     * somebody else has changed the application since then.
     */
    async update(caller: Caller, id: string, fields: Partial<Fields>, etag: string | undefined): Promise<void> {
      const sent = { ...envelopes.App, data: fields }
      readOne(await ask(caller, 'PUT', pathOf(id), 200, { sent, ifMatch: etag }))
    },

    async remove(caller: Caller, id: string): Promise<void> {
      await ask(caller, 'DELETE', pathOf(id), 204)
    },

    /** A new client secret; the one before stays good, the one before that does not. */
    async refreshSecret(caller: Caller, id: string): Promise<string> {
      const { clientSecret } = await ask(caller, 'POST', `${pathOf(id)}/refreshSecret`, 201)
      if (typeof clientSecret === 'string') return clientSecret
      throw upstream.unexpected('no client secret')
    },

    /** Makes a group, whose member the visitor then is, and answers its id. */
    async createGroup(caller: Caller, name: string): Promise<string> {
      const refused = (reasons: string[]) => new FieldError({ groupName: reasons })
      const notCreated = refused(['The group could not be created. Create one at the login portal.'])
      const sent = { ...envelopes.Group, data: { name } }
      const answer = await ask(caller, 'POST', '/identities/v1', 201, { sent }).catch(error => {
        // Whichever field it is about there, here it is this one.
        const reasons = error instanceof FieldError ? Object.values(error.fields).flat() : []
        if (reasons.length > 0) throw refused(reasons)
        throw error.code === 'api_unauthorized' || !(error.statusCode in refusals) ? error : notCreated
      })
      const id = asText(answer['@id'])
      if (id) return id
      throw notCreated
    },

    /** The visitor's groups; undefined where the API does not tell, so that the id has to be typed. */
    async listGroups(caller: Caller): Promise<Group[] | undefined> {
      if (!caller.userId) return undefined
      const path = `/identities/v1/${encodeURIComponent(caller.userId)}/links?type=MemberOf`
      const { ItemList: items } = await ask(caller, 'GET', path, 200, { deadlineMs: 2_000 }).catch(error => {
        if (error instanceof PublicError && error.statusCode !== 401) return {} as Record<string, unknown>
        throw error
      })
      return Array.isArray(items) ? items.map(readGroup).filter(({ id }) => id) : undefined
    },
  }
}

const refusals: Record<number, [code: string, message: string]> = {
  401: ['api_unauthorized', 'The application API does not accept your sign-in any more.'],
  403: ['api_forbidden', 'You are not allowed to do this.'],
  404: ['application_not_found', 'There is no such application, or it is not yours.'],
  409: ['api_conflict', 'The application has changed in the meantime. Open it again, then try once more.'],
  412: ['application_changed', 'Somebody else has changed the application just now. Please send the form again.'],
}

function refusal(status: number): PublicError {
  const [code, message] = refusals[status]!
  return new PublicError(code, status, message, { nextStep: { href: '/applications', text: 'Your applications' } })
}

export const noSuchApplication = () => refusal(404)

/** One that can be compared (RFC 9110 8.8.3.2) and sent back in a header, wherever the text comes from. */
export function strongTag(text: string | undefined): string | undefined {
  return text !== undefined && /^"[\x21\x23-\x7e]{0,200}"$/.test(text) ? text : undefined
}

export function isApplicationId(id: string): boolean {
  return /^[\w-]{1,100}$/.test(id)
}

function hasApplicationId(record: unknown): boolean {
  return isRecord(record) && isApplicationId(asText(record['@id']))
}

function pathOf(id: string): string {
  return `/apps/v1/${encodeURIComponent(id)}`
}

export function byNewest(one: Application, other: Application): number {
  return (other.createdAt?.getTime() ?? 0) - (one.createdAt?.getTime() ?? 0)
}

function readApplication(record: unknown): Application {
  const { '@id': id, data, metadata, inLinks, client } = asRecord(record)
  const { name, description, webPageUrl, iconUrl, privacyPolicyUrl } = asRecord(data)
  const { createdAt, updatedAt } = asRecord(metadata)
  const group = asList(inLinks).find(link => asRecord(link)['@type'] === 'DeveloperOf')
  return {
    id: asText(id),
    name: asText(name),
    description: asText(description),
    webPageUrl: asText(webPageUrl),
    iconUrl: asText(iconUrl),
    privacyPolicyUrl: asText(privacyPolicyUrl),
    groupId: asText(asRecord(group).from),
    createdAt: asTime(createdAt),
    updatedAt: asTime(updatedAt),
    client: isRecord(client) ? readClient(client) : undefined,
  }
}

function readClient({ redirectUris, defaultRedirectUri, scopes, defaultScopes }: Record<string, unknown>): Client {
  return {
    redirectUris: [redirectUris].flat().map(asText).join(','),
    defaultRedirectUri: asText(defaultRedirectUri),
    scopes: asText(scopes),
    defaultScopes: asText(defaultScopes),
  }
}

function readCredentials({ client, tokens }: Record<string, unknown>, now: Date): Credentials {
  const { clientId, clientSecrets } = asRecord(client)
  const appAccessTokens = asList(tokens)
    .map(asRecord)
    .map(({ id, token, expires_in: seconds }) => {
      // Of a token that outlives the calendar nothing is said.
      const isTold = typeof seconds === 'number' && seconds > 0 && seconds < 1e10
      const endsAt = isTold && { endsAt: new Date(now.getTime() + seconds * 1000).toISOString() }
      return { id: asText(id), token: asText(token), ...endsAt }
    })
  return { clientId: asText(clientId), clientSecret: asText(asList(clientSecrets)[0]), appAccessTokens }
}

function readGroup(link: unknown): Group {
  const { to, data } = asRecord(link)
  const { name, status } = asRecord(data)
  return { id: asText(to), name: asText(name), isOwn: status === undefined ? undefined : status === 'maker' }
}

/** Of a sentence of the API, in characters. */
const longestReason = 500

/** The API's own dialect tells of each field, or in a sentence of all of them; OAuth's (RFC 6749 5.2) has a sentence. */
function readRefusal(json: unknown): FieldError {
  const { error, error_description } = asRecord(json)
  const message = isRecord(error) ? error.message : error_description
  const fields = Object.entries(asRecord(message)).map(([field, texts]) => [field, readReasons(texts)])
  if (fields.length > 0) return new FieldError(Object.fromEntries(fields))
  const reason = asText(message).trim().slice(0, longestReason) || 'It does not say why.'
  return new FieldError({}, `The application API did not accept this. ${reason}`)
}

/** With the labels of the form in place of the wire's names. */
function readReasons(texts: unknown): string[] {
  const labels: Record<string, { label: string }> = formFields
  const reword = (text: string) => text.replace(/\b[a-z]+([A-Z][a-z]+)+\b/g, word => labels[word]?.label ?? word)
  const reasons = [texts].flat().map(asText).filter(Boolean).map(reword)
  return reasons.length > 0 ? reasons : ['Not accepted.']
}

// Whatever is missing or of another type reads as empty: one odd record must not hide the others. A list may have over
// a hundred thousand of them, so that nothing is made for what is not there.

const emptyRecord: Record<string, unknown> = Object.freeze({})

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : emptyRecord
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function asTime(value: unknown): Date | undefined {
  const time = Date.parse(asText(value))
  return Number.isNaN(time) ? undefined : new Date(time)
}
