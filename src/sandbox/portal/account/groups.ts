// The pages for the groups of the signed-in user: the list of groups and invitations, the page of one group, and the
// pages that ask before a member leaves or is removed.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation, endLink, inviteUser, makeGroup, renameGroup } from '../../groups/groups.ts'
import { limits, longestGroupName } from '../../groups/limits.ts'
import type { Reason } from '../../observe/reasons.ts'
import { type AnswerTable, answerIn, Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { countApplicationsIn, listApplicationNamesIn } from '../../store/applications.ts'
import { findGroup, type Group } from '../../store/groups.ts'
import { listInvitationsInto, listInvitationsOf } from '../../store/invitations.ts'
import { countMembers, isMember, listGroupsOf, listMembers } from '../../store/memberships.ts'
import { findUser } from '../../store/users.ts'
import { isId } from '../../values/is-id.ts'
import { type PageNotice, redirectWithNotice, takeNotice } from '../notice.ts'
import { askFirst, makeAccountForm, pathOf, readAccountForm, showAccountPage, visitorOf } from './account.ts'

const listPath = '/account/groups'
const invitationsOnPage = 20
const membersOnPage = 100
/** How many members the page shows at first. If the visitor clicks a button, the page also shows the other members. */
const mostAtFirst = 10

/** The outcome of the form that was sent. The page shows this outcome together with its lists. */
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
  name?: string
  nameProblem?: string
  /** A problem that belongs to no field of a form. */
  groupProblem?: string
}

/**
 * The values of a form that changes a group. `callerId` is the id of the visitor who sent the form. `userId` and `name`
 * are empty if the form does not contain these fields.
 */
interface GroupForm {
  groupId: string
  callerId: string
  userId: string
  name: string
}

interface OneGroup {
  Params: { group_id: string }
}

interface OneMember {
  Params: { group_id: string; user_id: string }
}

