// The page with the groups and invitations of the signed-in user, and its forms.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation, endLink, makeGroup } from '../../groups/groups.ts'
import { limits, longestGroupName } from '../../groups/limits.ts'
import { logGroupChange } from '../../observe/log-group-change.ts'
import { Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { listGroupsOf } from '../../store/memberships.ts'
import { type PageMessage, redirectWithMessage, takeMessage } from '../message.ts'
import { makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'
import { findProblem, problemsOfGroups } from './group-problems.ts'

export const groupsPath = '/account/groups'
const invitationsOnPage = 20

/** The outcome of the form that was sent. The page shows this outcome together with its lists. */
interface ListOutcome {
  message?: PageMessage | undefined
  name?: string
  nameProblem?: string
  invitationProblem?: string
}

export function groupListRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store } = services

  async function showList(reply: FastifyReply, { message, ...outcome }: ListOutcome) {
    const { request } = reply
    const userId = visitorOf(request).id
    const groups = await listGroupsOf(store.read, userId)
    return showAccountPage(reply, 'account/groups', {
      title: 'Your groups',
      groups,
      invitations: await listInvitationsOf(store.read, userId, invitationsOnPage),
      message,
      joined: message?.about === 'joined' ? groups.find(({ id }) => id === message.groupId) : undefined,
      isFull: groups.length >= limits.groupsOfUser,
      longestName: longestGroupName,
      newGroup: makeAccountForm(services, request, 'create group'),
      answerInvitation: makeAccountForm(services, request, 'answer invitation'),
      ...outcome,
    })
  }

  async function list(request: FastifyRequest, reply: FastifyReply) {
    return showList(reply, {
      message: takeMessage(services, reply, { path: groupsPath, userId: visitorOf(request).id }),
    })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const make = async () => {
      const { isNew } = await makeGroup(services, { name, userId, id })
      if (isNew) logGroupChange(request, { code: 'group-created', groupId: id, caller: userId })
    }
    const nameProblem = await findProblem(make)
    if (nameProblem !== undefined) return showList(reply.status(422), { name, nameProblem })
    return goTo(reply, { about: 'joined', groupId: id })
  }

  async function answerInvitation(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'answer invitation')
    const { groupId = '', answer } = fields
    switch (answer) {
      case 'accept':
        return accept(reply, groupId)
      case 'decline':
        return decline(reply, groupId)
      default:
        throw new Refusal('field-missing', { field: 'answer' })
    }
  }

  async function accept(reply: FastifyReply, groupId: string) {
    const userId = visitorOf(reply.request).id
    const join = async () => {
      await acceptInvitation(services, { userId, groupId })
      logGroupChange(reply.request, { code: 'group-invitation-accepted', groupId, caller: userId, user: userId })
    }
    const invitationProblem = await findProblem(join, { alreadyDone: ['member-already'] })
    if (invitationProblem !== undefined) return showList(reply.status(422), { invitationProblem })
    return goTo(reply, { about: 'joined', groupId })
  }

  async function decline(reply: FastifyReply, groupId: string) {
    const userId = visitorOf(reply.request).id
    const received = await listInvitationsOf(store.read, userId, invitationsOnPage)
    const groupName = received.find(invitation => invitation.groupId === groupId)?.groupName
    const end = async () => {
      await endLink(services, { userId, groupId, callerId: userId, only: 'invitation' })
      logGroupChange(reply.request, { code: 'group-invitation-declined', groupId, caller: userId, user: userId })
    }
    const invitationProblem = await findProblem(end, {
      alreadyDone: ['link-unknown'],
      problems: { ...problemsOfGroups, 'member-already': acceptedAlready },
    })
    if (invitationProblem !== undefined) return showList(reply.status(422), { invitationProblem })
    return goTo(reply, { about: 'declined', groupName })
  }

  function goTo(reply: FastifyReply, message: PageMessage) {
    return redirectWithMessage(services, reply, { path: groupsPath, userId: visitorOf(reply.request).id, message })
  }

  return { list, create, answerInvitation }
}

const acceptedAlready =
  'You have already accepted this invitation, so you are a member of the group. You can leave the group on its page.'
