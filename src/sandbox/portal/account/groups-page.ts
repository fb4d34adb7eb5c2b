// My groups and the invitations that I received, with a form for a new group.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation } from '../../groups/accept-invitation.ts'
import { bounds } from '../../groups/bounds.ts'
import { endLink } from '../../groups/end-link.ts'
import { makeGroup } from '../../groups/make-group.ts'
import type { Services } from '../../services.ts'
import { listGroupsOf } from '../../store/groups-of-user.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { type Notice, redirectWithNotice, takeNotice } from '../notice.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { findProblem } from './group-problems.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const path = '/account/groups'
const longestName = 200
const shownInvitations = 20

interface Shown {
  notice?: Notice | undefined
  name?: string
  nameProblem?: string
  invitationProblem?: string
}

export function groupsRoutes(parts: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
  const { store } = parts

  async function showGroups(reply: FastifyReply, { notice, ...shown }: Shown) {
    const { request } = reply
    const userId = visitorOf(request).id
    const groups = await listGroupsOf(store.read, userId)
    const invitations = await listInvitationsOf(store.read, userId, shownInvitations)
    return showAccountPage(reply, 'account/groups', {
      title: 'Your groups',
      groups,
      invitations,
      notice,
      joined: notice?.about === 'joined' ? groups.find(({ id }) => id === notice.groupId) : undefined,
      isFull: groups.length >= bounds.groupsOfUser,
      longestName,
      newGroup: makeAccountForm(parts, request, 'create group'),
      answerInvitation: makeAccountForm(parts, request, 'answer invitation'),
      ...shown,
    })
  }

  async function show(request: FastifyRequest, reply: FastifyReply) {
    return showGroups(reply, { notice: takeNotice(parts, reply, { path, userId: visitorOf(request).id }) })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(parts, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const nameProblem = findNameProblem(name) ?? (await findProblem(() => makeGroup(parts, { name, userId, id })))
    if (nameProblem === undefined)
      return redirectWithNotice(parts, reply, { path, userId, notice: { about: 'joined', groupId: id } })
    reply.status(422)
    return showGroups(reply, { name, nameProblem })
  }

  async function answerInvitation(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(parts, request, 'answer invitation')
    const userId = visitorOf(request).id
    const { groupId = '', answer } = fields
    const isAccepted = answer === 'accept'
    const invitationProblem = isAccepted
      ? await findProblem(() => acceptInvitation(parts, { userId, groupId }), ['member already'])
      : await findProblem(() => endLink(parts, { userId, groupId, callerId: userId, only: 'invitation' }), ['no link'])
    if (invitationProblem !== undefined) {
      reply.status(422)
      return showGroups(reply, { invitationProblem })
    }
    request.log.info({ code: 'invitation-answered', userId, groupId, isAccepted }, 'an invitation was answered')
    const notice: Notice = isAccepted ? { about: 'joined', groupId } : { about: 'declined' }
    return redirectWithNotice(parts, reply, { path, userId, notice })
  }

  return { show, create, answerInvitation }
}

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'Enter a name for the group.'
  if ([...name].length > longestName) return `Use ${longestName} characters or fewer.`
  return /\p{Cc}/u.test(name) ? 'Use only letters, numbers and symbols.' : undefined
}
