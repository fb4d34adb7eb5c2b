// The page with the groups and invitations of the signed-in user, and its forms.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation, endLink, makeGroup } from '../../groups/groups.ts'
import { limits, longestGroupName } from '../../groups/limits.ts'
import { Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { listGroupsOf } from '../../store/memberships.ts'
import { type PageNotice, redirectWithNotice, takeNotice } from '../notice.ts'
import { makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'
import { findProblem, groupsPath, problemsOfGroups } from './group-problems.ts'

const invitationsOnPage = 20

/** The outcome of the form that was sent. The page shows this outcome together with its lists. */
interface ListOutcome {
  notice?: PageNotice | undefined
  name?: string
  nameProblem?: string
  invitationProblem?: string
}

export function groupListRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store } = services

  async function showList(reply: FastifyReply, { notice, ...outcome }: ListOutcome) {
    const { request } = reply
    const userId = visitorOf(request).id
    const groups = await listGroupsOf(store.read, userId)
    return showAccountPage(reply, 'account/groups', {
      title: 'Your groups',
      groups,
      invitations: await listInvitationsOf(store.read, userId, invitationsOnPage),
      notice,
      joined: notice?.about === 'joined' ? groups.find(({ id }) => id === notice.groupId) : undefined,
      isFull: groups.length >= limits.groupsOfUser,
      longestName: longestGroupName,
      newGroup: makeAccountForm(services, request, 'create group'),
      answerInvitation: makeAccountForm(services, request, 'answer invitation'),
      ...outcome,
    })
  }

  async function list(request: FastifyRequest, reply: FastifyReply) {
    return showList(reply, { notice: takeNotice(services, reply, { path: groupsPath, userId: visitorOf(request).id }) })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const nameProblem = await findProblem(() => makeGroup(services, { name, userId, id }))
    if (nameProblem !== undefined) return showList(reply.status(422), { name, nameProblem })
    return goTo(reply, { about: 'joined', groupId: id })
  }

  async function answerInvitation(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'answer invitation')
    const userId = visitorOf(request).id
    const { groupId = '', answer } = fields
    if (answer !== 'accept' && answer !== 'decline') throw new Refusal('field-missing', { field: 'answer' })
    const isAccepted = answer === 'accept'
    const received = await listInvitationsOf(store.read, userId, invitationsOnPage)
    const groupName = received.find(invitation => invitation.groupId === groupId)?.groupName
    const invitationProblem = isAccepted
      ? await findProblem(() => acceptInvitation(services, { userId, groupId }), { alreadyDone: ['member-already'] })
      : await findProblem(() => endLink(services, { userId, groupId, callerId: userId, only: 'invitation' }), {
          alreadyDone: ['link-unknown'],
          problems: { ...problemsOfGroups, 'member-already': acceptedAlready },
        })
    if (invitationProblem !== undefined) return showList(reply.status(422), { invitationProblem })
    request.log.info({ code: 'invitation-answered', user: userId, groupId, isAccepted }, 'an invitation was answered')
    return goTo(reply, isAccepted ? { about: 'joined', groupId } : { about: 'declined', groupName })
  }

  function goTo(reply: FastifyReply, notice: PageNotice) {
    return redirectWithNotice(services, reply, { path: groupsPath, userId: visitorOf(reply.request).id, notice })
  }

  return { list, create, answerInvitation }
}

const acceptedAlready =
  'You have already accepted this invitation, so you are a member of the group. You can leave the group on its page.'
