// POST /api/register: a new account, by the rules of the page.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { findUser } from '../../store/users.ts'
import { readBody } from '../call-fields.ts'
import { registerUser } from '../register-user.ts'
import { toPersonJson } from './person-json.ts'
import { tooManyRequests, UserCallError } from './user-call-error.ts'

export function register(parts: Pick<Services, 'store' | 'passwords' | 'clock' | 'sourceOf'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const registration = await registerUser(parts, readBody(request), parts.sourceOf(request))
    if ('retryAfterSeconds' in registration) throw tooManyRequests(registration.retryAfterSeconds)
    if ('problems' in registration) {
      const problems = Object.entries(registration.problems).map(([field, problem]) => [field, [problem]])
      throw new UserCallError(422, { message: Object.fromEntries(problems) })
    }
    const user = await findUser(parts.store.read, registration.credentials.userId)
    if (!user) throw new Error('the user was removed in the moment they signed up')
    request.log.info({ code: 'signed-up', userId: user.id }, 'a user signed up')
    return reply.status(201).send(toPersonJson(user))
  }
}