export function groupPages(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
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
    return showList(reply, { notice: takeNotice(services, reply, { path: listPath, userId: visitorOf(request).id }) })
  }

  async function create(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'create group')
    const userId = visitorOf(request).id
    const name = (fields.name ?? '').trim()
    const nameProblem = await findProblem(() => makeGroup(services, { name, userId, id }))
    if (nameProblem !== undefined) return showList(reply.status(422), { name, nameProblem })
    return goTo(reply, listPath, { about: 'joined', groupId: id })
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
    return goTo(reply, listPath, isAccepted ? { about: 'joined', groupId } : { about: 'declined', groupName })
  }

  /**
   * Returns undefined if the visitor is not a member of the group. The visitor then gets the same answer as for a group
   * that does not exist.
   */
  async function findVisitorsGroup(request: FastifyRequest, groupId: string): Promise<Group | undefined> {
    const isVisible = isId(groupId) && (await isMember(store.read, groupId, visitorOf(request).id))
    return isVisible ? findGroup(store.read, groupId) : undefined
  }

  async function requireVisitorsGroup(request: FastifyRequest, groupId: string): Promise<Group> {
    const group = await findVisitorsGroup(request, groupId)
    if (!group) throw new Refusal('group-unknown')
    return group
  }

  async function showGroup(reply: FastifyReply, groupId: string, { notice, ...outcome }: GroupOutcome) {
    const { request } = reply
    const group = await requireVisitorsGroup(request, groupId)
    const members = await listMembers(store.read, groupId, membersOnPage)
    return showAccountPage(reply, 'account/group', {
      title: group.name,
      group,
      isMaker: group.createdBy === visitorOf(request).id,
      members: members.sort((one, other) => nameOf(one).localeCompare(nameOf(other), 'en')),
      memberCount: await countMembers(store.read, groupId),
      mostAtFirst,
      applications: await listApplicationNamesIn(store.read, groupId, limits.applicationsInGroup),
      invitations: await listInvitationsInto(store.read, groupId),
      labUrl: services.addresses.labUrl,
      notice,
      removed: notice?.about === 'removed' && notice.userId ? await findUser(store.read, notice.userId) : undefined,
      longestName: longestGroupName,
      name: group.name,
      formToken: makeAccountForm(services, request, 'change group'),
      ...outcome,
    })
  }

  async function show(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const notice = takeNotice(services, reply, { path: pathOf(request), userId: visitorOf(request).id })
    return showGroup(reply, request.params.group_id, { notice })
  }

  /** Receives all forms that change a group. The field `change` says what a form does. */
  async function change(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'change group')
    const makeChange = changes.get(fields.change ?? '')
    if (!makeChange) throw new Refusal('field-missing', { field: 'change' })
    return makeChange(reply, {
      groupId: request.params.group_id,
      callerId: visitorOf(request).id,
      userId: (fields.userId ?? '').trim(),
      name: (fields.name ?? '').trim(),
    })
  }

  // This is a Map, because every object also has properties such as `constructor`.
  const changes = new Map(
    Object.entries({ invite, rename, 'cancel-invitation': cancelInvitation, 'remove-member': removeMember, leave }),
  )

  async function invite(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    const inviteProblem = userId.includes('@')
      ? emailForId
      : await findProblem(() => inviteUser(services, { userId, groupId, inviterId: callerId }))
    if (inviteProblem !== undefined) return showGroup(reply.status(422), groupId, { userId, inviteProblem })
    logChange(reply.request, { code: 'group-invited', groupId, caller: callerId, user: userId })
    return goTo(reply, pathOfGroup(groupId), { about: 'invited' })
  }

  async function rename(reply: FastifyReply, { groupId, callerId, name }: GroupForm) {
    const nameProblem = await findProblem(() => renameGroup(services, { groupId, name, callerId }))
    if (nameProblem !== undefined) return showGroup(reply.status(422), groupId, { name, nameProblem })
    logChange(reply.request, { code: 'group-renamed', groupId, caller: callerId })
    return goTo(reply, pathOfGroup(groupId), { about: 'renamed' })
  }

  async function cancelInvitation(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    const end = async () => {
      await endLink(services, { userId, groupId, callerId, only: 'invitation' })
      logChange(reply.request, { code: 'group-invitation-cancelled', groupId, caller: callerId, user: userId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(422), groupId, { groupProblem })
    return goTo(reply, pathOfGroup(groupId), { about: 'invitation cancelled' })
  }

  async function removeMember(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    // The notice shows a name only if the user ID belongs to a member. Otherwise, a visitor could send any user ID and
    // read the name of this user.
    const isNamed = isId(userId) && (await isMember(store.read, groupId, userId))
    const end = async () => {
      await endLink(services, { userId, groupId, callerId, only: 'membership' })
      logChange(reply.request, { code: 'group-member-removed', groupId, caller: callerId, user: userId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(422), groupId, { groupProblem })
    return goTo(reply, pathOfGroup(groupId), { about: 'removed', userId: isNamed ? userId : undefined })
  }

  async function leave(reply: FastifyReply, { groupId, callerId }: GroupForm) {
    const groupName = (await findVisitorsGroup(reply.request, groupId))?.name
    const end = async () => {
      await endLink(services, { userId: callerId, groupId, callerId, only: 'membership' })
      logChange(reply.request, { code: 'group-left', groupId, caller: callerId, user: callerId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown', 'group-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(409), groupId, { groupProblem })
    return goTo(reply, listPath, { about: 'left', groupName })
  }

  function goTo(reply: FastifyReply, path: string, notice: PageNotice) {
    return redirectWithNotice(services, reply, { path, userId: visitorOf(reply.request).id, notice })
  }

  async function askToLeave(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const group = await requireVisitorsGroup(request, request.params.group_id)
    const isLast = (await countMembers(store.read, group.id)) === 1
    const path = pathOfGroup(group.id)
    // The page of the group says what the visitor must do before they can leave.
    if (isLast && (await countApplicationsIn(store.read, group.id)).count > 0) return reply.redirect(path, 303)
    return askFirst(reply, {
      title: 'Leave this group?',
      question: ['Leave the group “', '”?'],
      name: group.name,
      texts: isLast
        ? ['You are the only member, so the group is removed when you leave. You cannot undo this.']
        : ['You lose access to the applications of the group.', 'To come back, you need an invitation.'],
      action: path,
      fields: { formToken: makeAccountForm(services, request, 'change group'), change: 'leave' },
      button: 'Leave the group',
      cancel: path,
    })
  }

  async function askToRemove(request: FastifyRequest<OneMember>, reply: FastifyReply) {
    const { group_id: groupId, user_id: userId } = request.params
    const group = await requireVisitorsGroup(request, groupId)
    const path = pathOfGroup(group.id)
    const { id: callerId } = visitorOf(request)
    // The creator leaves the group on another page. That page says what happens if the creator is the only member.
    const mayRemove = group.createdBy === callerId && isId(userId) && userId !== callerId
    const member =
      mayRemove && (await isMember(store.read, groupId, userId)) ? await findUser(store.read, userId) : undefined
    if (!member) return reply.redirect(path, 303)
    return askFirst(reply, {
      title: 'Remove this member?',
      question: ['Remove ', ' from the group?'],
      name: nameOf(member),
      texts: [
        'This person loses access to the applications of the group at once.',
        'To come back, this person needs an invitation.',
      ],
      action: path,
      fields: { formToken: makeAccountForm(services, request, 'change group'), change: 'remove-member', userId },
      button: 'Remove member',
      cancel: path,
    })
  }

  return { list, create, answerInvitation, show, change, askToLeave, askToRemove }
}

function pathOfGroup(groupId: string): string {
  return `${listPath}/${encodeURIComponent(groupId)}`
}

/**
 * `user` is the user whose membership or invitation has changed. Call this only after a change: if a form is sent twice,
 * the log then contains the change once.
 */
function logChange(
  { log }: FastifyRequest,
  change: { code: string; groupId: string; caller: string; user?: string },
): void {
  log.info(change, 'a group was changed')
}

const nameOf = ({ firstName, lastName }: { firstName: string; lastName: string }) => `${firstName} ${lastName}`

const emailForId =
  'This is an e-mail address. Enter the person’s user ID instead. The person can find it on their account page.'

const acceptedAlready =
  'You have already accepted this invitation, so you are a member of the group. You can leave the group on its page.'

/**
 * The messages for the refusals that the page shows next to its form. For all other refusals, the visitor gets an error
 * page.
 */
export const problemsOfGroups: AnswerTable<string | undefined> = {
  'fields-invalid': ({ problems }) => problems?.name?.join(' '),
  'user-unknown': 'There is no account with this user ID. A person can find their user ID on their account page.',
  'member-already': 'This person is already a member.',
  'invited-already': 'This person has already been invited.',
  'last-member':
    'You are the only member, and the group has applications. Remove the applications first, or invite another person and wait until they accept.',
  'too-many-groups': `You are in ${limits.groupsOfUser} groups, which is the limit. Leave a group first.`,
  'too-many-invitations': `The group has ${limits.openInvitations} open invitations, which is the limit. Cancel an invitation first.`,
  'invited-too-often': `You have invited this person ${limits.invitationsADay} times today, which is the limit. Try again tomorrow.`,
}

/**
 * Runs `work`. If a Refusal is thrown, the function resolves to a sentence for the page. Otherwise, it resolves to
 * undefined. A reason in `alreadyDone` does not count as a refusal: an earlier request with the same form has already
 * made the change.
 */
async function findProblem(
  work: () => Promise<unknown>,
  {
    alreadyDone = [],
    problems = problemsOfGroups,
  }: { alreadyDone?: Reason[]; problems?: typeof problemsOfGroups } = {},
): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (alreadyDone.includes(error.reason)) return undefined
    const problem = answerIn(problems, error)
    if (problem === undefined) throw error
    return problem
  }
}
