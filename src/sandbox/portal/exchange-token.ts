// POST /api/exchangeToken: a code (specification 4.2), or later a refresh token, becomes tokens for its client.
import type { FastifyRequest } from 'fastify'
import type { Parts } from '../parts.ts'
import { authenticateClient } from './authenticate-client.ts'
import { type CallFields, readCallFields, requireField } from './call-fields.ts'
import type { TokenResponse } from './issue-tokens.ts'
import { OAuthError } from './oauth-error.ts'
import { redeemCode } from './redeem-code.ts'
import { rotateRefreshToken } from './rotate-refresh-token.ts'

export const grantTypes = ['authorization_code', 'refresh_token']

const fieldNames = [
  'grant_type',
  'code',
  'refresh_token',
  'client_id',
  'client_secret',
  'redirect_uri',
  'state',
  'code_verifier',
  'scope',
] as const

export function exchangeToken(
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'logger' | 'sourceOf'>,
) {
  return async (request: FastifyRequest) => {
    const fields = readCallFields(request, fieldNames)
    const grantType = requireField(fields, 'grant_type')
    if (!grantTypes.includes(grantType))
      throw new OAuthError(400, 'unsupported_grant_type', `grant_type must be ${grantTypes.join(' or ')}.`)
    const clientId = await authenticateClient(parts, fields, parts.sourceOf(request))
    const tokens =
      grantType === 'refresh_token' ? await refresh(parts, clientId, fields) : await redeem(parts, clientId, fields)
    request.log.info({ code: 'tokens-issued', grantType, clientId }, 'tokens were issued')
    return { ...tokens, ...(fields.state !== undefined && { state: fields.state }) }
  }
}

async function redeem(
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'logger'>,
  clientId: string,
  fields: CallFields,
): Promise<TokenResponse> {
  const code = requireField(fields, 'code')
  const redirectUri = requireField(fields, 'redirect_uri')
  return redeemCode(parts, { clientId, code, redirectUri, state: fields.state, codeVerifier: fields.code_verifier })
}

async function refresh(
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  clientId: string,
  fields: CallFields,
): Promise<TokenResponse> {
  const refreshToken = requireField(fields, 'refresh_token')
  // Logins have no scope here, and refreshing must not add one (RFC 6749 6).
  if (fields.scope !== undefined) throw new OAuthError(400, 'invalid_scope', 'The login was given no scope.')
  return rotateRefreshToken(parts, { clientId, refreshToken })
}
