// POST /api/authorize: a whole login in one call, by a script that has the user's e-mail and password.
import type { FastifyRequest } from 'fastify'
import type { Parts } from '../../parts.ts'
import { hasConsent } from '../../store/consents.ts'
import { readCallFields } from '../call-fields.ts'
import { makeCodeRedirect } from '../code-redirect.ts'
import { readLoginRequest, refuseRemoved, startParameters } from '../login-request.ts'
import { authenticateUser } from './authenticate-user.ts'
import { UserCallError } from './user-call-error.ts'

export function logIn(parts: Pick<Parts, 'addresses' | 'lifetimes' | 'store' | 'passwords' | 'clock' | 'sourceOf'>) {
  const { store } = parts

  return async (request: FastifyRequest) => {
    const fields = readCallFields(request, ['email', 'password', ...startParameters])
    const login = await readLoginRequest(parts, fields)
    const userId = await authenticateUser(parts, fields, parts.sourceOf(request))
    if (!(await hasConsent(store.read, userId, login.application.id)))
      throw new UserCallError(403, { message: 'App authorization required', userId })
    const redirectUrl = await store.write(db => makeCodeRedirect(db, parts, login, userId)).catch(refuseRemoved)
    request.log.info({ code: 'code-issued', clientId: login.application.id }, 'a script signed in')
    return { redirectUrl, userId }
  }
}
