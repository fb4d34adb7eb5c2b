// The part of the identities API that a developer of applications needs: groups, and who is in them.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../app.ts'
import { createGroup, listMemberships } from '../store/groups.ts'
import { addGroupMember } from './add-group-member.ts'
import { ApiError } from './api-error.ts'
import { toCollection, toGroupJson, toMembershipJson } from './application-json.ts'
import { openForm } from './form.ts'
import { bodyOf } from './json-body.ts'
import * as operations from './operations.ts'
import { callerOf } from './require-token.ts'

export function identityRoutes(scope: FastifyInstance, parts: Parts): void {
  const { store, clock } = parts

  scope.post('/identities/v1', { schema: operations.createGroup }, async (request, reply) => {
    const name = readGroupName(bodyOf(request))
    const { userId } = callerOf(request)
    const group = await store.transaction(db => createGroup(db, name, userId, clock()))
    request.log.info({ code: 'group-created', userId, groupId: group.id }, 'created')
    return reply.status(201).send(toGroupJson(group))
  })

  scope.post<{ Params: { user_id: string; group_id: string } }>(
    '/identities/v1/:user_id/link/:group_id',
    { schema: operations.addMember },
    async (request, reply) => {
      checkMemberBody(bodyOf(request))
      const { user_id: userId, group_id: groupId } = request.params
      const caller = callerOf(request).userId
      const membership = await addGroupMember(parts, { userId, groupId, addedBy: caller })
      request.log.info({ code: 'member-added', userId, groupId, addedBy: caller }, 'added to a group')
      return reply.status(201).send(toMembershipJson(membership))
    },
  )

  scope.get<{ Params: { user_id: string }; Querystring: { type?: unknown } }>(
    '/identities/v1/:user_id/links',
    { schema: operations.listMemberships, exposeHeadRoute: true },
    async request => {
      const { user_id: userId } = request.params
      if (request.query.type !== 'MemberOf') throw new ApiError(422, { type: ['Must be one of: MemberOf.'] })
      // Other people's groups are nobody else's business.
      if (userId !== callerOf(request).userId) throw new ApiError(404, 'Identity not found.')
      return toCollection((await listMemberships(store.read, userId)).map(toMembershipJson))
    },
  )
}

function readGroupName(body: unknown): string {
  const form = openForm(body)
  form.ofType('Group')
  const name = form.text('name', { min: 1, max: 200 })
  form.close()
  return name
}

function checkMemberBody(body: unknown): void {
  const form = openForm(body)
  form.ofType('MemberOf')
  form.close()
}
