// The routes for groups and their members. They are the part of the identities API that a developer of applications
// needs.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FromSchema } from 'json-schema-to-ts'
import { findTextProblems } from '../applications/fields.ts'
import { acceptInvitation, endLink, inviteUser, makeGroup } from '../groups/groups.ts'
import { logGroupChange } from '../observe/log-group-change.ts'
import { type FieldProblems, Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { listMemberships } from '../store/memberships.ts'
import { ApiError } from './api-error.ts'
import { readData } from './body.ts'
import { callerOf } from './require-token.ts'
import type { newGroup } from './schemas.ts'
import { toCollection, toGroupJson, toInvitationJson, toMembershipJson } from './to-json.ts'

interface OneLink {
  Params: { user_id: string; group_id: string }
}

export function groupRoutes(services: Pick<Services, 'store' | 'clock'>) {
  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { name } = readData<FromSchema<typeof newGroup>>(request, findNameProblems)
    const { userId } = callerOf(request)
    const group = await makeGroup(services, { name, userId })
    logGroupChange(request, { code: 'group-created', groupId: group.id, caller: userId })
    return reply.status(201).send(toGroupJson(group))
  }

  async function link(request: FastifyRequest<OneLink>, reply: FastifyReply) {
    readData(request, (_data, bySchema) => bySchema)
    const { user_id: userId, group_id: groupId } = request.params
    const callerId = callerOf(request).userId
    if (userId === callerId) {
      const membership = await acceptInvitation(services, { userId, groupId })
      logGroupChange(request, { code: 'group-invitation-accepted', groupId, caller: userId, user: userId })
      return reply.status(201).send(toMembershipJson(membership))
    }
    const invitation = await inviteUser(services, { userId, groupId, inviterId: callerId })
    logGroupChange(request, { code: 'group-invited', groupId, caller: callerId, user: userId })
    return reply.status(201).send(toInvitationJson(invitation))
  }

  async function unlink(request: FastifyRequest<OneLink>, reply: FastifyReply) {
    const { user_id: userId, group_id: groupId } = request.params
    const callerId = callerOf(request).userId
    const ended = await endLink(services, { userId, groupId, callerId })
    const code = userId === callerId ? ownCodes[ended] : codesForOthers[ended]
    logGroupChange(request, { code, groupId, caller: callerId, user: userId })
    return reply.status(204).send()
  }

  async function listOwn(request: FastifyRequest<{ Params: { user_id: string } }>) {
    const { user_id: userId } = request.params
    if (request.validationError)
      throw new Refusal('fields-invalid', { problems: { type: ['Must be one of: MemberOf.'] } })
    // A caller must not see which groups another person is in.
    if (userId !== callerOf(request).userId) throw new ApiError(404, 'Identity not found.', { reason: 'not-found' })
    return toCollection((await listMemberships(services.store.read, userId)).map(toMembershipJson))
  }

  return { create, link, unlink, listOwn }
}

/** The codes of a log line, if the caller has ended their own membership or invitation. */
const ownCodes = { membership: 'group-left', invitation: 'group-invitation-declined' } as const
/** The codes of a log line, if the caller has ended the membership or invitation of another user. */
const codesForOthers = { membership: 'group-member-removed', invitation: 'group-invitation-cancelled' } as const

function findNameProblems(data: Record<string, unknown>, bySchema: FieldProblems): FieldProblems {
  return { ...bySchema, ...findTextProblems(data, ['name']) }
}
