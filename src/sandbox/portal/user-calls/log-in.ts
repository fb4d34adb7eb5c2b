// POST /api/authorize: a whole login in one call, by a script that has the user's e-mail and password.
import type { FastifyRequest } from 'fastify'
import { noteAbout } from '../../observe/observe.ts'
import type { Services } from '../../services.ts'
import { readCallFields } from '../call-fields.ts'
import { makeAllowedRedirect } from '../code-redirect.ts'
import { readLoginRequest, startParameters, toLoginPath } from '../login-request.ts'
import { authenticateUser } from './authenticate-user.ts'
import { UserCallError } from './user-call-error.ts'

export function logIn(parts: Pick<Services, 'addresses' | 'lifetimes' | 'store' | 'passwords' | 'clock' | 'sourceOf'>) {
  return async (request: FastifyRequest) => {
    const fields = readCallFields(request, ['email', 'password', ...startParameters])
    const login = await readLoginRequest(parts, fields, request)
    noteAbout(request, { startPath: toLoginPath(login) })
    const { userId, passwordHash } = await authenticateUser(parts, fields, parts.sourceOf(request))
    const redirectUrl = await makeAllowedRedirect(parts, login, { userId, proof: { passwordHash } })
    if (redirectUrl === undefined)
      throw new UserCallError(403, { message: 'App authorization required', userId }, { reason: 'consent-missing' })
    request.log.info({ code: 'code-issued', clientId: login.application.id }, 'a script signed in')
    return { redirectUrl, userId }
  }
}
