// The places where a fault can happen: each call of the protocol, with the route that answers the call.
import type { FastifyRequest } from 'fastify'
import type { Dialect } from '../../http/report-refusal.ts'

export type Listener = 'portal' | 'api'

/** The dialects of calls. No fault answers with an error page. */
export type CallDialect = Exclude<Dialect, 'page'>

export interface PlaceWords {
  listener: Listener
  /** The method and the path pattern of the route. Undefined if the place has several routes. */
  route?: string
  /** The heading on the page of faults. */
  title: string
  about: string
  /**
   * Whether the call changes something. For a call that changes something, a fault can happen before or after the
   * change.
   */
  isWrite: boolean
  /** The error format of the call. */
  dialect: CallDialect
}

const portal = { listener: 'portal', isWrite: true, dialect: 'oauth' } as const
const api = { listener: 'api', isWrite: true, dialect: 'api' } as const
const reads = { isWrite: false } as const

export const places = {
  start: {
    title: 'Login request',
    ...portal,
    ...reads,
    route: 'GET /',
    about: 'the first page of the portal in a login, in the visitor’s browser',
  },
  exchange: {
    title: 'Exchange of the code',
    ...portal,
    route: 'POST /api/exchangeToken',
    about: 'the exchange of a code',
  },
  refresh: { title: 'Renewal', ...portal, route: 'POST /api/exchangeToken', about: 'the renewal of tokens' },
  revoke: { title: 'Revocation', ...portal, route: 'POST /api/revokeToken', about: 'the revocation of a token' },
  metadata: {
    title: 'Metadata',
    ...portal,
    ...reads,
    route: 'GET /.well-known/oauth-authorization-server',
    about: 'the portal’s metadata, for all clients',
  },
  keys: {
    title: 'Keys',
    ...portal,
    ...reads,
    route: 'GET /.well-known/jwks.json',
    about: 'the portal’s keys, for all clients',
  },
  me: {
    title: 'Who signed in',
    ...portal,
    ...reads,
    route: 'GET /api/me',
    about: 'the call that asks who signed in',
    dialect: 'message',
  },
  redirect: { title: 'Redirect back', ...portal, about: 'the redirect back to the client' },
  list: { title: 'List of applications', ...api, ...reads, route: 'GET /apps/v1', about: 'the list of applications' },
  create: { title: 'Create an application', ...api, route: 'POST /apps/v1', about: 'the creation of an application' },
  get: {
    title: 'Show an application',
    ...api,
    ...reads,
    route: 'GET /apps/v1/:app_id',
    about: 'the call that reads one application',
  },
  update: {
    title: 'Change an application',
    ...api,
    route: 'PUT /apps/v1/:app_id',
    about: 'the update of an application',
  },
  remove: {
    title: 'Remove an application',
    ...api,
    route: 'DELETE /apps/v1/:app_id',
    about: 'the removal of an application',
  },
  secret: {
    title: 'New secret',
    ...api,
    route: 'POST /apps/v1/:app_id/refreshSecret',
    about: 'the request for a new secret',
  },
  groups: {
    title: 'List of groups',
    ...api,
    ...reads,
    route: 'GET /identities/v1/:user_id/links',
    about: 'the list of groups',
  },
  'make-group': { title: 'Create a group', ...api, route: 'POST /identities/v1', about: 'the creation of a group' },
  link: {
    title: 'Invite a member',
    ...api,
    route: 'POST /identities/v1/:user_id/link/:group_id',
    about: 'the invitation of a member',
  },
  unlink: {
    title: 'Remove a member',
    ...api,
    route: 'DELETE /identities/v1/:user_id/link/:group_id',
    about: 'the removal of a member',
  },
  api: { title: 'Any API call', ...api, about: 'any call of the application API' },
} satisfies Record<string, PlaceWords>

export type Place = keyof typeof places

const byRoute = new Map<string, Place>()
for (const [place, words] of Object.entries(places) as [Place, PlaceWords][])
  if (words.route && place !== 'refresh') byRoute.set(`${words.listener} ${words.route}`, place)

/**
 * Returns the places to which a request belongs, the most specific first. Call this after the body of the request has
 * been read.
 */
export function placesOf(request: FastifyRequest, listener: Listener): Place[] {
  const route = `${listener} ${request.method} ${request.routeOptions.url}`
  const place = byRoute.get(route)
  if (!place) return []
  if (listener === 'api') return [place, 'api']
  // Without a client_id, a request for this address does not start a login: it leads to the account page.
  if (place === 'start') return startedBy(request) === undefined ? [] : ['start']
  const { grant_type: grantType } = (request.body ?? {}) as { grant_type?: unknown }
  return [place === 'exchange' && grantType === 'refresh_token' ? 'refresh' : place]
}

/**
 * Returns the client_id of a request that starts a login. The client_id is not proof that this client sent the browser.
 */
export function startedBy({ query }: FastifyRequest): string | undefined {
  const { client_id: clientId } = query as Record<string, unknown>
  return typeof clientId === 'string' ? clientId : undefined
}
