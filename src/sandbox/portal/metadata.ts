// Shows public information about the portal: its metadata (RFC 8414) and its public keys (RFC 7517).
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import type { SigningKey } from '../tokens/key-ring.ts'
import { grantTypes } from './oauth-errors.ts'

const publicFor5Minutes = 'public, max-age=300'

export function metadataRoutes({ addresses, keyRing }: Pick<Services, 'addresses' | 'keyRing'>) {
  async function describe(_request: FastifyRequest, reply: FastifyReply) {
    reply.header('cache-control', publicFor5Minutes)
    return describePortal(addresses.portalUrl)
  }

  async function listKeys(_request: FastifyRequest, reply: FastifyReply) {
    const keys = await keyRing.listSigningKeys()
    reply.header('cache-control', publicFor5Minutes)
    return { keys: keys.map(toPublicJwk) }
  }

  return { describe, listKeys }
}

/** Returns the portal's metadata (RFC 8414). */
export function describePortal(portalUrl: string) {
  return {
    issuer: portalUrl,
    authorization_endpoint: `${portalUrl}/`,
    token_endpoint: `${portalUrl}/api/exchangeToken`,
    revocation_endpoint: `${portalUrl}/api/revokeToken`,
    // The name of this field comes from OpenID Connect RP-Initiated Logout. At this portal, the address only shows the
    // user a page: the page does not accept parameters, and does not redirect back to the client.
    end_session_endpoint: `${portalUrl}/sign-out`,
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
