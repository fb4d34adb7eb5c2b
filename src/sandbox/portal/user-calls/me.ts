// GET /api/me: the user of an access token.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../../app.ts'
import { findUser } from '../../store/users.ts'
import { findCaller } from '../../tokens/find-caller.ts'
import { toPersonJson } from './person-json.ts'
import { permissionDenied } from './user-call-error.ts'

export function me(scope: FastifyInstance, parts: Parts): void {
  scope.get('/me', async request => {
    const caller = await findCaller(parts, request.headers.authorization)
    const user = caller && (await findUser(parts.store.read, caller.userId))
    if (!user) throw permissionDenied()
    return toPersonJson(user)
  })
}
