// POST /api/revokeToken: a client gives back what a login gave it (RFC 7009), usually because its visitor signs out, or a
// token of its own.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
import { deleteAppAccessToken } from '../store/app-access-tokens.ts'
import { revokeGrant } from '../store/grants.ts'
import { findFamilyId } from '../store/refresh-tokens.ts'
import { grantIdOf, verifyAccessToken } from '../tokens/access-token.ts'
import { hashToken } from '../tokens/opaque-token.ts'
import { authenticateClient } from './authenticate-client.ts'
import { readCallFields, requireField } from './call-fields.ts'

const fieldNames = ['token', 'client_id', 'client_secret'] as const

export function revokeToken(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock' | 'sourceOf'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const fields = readCallFields(request, fieldNames)
    const token = requireField(fields, 'token')
    const clientId = await authenticateClient(parts, fields, request)
    if (await revoke(parts, token, clientId))
      request.log.info({ code: 'tokens-revoked', clientId }, 'tokens were revoked')
    // Also for a token that nobody knows: what the client wanted is the case (RFC 7009 2.2).
    return reply.status(200).send()
  }
}

/**
 * By a refresh token of the family, also a replaced one, or by an access token (RFC 7009 2.1) the whole family; of the
 * tokens listed with the application's credentials that one alone. False for other clients' tokens, and for unknown ones.
 */
async function revoke(
  parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>,
  token: string,
  clientId: string,
): Promise<boolean> {
  const { addresses, store, keyRing, clock } = parts
  const claims = await verifyAccessToken(keyRing, token, { issuer: addresses.portalUrl, now: clock() })
  const isOwn = claims?.aud === clientId
  if (isOwn && claims.type === 'App') return store.write(db => deleteAppAccessToken(db, claims.jti, clientId))
  const grantId = isOwn ? grantIdOf(claims) : await findFamilyId(store.read, { tokenHash: hashToken(token), clientId })
  if (grantId) await store.write(db => revokeGrant(db, grantId, clock()))
  return grantId !== undefined
}
