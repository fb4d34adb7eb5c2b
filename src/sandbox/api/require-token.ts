// Accepts a request only if it has a valid access token of this portal, and if the route allows this kind of token.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { step } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import type { Maker } from '../store/applications.ts'
import type { Caller, CallerReason, TokenKind } from '../tokens/find-caller.ts'
import { identifyCaller } from '../tokens/identify-caller.ts'
import { ApiError, permissionDenied } from './api-error.ts'

const decoratorName = 'caller'

interface AcceptedTokens {
  kinds: readonly TokenKind[]
  refusal: (appId: string) => string
}

/**
 * A user's token gives all rights of this user, whichever client sends the token. There is one exception: only a token
 * from the portal's own page gives the right to change the members of groups.
 */
const users: readonly TokenKind[] = ['portal', 'client']

/**
 * Returns the `config` of a route of the API. Because of this config, the laboratory records requests to the route as
 * steps of the kind `api`. The config also contains the kinds of tokens that the route accepts, and the message of the
 * 403 answer to other tokens. By default, a route accepts only tokens of users.
 */
export function acceptTokens(accepted: Partial<AcceptedTokens> = {}): object {
  return { ...step('api').config, ...accepted }
}

/** The caller of this request. Works only in a scope that was passed to requireToken. */
export function callerOf(request: FastifyRequest): Caller {
  return request.getDecorator<Caller>(decoratorName)
}

/**
 * Returns the user and the client that send this request. The store saves them with each record that the request
 * creates.
 */
export function makerOf(request: FastifyRequest): Maker {
  const { kind, userId, clientId } = callerOf(request)
  return { userId, clientId: kind === 'portal' ? null : clientId }
}

/**
 * Guards every route of the scope. The check runs before the body is read, so that strangers cannot make the server
 * read a body.
 */
export function requireToken(
  scope: FastifyInstance,
  services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
): void {
  scope.decorateRequest(decoratorName, null)
  scope.addHook('onRequest', async request => {
    const { authorization } = request.headers
    if (authorization === undefined) throw unauthorized('token-missing')
    // A caller must send the token in one place only (RFC 6750 3.1). A token in the address is never accepted.
    if ((request.query as Record<string, unknown>).access_token !== undefined)
      throw new ApiError(400, 'Send the access token in the Authorization header only.', { reason: 'field-misplaced' })
    const caller = await identifyCaller(services, request)
    if (typeof caller === 'string') throw unauthorized(caller)
    const { kinds = users, refusal = () => permissionDenied } = request.routeOptions.config as Partial<AcceptedTokens>
    if (!kinds.includes(caller.kind))
      throw new ApiError(403, refusal((request.params as { app_id?: string }).app_id ?? ''), {
        reason: 'token-of-another-kind',
      })
    request.setDecorator<Caller>(decoratorName, caller)
  })
}

function unauthorized(reason: CallerReason): ApiError {
  // Without a token, the challenge contains no error code (RFC 6750 3.1).
  const error = reason === 'token-missing' ? '' : ', error="invalid_token"'
  const headers = { 'www-authenticate': `Bearer realm="application API"${error}` }
  return new ApiError(401, 'Unauthorized', { headers, reason })
}
