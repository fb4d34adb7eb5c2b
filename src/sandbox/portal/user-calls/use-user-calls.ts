// What every call in a user's name has: errors as messages, the portal's cookie, nothing cached, no other origin let in.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { setCallHeaders } from '../call-headers.ts'
import { isFromOtherSite } from '../cross-site-guard.ts'
import { answerInMessages, UserCallError } from './user-call-error.ts'

export async function useUserCalls(scope: FastifyInstance, portalUrl: string): Promise<void> {
  await scope.register(cookie)
  await scope.register(formbody)
  setCallHeaders(scope)
  answerInMessages(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, portalUrl))
      throw new UserCallError(
        403,
        { message: 'Calls from pages of other sites are not answered.' },
        { reason: 'cross-site' },
      )
  })
}
