// My groups and the invitations that I received, with a form for a new group.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation } from '../../groups/accept-invitation.ts'
import { bounds } from '../../groups/bounds.ts'
import { endLink } from '../../groups/end-link.ts'
import { makeGroup } from '../../groups/make-group.ts'
import type { Parts } from '../../parts.ts'
import { listGroupsOf } from '../../store/groups-of-user.ts'
import { listInvitationsOf } from '../../store/invitations.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { findProblem } from './group-problems.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const path = '/account/groups'
const longestName = 200
const shownInvitations = 20

interface Shown {
  /** Ids of groups, from the address: said is only what is true of them. */
  joined?: unknown
  left?: unknown
  declined?: unknown
  name?: string
  nameProblem?: string
  invitationProblem?: string
}

export function groupsRoutes(parts: Pick<Parts, 'store' | 'keyRing' | 'clock'>) {
  const { store } = parts

  async function showGroups(reply: FastifyReply, { joined, left, declined, ...shown }: Shown) {
    const { request } = reply
    const userId = visitorOf(request).id
    const groups = await listGroupsOf(store.read, userId)
    const invitations = await listInvitationsOf(store.read, userId, shownInvitations)
    const links = [...groups.map(({ id }) => id), ...invitations.map(({ groupId }) => groupId)]
    const isOver = (groupId: unknown) => groupId !== undefined && !links.includes(String(groupId))
    return showAccountPage(reply, 'account/groups', {
      title: 'Your groups',
      groups,
      invitations,
      joined: groups.find(group => group.id === joined),
      hasLeft: isOver(left),
      hasDeclined: isOver(declined),
      isFull: groups.length >= bounds.groupsOfUser,
      longestName,
      newGroup: makeAccountForm(parts, request, 'create group'),
      answerInvitation: makeAccountForm(parts, request, 'answer invitation'),
      ...shown,
    })
  }

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const { joined, left, declined } = request.query as Record<string, unknown>
    return showGroups(reply, { joined, left, declined })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(parts, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const nameProblem = findNameProblem(name) ?? (await findProblem(() => makeGroup(parts, { name, userId, id })))
    if (nameProblem === undefined) return reply.redirect(`${path}?joined=${id}`, 303)
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
    return reply.redirect(`${path}?${isAccepted ? 'joined' : 'declined'}=${encodeURIComponent(groupId)}`, 303)
  }

  return { show, create, answerInvitation }
}

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'Enter a name for the group.'
  if ([...name].length > longestName) return `Use ${longestName} characters or fewer.`
  return /\p{Cc}/u.test(name) ? 'Use only letters, numbers and symbols.' : undefined
}
