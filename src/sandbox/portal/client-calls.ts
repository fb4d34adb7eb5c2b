// The calls that clients make: they exchange a code or renew tokens (CL-14, RF-01), and revoke tokens (RFC 7009).
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../grants/clients.ts'
import { redeemCode } from '../grants/codes.ts'
import { type IssuedTokens, renewTokens, revokeToken } from '../grants/tokens.ts'
import { formBodyLimit } from '../http/server.ts'
import { sourceOf } from '../http/trusted-proxies.ts'
import { stepNotesOf } from '../observe/notes.ts'
import { noteAbout } from '../observe/observe.ts'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { parseJson } from '../values/parse-json.ts'
import { longestText } from '../values/text-length.ts'
import { isFromOtherSite } from './cross-site-guard.ts'
import { readFields, setCallHeaders } from './fields.ts'
import { answerInOAuthDialect } from './oauth-errors.ts'
import type { CodeRequest, RenewalRequest, RevocationRequest, TokenAnswer, TokenRequest } from './schemas.ts'

type CallServices = Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>

/**
 * Sets up a scope for the calls of clients: parsers, headers, the error format, and the guard against pages of other
 * sites.
 */
export async function useClientCalls(scope: FastifyInstance, services: Pick<Services, 'addresses'>): Promise<void> {
  await scope.register(formbody)
  refuseOtherTypes(scope)
  setCallHeaders(scope)
  answerInOAuthDialect(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, services.addresses.portalUrl)) throw new Refusal('cross-site')
  })
}

/**
 * Refuses a body that is neither a form nor JSON: with 415, or with 413 if it is too large. The parser only looks for
 * the client id in the body. The laboratory can then show the refusal under this client, where the developer looks for
 * it.
 */
function refuseOtherTypes(scope: FastifyInstance): void {
  scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: formBodyLimit }, (request, body, done) => {
    noteClaim(request, String(body))
    done(Object.assign(new Error('Unsupported Media Type'), { statusCode: 415 }))
  })
}

function noteClaim(request: FastifyRequest, text: string): void {
  const clientId =
    new URLSearchParams(text).get('client_id') ??
    (parseJson(text) as { client_id?: unknown } | null | undefined)?.client_id
  if (typeof clientId === 'string') noteAbout(request, { claimedClientId: clientId.slice(0, longestText) })
}

/** Returns whether the body of a request to /api/exchangeToken asks for a renewal. `body` may have any type. */
export function isRenewal(body: unknown): boolean {
  return (body as { grant_type?: unknown } | null | undefined)?.grant_type === 'refresh_token'
}

export function clientCallRoutes(services: CallServices) {
  async function exchange(request: FastifyRequest): Promise<TokenAnswer> {
    const call = readFields<TokenRequest>(request)
    const credentials = call.require('grant_type', 'client_id', 'client_secret')
    const { grant_type: grantType } = credentials
    const clientId = await authenticate(credentials, request)
    // Check the other fields only after the client is authenticated. A caller that is not the client must not learn
    // what is wrong with these fields.
    const fields = call.requireAll()
    const { accessToken, expiresInSeconds, refreshToken } =
      fields.grant_type === 'refresh_token' ? await renew(fields, request) : await redeem(fields, request)
    request.log.info({ code: 'tokens-issued', grantType, clientId }, 'tokens were issued')
    return {
      access_token: accessToken,
      expires_in: expiresInSeconds,
      token_type: 'Bearer',
      scope: '',
      refresh_token: refreshToken,
      ...(fields.state !== undefined && { state: fields.state }),
    }
  }

  async function redeem(
    { client_id: clientId, code, redirect_uri: redirectUri, state, code_verifier: codeVerifier }: CodeRequest,
    request: FastifyRequest,
  ): Promise<IssuedTokens> {
    const given = { clientId, code, redirectUri, state, codeVerifier }
    return redeemCode(services, given, stepNotesOf(request)).catch(error => {
      if (error instanceof Refusal && error.details.isRetry)
        request.log.info(
          { code: 'code-replayed', clientId },
          'a code was sent twice within 10 s; its tokens stay valid',
        )
      throw error
    })
  }

  async function renew(
    { client_id: clientId, refresh_token: refreshToken, scope }: RenewalRequest,
    request: FastifyRequest,
  ): Promise<IssuedTokens> {
    // A login at this portal has no scope, and a renewal must not add a scope (RFC 6749 6).
    if (scope !== undefined) throw new Refusal('scope-refused')
    return renewTokens(services, { clientId, refreshToken }, stepNotesOf(request))
  }

  async function revoke(request: FastifyRequest, reply: FastifyReply) {
    const fields = readFields<RevocationRequest>(request).requireAll()
    const clientId = await authenticate(fields, request)
    if (await revokeToken(services, fields.token, clientId))
      request.log.info({ code: 'tokens-revoked', clientId }, 'tokens were revoked')
    // The answer is the same for an unknown token, because an unknown token is already invalid (RFC 7009 2.2).
    return reply.status(200).send()
  }

  async function authenticate(
    { client_id: clientId, client_secret: secret }: Pick<RevocationRequest, 'client_id' | 'client_secret'>,
    request: FastifyRequest,
  ): Promise<string> {
    const credentials = { clientId, secret, sourceOf: () => sourceOf(request) }
    await authenticateClient(services, credentials, stepNotesOf(request))
    return clientId
  }

  return { exchange, revoke }
}
