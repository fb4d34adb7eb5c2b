// The groups of the signed-in user: the list with its invitations, and the page of one group.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation, endLink, inviteUser, makeGroup } from '../../groups/groups.ts'
import { limits } from '../../groups/limits.ts'
import type { Reason } from '../../observe/reasons.ts'
import { Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { countApplicationsIn } from '../../store/applications.ts'
import { findGroup } from '../../store/groups.ts'
import { listInvitationsInto, listInvitationsOf } from '../../store/invitations.ts'
import { countMembers, isMember, listGroupsOf, listMembers } from '../../store/memberships.ts'
import { isId } from '../../values/is-id.ts'
import { type PageNotice, redirectWithNotice, takeNotice } from '../notice.ts'
import { makeAccountForm, pathOf, readAccountForm, showAccountPage, visitorOf } from './account.ts'

const listPath = '/account/groups'
const longestName = 200
const invitationsOnPage = 20
const membersOnPage = 100

/** The outcome of the submitted form, which the page shows with its lists. */
interface ListOutcome {
  notice?: PageNotice | undefined
  name?: string
  nameProblem?: string
  invitationProblem?: string
}

interface GroupOutcome {
  notice?: PageNotice | undefined
  userId?: string
  inviteProblem?: string
  leaveProblem?: string
}

interface OneGroup {
  Params: { group_id: string }
}

export function groupPages(services: Pick<Services, 'store' | 'keyRing' | 'clock'>) {
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
      longestName,
      newGroup: makeAccountForm(services, request, 'create group'),
      answerInvitation: makeAccountForm(services, request, 'answer invitation'),
      ...outcome,
    })
  }

  async function list(request: FastifyRequest, reply: FastifyReply) {
    return showList(reply, { notice: takeNotice(services, reply, { path: listPath, userId: visitorOf(request).id }) })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const nameProblem = findNameProblem(name) ?? (await findProblem(() => makeGroup(services, { name, userId, id })))
    if (nameProblem !== undefined) return showList(reply.status(422), { name, nameProblem })
    return redirectWithNotice(services, reply, { path: listPath, userId, notice: { about: 'joined', groupId: id } })
  }

  async function answerInvitation(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'answer invitation')
    const userId = visitorOf(request).id
    const { groupId = '', answer } = fields
    const isAccepted = answer === 'accept'
    const invitationProblem = isAccepted
      ? await findProblem(() => acceptInvitation(services, { userId, groupId }), ['member-already'])
      : await findProblem(
          () => endLink(services, { userId, groupId, callerId: userId, only: 'invitation' }),
          ['link-unknown'],
        )
    if (invitationProblem !== undefined) return showList(reply.status(422), { invitationProblem })
    request.log.info({ code: 'invitation-answered', userId, groupId, isAccepted }, 'an invitation was answered')
    const notice: PageNotice = isAccepted ? { about: 'joined', groupId } : { about: 'declined' }
    return redirectWithNotice(services, reply, { path: listPath, userId, notice })
  }

  async function showGroup(reply: FastifyReply, groupId: string, outcome: GroupOutcome) {
    const { request } = reply
    const visitor = visitorOf(request)
    // Somebody else's group gets the same answer as one that does not exist.
    const isVisible = isId(groupId) && (await isMember(store.read, groupId, visitor.id))
    const group = isVisible ? await findGroup(store.read, groupId) : undefined
    if (!group) throw new Refusal('group-unknown')
    return showAccountPage(reply, 'account/group', {
      title: group.name,
      group,
      isMaker: group.createdBy === visitor.id,
      members: await listMembers(store.read, groupId, membersOnPage),
      memberCount: await countMembers(store.read, groupId),
      applicationCount: (await countApplicationsIn(store.read, groupId)).count,
      invitations: await listInvitationsInto(store.read, groupId),
      formToken: makeAccountForm(services, request, 'change group'),
      ...outcome,
    })
  }

  async function show(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const notice = takeNotice(services, reply, { path: pathOf(request), userId: visitorOf(request).id })
    return showGroup(reply, request.params.group_id, { notice })
  }

  async function change(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'change group')
    const { group_id: groupId } = request.params
    const callerId = visitorOf(request).id
    const userId = (fields.userId ?? '').trim()
    const groupPath = `${listPath}/${encodeURIComponent(groupId)}`
    const log = (what: string) =>
      request.log.info({ code: `group-${what}`, userId, groupId, callerId }, 'a group was changed')
    const goTo = (path: string, notice: PageNotice) =>
      redirectWithNotice(services, reply, { path, userId: callerId, notice })

    switch (fields.change) {
      case 'invite': {
        const inviteProblem = await findProblem(() => inviteUser(services, { userId, groupId, inviterId: callerId }))
        if (inviteProblem !== undefined) return showGroup(reply.status(422), groupId, { userId, inviteProblem })
        log('invited')
        return goTo(groupPath, { about: 'invited', userId })
      }
      case 'take-back':
      case 'take-out': {
        const only = fields.change === 'take-back' ? 'invitation' : 'membership'
        await findProblem(() => endLink(services, { userId, groupId, callerId, only }), ['link-unknown'])
        log(only === 'invitation' ? 'invitation-taken-back' : 'member-taken-out')
        return goTo(groupPath, { about: 'removed', userId })
      }
      case 'leave': {
        const link = { userId: callerId, groupId, callerId, only: 'membership' } as const
        const leaveProblem = await findProblem(() => endLink(services, link), ['link-unknown', 'group-unknown'])
        if (leaveProblem !== undefined) return showGroup(reply.status(409), groupId, { leaveProblem })
        log('left')
        return goTo(listPath, { about: 'left' })
      }
      default:
        throw new Refusal('group-unknown')
    }
  }

  return { list, create, answerInvitation, show, change }
}

/** The page shows these refusals beside its form. All others get an error page. */
export const problemsOfGroups: Partial<Record<Reason, string>> = {
  'user-unknown': 'There is no account with this user ID. They find theirs on their account page.',
  'member-already': 'This person is already a member.',
  'invited-already': 'This person has already been invited.',
  'last-member':
    'You are the only member, and the group has applications. Remove them, or invite somebody and wait until they accept.',
  'too-many-groups': `You are in ${limits.groupsOfUser} groups, which is the limit. Leave one first.`,
  'too-many-invitations': `The group has ${limits.openInvitations} open invitations, which is the limit. Cancel one first.`,
  'invited-too-often': `You have invited this person ${limits.invitationsADay} times today, which is the limit. Try again tomorrow.`,
}

/**
 * The sentence for the page, or undefined if the work was done. `isDone` lists the reasons that mean: the same form was sent
 * before, and did the work then.
 */
async function findProblem(work: () => Promise<unknown>, isDone: Reason[] = []): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (isDone.includes(error.reason)) return undefined
    const problem = problemsOfGroups[error.reason]
    if (problem === undefined) throw error
    return problem
  }
}

function findNameProblem(name: string): string | undefined {
  if (name === '') return 'Enter a name for the group.'
  if ([...name].length > longestName) return `Use ${longestName} characters or fewer.`
  return /\p{Cc}/u.test(name) ? 'Use only letters, numbers and symbols.' : undefined
}
