// POST /api/exchangeToken: a code (specification 4.2), or later a refresh token, becomes tokens for its client.
import type { FastifyRequest } from 'fastify'
import type { Services } from '../services.ts'
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
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'sourceOf'>,
) {
  return async (request: FastifyRequest) => {
    const fields = readCallFields(request, fieldNames)
    const grantType = requireField(fields, 'grant_type')
    if (!grantTypes.includes(grantType))
      throw new OAuthError(400, 'unsupported_grant_type', `grant_type must be ${grantTypes.join(' or ')}.`, {
        reason: 'grant-type-unsupported',
      })
    const clientId = await authenticateClient(parts, fields, request)
    const tokens = await (grantType === 'refresh_token' ? refresh : redeem)(parts, clientId, fields, request)
    request.log.info({ code: 'tokens-issued', grantType, clientId }, 'tokens were issued')
    return { ...tokens, ...(fields.state !== undefined && { state: fields.state }) }
  }
}

/** Whether the body of a request to this address asks for a renewal, as far as it can be read. */
export function isRenewal(body: unknown): boolean {
  return (body as { grant_type?: unknown } | null | undefined)?.grant_type === 'refresh_token'
}

async function redeem(
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  clientId: string,
  fields: CallFields,
  request: FastifyRequest,
): Promise<TokenResponse> {
  const code = requireField(fields, 'code')
  const redirectUri = requireField(fields, 'redirect_uri')
  const exchange = { clientId, code, redirectUri, state: fields.state, codeVerifier: fields.code_verifier }
  return redeemCode(parts, exchange, request)
}

async function refresh(
  parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock'>,
  clientId: string,
  fields: CallFields,
  request: FastifyRequest,
): Promise<TokenResponse> {
  const refreshToken = requireField(fields, 'refresh_token')
  // Logins have no scope here, and refreshing must not add one (RFC 6749 6).
  if (fields.scope !== undefined)
    throw new OAuthError(400, 'invalid_scope', 'The login was given no scope.', { reason: 'scope-refused' })
  return rotateRefreshToken(parts, { clientId, refreshToken }, request)
}
