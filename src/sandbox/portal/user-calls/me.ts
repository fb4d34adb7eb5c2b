// GET /api/me: the user of an access token.
import type { FastifyRequest } from 'fastify'
import type { Parts } from '../../parts.ts'
import { findUser } from '../../store/users.ts'
import { findCaller } from '../../tokens/find-caller.ts'
import { toPersonJson } from './person-json.ts'
import { permissionDenied } from './user-call-error.ts'

export function showMe(parts: Pick<Parts, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  return async (request: FastifyRequest) => {
    const caller = await findCaller(parts, request.headers.authorization)
    // An application's own token is nobody's login.
    const isUsers = caller !== undefined && caller.kind !== 'application'
    const user = isUsers ? await findUser(parts.store.read, caller.userId) : undefined
    if (!user) throw permissionDenied()
    return toPersonJson(user)
  }
}
