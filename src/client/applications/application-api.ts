// The application API (part 4.1 of the specification), as typed calls with the visitor's own access token.
import { FieldError, PublicError } from '../errors.ts'
import type { Caller } from '../sign-in/sign-in.ts'
import { type Answer, type Call, isRecord, type Upstream } from '../upstream.ts'
import type { Fields } from './fields.ts'

/** What is read of every application of a list, of which there may be thousands. */
export type ListedApplication = {
  id: string
  name: string
  description: string
  webPageUrl: string
  iconUrl: string
  privacyPolicyUrl: string
  createdAt: Date | undefined
  groupId: string | undefined
}

export type Application = ListedApplication & {
  updatedAt: Date | undefined
  /** Undefined where the API does not tell it. `redirectUris` is one string, a comma-separated list. */
  client: { redirectUris: string; defaultRedirectUri: string; scopes: string; defaultScopes: string } | undefined
}

export function byNewest(one: ListedApplication, other: ListedApplication): number {
  return (other.createdAt?.getTime() ?? 0) - (one.createdAt?.getTime() ?? 0)
}

/** `expiresIn` in seconds, and undefined where the API does not tell. */
export type AppAccessToken = { id: string; token: string; expiresIn: number | undefined }

/** Shown once, and stored nowhere here. */
export type Credentials = { clientId: string; clientSecret: string; appAccessTokens: AppAccessToken[] }

