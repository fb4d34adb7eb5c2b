// What every call of a client has: OAuth's dialect of errors, nothing cached, no other origin let in.
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../services.ts'
import { setCallHeaders } from './call-headers.ts'
import { isFromOtherSite } from './cross-site-guard.ts'
import { answerInOAuthDialect, OAuthError } from './oauth-error.ts'

export async function useClientCalls(
  scope: FastifyInstance,
  parts: Pick<Services, 'addresses' | 'explainAt'>,
): Promise<void> {
  await scope.register(formbody)
  setCallHeaders(scope)
  answerInOAuthDialect(scope, parts)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, parts.addresses.portalUrl))
      throw new OAuthError(403, 'access_denied', 'Calls from pages of other sites are not answered.', {
        reason: 'cross-site',
      })
  })
}
