// POST /api/authorize: a whole login in one call, by a script that has the user's e-mail and password.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../../parts.ts'
import { hasConsent } from '../../store/consents.ts'
import { readAuthorizeRequest, refuseRemoved, startParameters } from '../authorize-request.ts'
import { readCallFields } from '../call-fields.ts'
import { issueCode } from '../issue-code.ts'
import { authenticateUser } from './authenticate-user.ts'
import { UserCallError } from './user-call-error.ts'

export function authorize(
  scope: FastifyInstance,
  parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'passwords' | 'clock' | 'sourceOf'>,
): void {
  const { store } = parts

  scope.post('/authorize', async request => {
    const fields = readCallFields(request, ['email', 'password', ...startParameters])
    const authorization = await readAuthorizeRequest(parts, fields)
    const userId = await authenticateUser(parts, fields, parts.sourceOf(request))
    if (!(await hasConsent(store.read, userId, authorization.application.id)))
      throw new UserCallError(403, { message: 'App authorization required', userId })
    const redirectUrl = await store.write(db => issueCode(db, parts, authorization, userId)).catch(refuseRemoved)
    request.log.info({ code: 'code-issued', clientId: authorization.application.id }, 'a script signed in')
    return { redirectUrl, userId }
  })
}