// Yours: the data models that the envelope (part 2 of the specification) names.
const envelopes = {
  App: { context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/', type: 'App' },
  Group: { context: 'https://standards.oftrust.net/v2/Context/Identity/Group/', type: 'Group' },
}

const usualLimits = { deadlineMs: 10_000, maxBytes: 256 * 1024 }
const listLimits = { deadlineMs: 10_000, maxBytes: 8 * 1024 * 1024 }
const groupLimits = { deadlineMs: 2_000, maxBytes: 256 * 1024 }
/** Of a sentence of the API, in characters. */
const longestReason = 500

/** `isOwn`: whether the visitor made it; undefined where the API does not tell. */
export type Group = { id: string; name: string; isOwn: boolean | undefined }

export type ApplicationApi = ReturnType<typeof createApplicationApi>

/** `apiUrl`: where this server reaches the API, without `/apps/v1`. Every call throws PublicError, 401 included. */
export function createApplicationApi(apiUrl: string, upstream: Upstream) {
  async function send(caller: Caller, method: Call['method'], path: string, sent?: object, limits = usualLimits) {
    const headers = { authorization: `Bearer ${caller.accessToken}` }
    const body = sent && { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(sent) }
    const answer = await upstream.send({
      method,
      url: apiUrl + path,
      headers,
      context: caller.context,
      ...limits,
      ...body,
    })
    if (answer.status === 422 && sent) throw readRefusal(answer.json)
    if (answer.status !== 401) return answer
    throw new PublicError('api_unauthorized', 401, 'The application API does not accept your sign-in any more.')
  }

  function readOne(answer: Answer, status: number): Application {
    if (answer.status !== status || !isRecord(answer.json)) throw fault(answer)
    const application = readApplication(answer.json)
    if (isApplicationId(application.id)) return application
    throw upstream.unexpected('an application without an id')
  }

  function fault(answer: Answer): PublicError {
    return answer.status in refusals ? refusal(answer.status) : upstream.unusable(answer)
  }

  return {
    /** Every application that the visitor develops, in the order of the API. */
    async list(caller: Caller): Promise<ListedApplication[]> {
      const answer = await send(caller, 'GET', '/apps/v1', undefined, listLimits)
      const items = isRecord(answer.json) ? answer.json.ItemList : undefined
      if (answer.status !== 200 || !Array.isArray(items)) throw fault(answer)
      // Without an id that fits into an address there is no page to lead to.
      return items
        .filter(isRecord)
        .map(readListed)
        .filter(({ id }) => isApplicationId(id))
    },

    async get(caller: Caller, id: string): Promise<Application> {
      return readOne(await send(caller, 'GET', pathOf(id)), 200)
    },

    async create(caller: Caller, fields: Fields): Promise<{ id: string; credentials: Credentials }> {
      const answer = await send(caller, 'POST', '/apps/v1', { ...envelopes.App, data: fields })
      // Both are about the group that was chosen, so they belong beside that field.
      if (answer.status === 403) throw new FieldError({ groupId: ['You are not a member of this group.'] })
      if (answer.status === 404) throw new FieldError({ groupId: ['There is no group with this id.'] })
      const { id } = readOne(answer, 201)
      const credentials = readCredentials(answer.json as Record<string, unknown>)
      if (credentials) return { id, credentials }
      throw upstream.unexpected('a new application without its client')
    },

    /** A field that is left out keeps its value. */
    async update(caller: Caller, id: string, fields: Partial<Fields>): Promise<void> {
      readOne(await send(caller, 'PUT', pathOf(id), { ...envelopes.App, data: fields }), 200)
    },

    async remove(caller: Caller, id: string): Promise<void> {
      const answer = await send(caller, 'DELETE', pathOf(id))
      if (answer.status !== 204) throw fault(answer)
    },

    /** A new client secret; the one before stays good, the one before that does not. */
    async refreshSecret(caller: Caller, id: string): Promise<string> {
      const answer = await send(caller, 'POST', `${pathOf(id)}/refreshSecret`)
      const secret = isRecord(answer.json) ? answer.json.clientSecret : undefined
      if (answer.status !== 201 || typeof secret !== 'string') throw fault(answer)
      return secret
    },

    /** Makes a group, whose member the visitor then is, and answers its id. */
    async createGroup(caller: Caller, name: string): Promise<string> {
      const answer = await send(caller, 'POST', '/identities/v1', { ...envelopes.Group, data: { name } }).catch(
        error => {
          // Whichever field it is about there, here it is this one.
          const reasons = error instanceof FieldError ? Object.values(error.fields).flat() : []
          throw reasons.length > 0 ? new FieldError({ groupName: reasons }) : error
        },
      )
      const id = isRecord(answer.json) ? asText(answer.json['@id']) : ''
      if (answer.status === 201 && id) return id
      if (answer.status === 429 || answer.status >= 500) throw upstream.unusable(answer)
      throw new FieldError({ groupName: ['The group could not be created. Create one at the login portal.'] })
    },

    /** The visitor's groups; undefined where the API does not tell, so that the id has to be typed. */
    async listGroups(caller: Caller): Promise<Group[] | undefined> {
      if (!caller.userId) return undefined
      try {
        const path = `/identities/v1/${encodeURIComponent(caller.userId)}/links?type=MemberOf`
        const answer = await send(caller, 'GET', path, undefined, groupLimits)
        const items = answer.status === 200 && isRecord(answer.json) ? answer.json.ItemList : undefined
        if (!Array.isArray(items)) return undefined
        return items
          .filter(isRecord)
          .map(readGroup)
          .filter(({ id }) => id !== '')
      } catch (error) {
        if (error instanceof PublicError && error.statusCode === 401) throw error
        return undefined
      }
    },
  }
}

const refusals: Record<number, [code: string, message: string]> = {
  403: ['api_forbidden', 'You are not allowed to do this with this application.'],
  404: ['application_not_found', 'There is no such application, or it is not yours.'],
  409: ['api_conflict', 'The application has changed in the meantime. Open it again, then try once more.'],
}

function refusal(status: number): PublicError {
  const [code, message] = refusals[status]!
  return new PublicError(code, status, message, { nextStep: { href: '/applications', text: 'Your applications' } })
}

export const noSuchApplication = () => refusal(404)

export function isApplicationId(id: string): boolean {
  return /^[\w-]{1,100}$/.test(id)
}

function pathOf(id: string): string {
  return `/apps/v1/${encodeURIComponent(id)}`
}

function readGroup({ to, data }: Record<string, unknown>): Group {
  const { name, status } = isRecord(data) ? data : {}
  return { id: asText(to), name: asText(name), isOwn: status === undefined ? undefined : status === 'maker' }
}

/** Whatever is missing or of another type becomes an empty text: one odd record must not hide the others. */
function readListed(record: Record<string, unknown>): ListedApplication {
  const data = isRecord(record.data) ? record.data : {}
  const metadata = isRecord(record.metadata) ? record.metadata : {}
  const links = Array.isArray(record.inLinks) ? record.inLinks : []
  const group = links.find(link => isRecord(link) && link['@type'] === 'DeveloperOf')
  return {
    id: asText(record['@id']),
    name: asText(data.name),
    description: asText(data.description),
    webPageUrl: asText(data.webPageUrl),
    iconUrl: asText(data.iconUrl),
    privacyPolicyUrl: asText(data.privacyPolicyUrl),
    createdAt: asTime(metadata.createdAt),
    groupId: asText(group?.from) || undefined,
  }
}

function readApplication(record: Record<string, unknown>): Application {
  const { metadata, client } = record
  return {
    ...readListed(record),
    updatedAt: isRecord(metadata) ? asTime(metadata.updatedAt) : undefined,
    client: isRecord(client)
      ? {
          redirectUris: [client.redirectUris].flat().map(asText).join(','),
          defaultRedirectUri: asText(client.defaultRedirectUri),
          scopes: asText(client.scopes),
          defaultScopes: asText(client.defaultScopes),
        }
      : undefined,
  }
}

function readCredentials({ client, tokens }: Record<string, unknown>): Credentials | undefined {
  const secrets = isRecord(client) && Array.isArray(client.clientSecrets) ? client.clientSecrets : []
  const clientId = isRecord(client) ? asText(client.clientId) : ''
  const clientSecret = asText(secrets[0])
  if (!clientId || !clientSecret) return undefined
  const appAccessTokens = (Array.isArray(tokens) ? tokens : [])
    .filter(isRecord)
    .map(({ id, token, expires_in }) => ({
      id: asText(id),
      token: asText(token),
      expiresIn: typeof expires_in === 'number' && expires_in > 0 && expires_in < 1e10 ? expires_in : undefined,
    }))
  return { clientId, clientSecret, appAccessTokens }
}

/** The API's own dialect tells of each field, or in a sentence of all of them; OAuth's (RFC 6749 5.2) has a sentence. */
function readRefusal(json: unknown): FieldError {
  const { error, error_description } = isRecord(json) ? json : {}
  const message = isRecord(error) ? error.message : error_description
  const fields = isRecord(message) ? readMessages(message) : {}
  if (Object.keys(fields).length > 0) return new FieldError(fields)
  const reason = asText(message).trim().slice(0, longestReason) || 'It does not say why.'
  return new FieldError({}, `The application API did not accept this. ${reason}`)
}

function readMessages(messages: Record<string, unknown>): Record<string, string[]> {
  const read = (texts: unknown) => [texts].flat().map(asText).filter(Boolean)
  const entries = Object.entries(messages).map(([field, texts]) => [field, read(texts)] as const)
  return Object.fromEntries(entries.map(([field, texts]) => [field, texts.length > 0 ? texts : ['Not accepted.']]))
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function asTime(value: unknown): Date | undefined {
  const time = new Date(asText(value))
  return Number.isNaN(time.getTime()) ? undefined : time
}
