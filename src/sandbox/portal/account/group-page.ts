// One of my groups: its members and open invitations, inviting somebody, taking out, taking back and leaving.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { endLink } from '../../groups/end-link.ts'
import { inviteUser } from '../../groups/invite-user.ts'
import type { Services } from '../../services.ts'
import { countApplicationsIn } from '../../store/applications.ts'
import { findGroup } from '../../store/groups.ts'
import { listInvitationsInto } from '../../store/invitations.ts'
import { countMembers, isMember, listMembers } from '../../store/memberships.ts'
import { isId } from '../../values/is-id.ts'
import { type Notice, redirectWithNotice, takeNotice } from '../notice.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { findProblem, noSuchGroup } from './group-problems.ts'
import { pathOf, showAccountPage, visitorOf } from './require-visitor.ts'

interface OneGroup {
  Params: { group_id: string }
}

interface Shown {
  notice?: Notice | undefined
  userId?: string
  inviteProblem?: string
  leaveProblem?: string
}

const shownMembers = 100

export function groupRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store } = parts

  async function showGroup(reply: FastifyReply, groupId: string, shown: Shown) {
    const { request } = reply
    const visitor = visitorOf(request)
    // Other people's groups are answered like one that is not there.
    const group =
      isId(groupId) && (await isMember(store.read, groupId, visitor.id))
        ? await findGroup(store.read, groupId)
        : undefined
    if (!group) throw noSuchGroup()
    const members = await listMembers(store.read, groupId, shownMembers)
    const invitations = await listInvitationsInto(store.read, groupId)
    return showAccountPage(reply, 'account/group', {
      title: group.name,
      group,
      isMaker: group.createdBy === visitor.id,
      members,
      memberCount: await countMembers(store.read, groupId),
      applicationCount: (await countApplicationsIn(store.read, groupId)).count,
      invitations,
      formToken: makeAccountForm(parts, request, 'change group'),
      ...shown,
    })
  }

  async function show(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const notice = takeNotice(parts, reply, { path: pathOf(request), userId: visitorOf(request).id })
    return showGroup(reply, request.params.group_id, { notice })
  }

  async function change(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const { fields } = readAccountForm(parts, request, 'change group')
    const { group_id: groupId } = request.params
    const callerId = visitorOf(request).id
    const userId = (fields.userId ?? '').trim()
    const here = `/account/groups/${encodeURIComponent(groupId)}`
    const done = (change: string) =>
      request.log.info({ code: `group-${change}`, userId, groupId, callerId }, 'a group was changed')
    const say = (path: string, notice: Notice) => redirectWithNotice(parts, reply, { path, userId: callerId, notice })

    switch (fields.change) {
      case 'invite': {
        const inviteProblem = await findProblem(() => inviteUser(parts, { userId, groupId, inviterId: callerId }))
        if (inviteProblem !== undefined) return showGroup(reply.status(422), groupId, { userId, inviteProblem })
        done('invited')
        return say(here, { about: 'invited', userId })
      }
      case 'take-back':
      case 'take-out': {
        const only = fields.change === 'take-back' ? 'invitation' : 'membership'
        await findProblem(() => endLink(parts, { userId, groupId, callerId, only }), ['no link'])
        done(only === 'invitation' ? 'invitation-taken-back' : 'member-taken-out')
        return say(here, { about: 'removed', userId })
      }
      case 'leave': {
        const enough = ['no link', 'no group'] as const
        const leaveProblem = await findProblem(
          () => endLink(parts, { userId: callerId, groupId, callerId, only: 'membership' }),
          [...enough],
        )
        if (leaveProblem !== undefined) return showGroup(reply.status(409), groupId, { leaveProblem })
        done('left')
        return say('/account/groups', { about: 'left' })
      }
      default:
        throw noSuchGroup()
    }
  }

  return { show, change }
}
