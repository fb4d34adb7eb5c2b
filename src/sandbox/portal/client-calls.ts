// What clients call, under /api: in OAuth's dialect of errors, nothing cached, no other origin let in.
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { trackMethods } from '../method-not-allowed.ts'
import type { Parts } from '../parts.ts'
import { setCallHeaders } from './call-headers.ts'
import { isFromOtherSite } from './cross-site-guard.ts'
import { exchangeToken } from './exchange-token.ts'
import { answerInOAuthDialect, OAuthError } from './oauth-error.ts'
import { revokeToken } from './revoke-token.ts'

export async function clientCallRoutes(
  scope: FastifyInstance,
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'clock' | 'logger' | 'sourceOf'>,
): Promise<void> {
  await scope.register(formbody)
  setCallHeaders(scope)
  answerInOAuthDialect(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, parts.addresses.portalUrl))
      throw new OAuthError(403, 'access_denied', 'Calls from pages of other sites are not answered.')
  })

  const refuseOtherMethods = trackMethods(scope)
  exchangeToken(scope, parts)
  revokeToken(scope, parts)
  refuseOtherMethods(() => {
    throw new OAuthError(405, 'invalid_request', 'This address takes another method; see the Allow header.')
  })
}
