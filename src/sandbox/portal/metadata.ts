// What anybody may know of the portal: its metadata (RFC 8414) and the public halves of its keys (RFC 7517).
import type { FastifyInstance } from 'fastify'
import { trackMethods } from '../method-not-allowed.ts'
import type { Parts } from '../parts.ts'
import type { SigningKey } from '../tokens/key-ring.ts'
import { grantTypes } from './exchange-token.ts'
import { answerInOAuthDialect, OAuthError } from './oauth-error.ts'

const publicFor5Minutes = 'public, max-age=300'

/** To be registered under /.well-known. */
export async function metadataRoutes(
  scope: FastifyInstance,
  { addresses, keyRing }: Pick<Parts, 'addresses' | 'keyRing'>,
): Promise<void> {
  scope.addHook('onRequest', async (_request, reply) => {
    // For the errors; what may be kept says so itself.
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  })
  answerInOAuthDialect(scope)

  const refuseOtherMethods = trackMethods(scope)
  scope.get('/oauth-authorization-server', async (_request, reply) => {
    reply.header('cache-control', publicFor5Minutes)
    return describePortal(addresses.portalUrl)
  })
  scope.get('/jwks.json', async (_request, reply) => {
    const keys = await keyRing.listSigningKeys()
    reply.header('cache-control', publicFor5Minutes)
    return { keys: keys.map(toPublicJwk) }
  })
  refuseOtherMethods(() => {
    throw new OAuthError(405, 'invalid_request', 'This address takes GET only.')
  })
}

function describePortal(portalUrl: string) {
  return {
    issuer: portalUrl,
    authorization_endpoint: `${portalUrl}/`,
    token_endpoint: `${portalUrl}/api/exchangeToken`,
    revocation_endpoint: `${portalUrl}/api/revokeToken`,
    jwks_uri: `${portalUrl}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

function toPublicJwk({ id, publicKey }: SigningKey) {
  return { ...publicKey.export({ format: 'jwk' }), kid: id, alg: 'ES256', use: 'sig' }
}
