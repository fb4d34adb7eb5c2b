// GET /api/me: the user of an access token.
import type { FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { findUser } from '../../store/users.ts'
import { identifyCaller } from '../../tokens/identify-caller.ts'
import { toPersonJson } from './person-json.ts'
import { permissionDenied } from './user-call-error.ts'

export function showMe(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  return async (request: FastifyRequest) => {
    const caller = await identifyCaller(parts, request)
    if (typeof caller === 'string') throw permissionDenied(caller)
    // An application's own token is nobody's login.
    const user = caller.kind === 'application' ? undefined : await findUser(parts.store.read, caller.userId)
    if (!user) throw permissionDenied()
    return toPersonJson(user)
  }
}
