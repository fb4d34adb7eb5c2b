// Where something can go wrong: each call of the protocol, by the route that answers it.
import type { FastifyRequest } from 'fastify'

export type Listener = 'portal' | 'api'

export interface PlaceWords {
  listener: Listener
  /** Method and pattern; none where more than one route is meant. */
  route?: string
  about: string
  /** Whether the call changes something, so that it matters whether the platform has acted. */
  isWrite: boolean
  /** How its errors are written. */
  dialect: 'oauth' | 'message' | 'api'
}

const portal = { listener: 'portal', isWrite: true, dialect: 'oauth' } as const
const api = { listener: 'api', isWrite: true, dialect: 'api' } as const
const reads = { isWrite: false } as const

export const places = {
  exchange: { ...portal, route: 'POST /api/exchangeToken', about: 'the exchange of a code' },
  refresh: { ...portal, route: 'POST /api/exchangeToken', about: 'the renewal of tokens' },
  revoke: { ...portal, route: 'POST /api/revokeToken', about: 'the revocation of a token' },
  metadata: {
    ...portal,
    ...reads,
    route: 'GET /.well-known/oauth-authorization-server',
    about: 'the portal’s metadata, for all clients',
  },
  keys: { ...portal, ...reads, route: 'GET /.well-known/jwks.json', about: 'the portal’s keys, for all clients' },
  me: { ...portal, ...reads, route: 'GET /api/me', about: 'the question who signed in', dialect: 'message' },
  redirect: { ...portal, about: 'the address that leads back to the client' },
  list: { ...api, ...reads, route: 'GET /apps/v1', about: 'the list of applications' },
  create: { ...api, route: 'POST /apps/v1', about: 'the creation of an application' },
  get: { ...api, ...reads, route: 'GET /apps/v1/:app_id', about: 'the question for one application' },
  update: { ...api, route: 'PUT /apps/v1/:app_id', about: 'the update of an application' },
  remove: { ...api, route: 'DELETE /apps/v1/:app_id', about: 'the removal of an application' },
  secret: { ...api, route: 'POST /apps/v1/:app_id/refreshSecret', about: 'the request for a new secret' },
  groups: { ...api, ...reads, route: 'GET /identities/v1/:user_id/links', about: 'the list of groups' },
  'make-group': { ...api, route: 'POST /identities/v1', about: 'the creation of a group' },
  link: { ...api, route: 'POST /identities/v1/:user_id/link/:group_id', about: 'the invitation of a member' },
  unlink: { ...api, route: 'DELETE /identities/v1/:user_id/link/:group_id', about: 'the removal of a member' },
  api: { ...api, about: 'any call of the application API' },
} satisfies Record<string, PlaceWords>

export type Place = keyof typeof places

const byRoute = new Map<string, Place>()
for (const [place, words] of Object.entries(places) as [Place, PlaceWords][])
  if (words.route && place !== 'refresh') byRoute.set(`${words.listener} ${words.route}`, place)

/** Those that the request belongs to, the narrowest first. Its body is read. */
export function placesOf(request: FastifyRequest, listener: Listener): Place[] {
  const route = `${listener} ${request.method} ${request.routeOptions.url}`
  const place = byRoute.get(route)
  if (!place) return []
  if (listener === 'api') return [place, 'api']
  const { grant_type: grantType } = (request.body ?? {}) as { grant_type?: unknown }
  return [place === 'exchange' && grantType === 'refresh_token' ? 'refresh' : place]
}
