// POST /api/revokeToken: a client gives back what a login gave it (RFC 7009), usually because its visitor signs out.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../app.ts'
import { revokeGrant } from '../store/grants.ts'
import { findFamilyId } from '../store/refresh-tokens.ts'
import { grantIdOf, verifyAccessToken } from '../tokens/access-token.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { authenticateClient } from './authenticate-client.ts'
import { readCallFields, requireField } from './call-fields.ts'
import { OAuthError } from './oauth-error.ts'

const fieldNames = ['token', 'client_id', 'client_secret'] as const

export function revokeToken(scope: FastifyInstance, parts: Parts): void {
  const { store, clock } = parts

  scope.post('/revokeToken', async (request, reply) => {
    const fields = readCallFields(request, fieldNames)
    const token = requireField(fields, 'token')
    const clientId = await authenticateClient(parts, fields, request.ip)
    const grantId = await findGrantId(parts, token, clientId)
    if (grantId) {
      await store.write(db => revokeGrant(db, grantId, clock()))
      request.log.info({ code: 'tokens-revoked', clientId }, 'tokens were revoked')
    }
    // Also for a token that nobody knows: what the client wanted is the case (RFC 7009 2.2).
    return reply.status(200).send()
  })
}

/** By a refresh token of the family, also a replaced one, or by an access token (RFC 7009 2.1). Other clients' are unknown. */
async function findGrantId(parts: Parts, token: string, clientId: string): Promise<string | undefined> {
  const { config, store, keyRing, clock } = parts
  const claims = await verifyAccessToken(keyRing, token, { issuer: config.portalUrl, now: clock() })
  if (claims?.aud !== clientId) return findFamilyId(store.read, { tokenHash: hashToken(token), clientId })
  if (claims.type === 'User') return grantIdOf(claims)
  throw new OAuthError(400, 'unsupported_token_type', 'A token listed with an application ends with the application.')
}
