// What a user can do without a browser, under /api: for scripts and tests, and for a client that asks who has signed in.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { trackMethods } from '../../method-not-allowed.ts'
import type { Parts } from '../../parts.ts'
import { setCallHeaders } from '../call-headers.ts'
import { isFromOtherSite } from '../cross-site-guard.ts'
import { allowApplication } from './allow-application.ts'
import { logIn } from './log-in.ts'
import { me } from './me.ts'
import { register } from './register.ts'
import { answerInMessages, UserCallError } from './user-call-error.ts'

export async function userCallRoutes(
  scope: FastifyInstance,
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'keyRing' | 'passwords' | 'clock' | 'sourceOf'>,
): Promise<void> {
  await scope.register(cookie)
  await scope.register(formbody)
  setCallHeaders(scope)
  answerInMessages(scope)
  scope.addHook('onRequest', async request => {
    if (isFromOtherSite(request, parts.addresses.portalUrl))
      throw new UserCallError(403, { message: 'Calls from pages of other sites are not answered.' })
  })

  const refuseOtherMethods = trackMethods(scope)
  me(scope, parts)
  register(scope, parts)
  logIn(scope, parts)
  allowApplication(scope, parts)
  refuseOtherMethods(() => {
    throw new UserCallError(405, { message: 'This address takes another method; see the Allow header.' })
  })
}
