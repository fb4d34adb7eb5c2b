// The page of one group with its forms, and the pages that ask before a member leaves or is removed.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { endLink, inviteUser, renameGroup } from '../../groups/groups.ts'
import { limits, longestGroupName } from '../../groups/limits.ts'
import { logGroupChange } from '../../observe/log-group-change.ts'
import { Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { countApplicationsIn, listApplicationNamesIn } from '../../store/applications.ts'
import { findGroup, type Group } from '../../store/groups.ts'
import { listInvitationsInto } from '../../store/invitations.ts'
import { countMembers, isMember, listMembers } from '../../store/memberships.ts'
import { findUser } from '../../store/users.ts'
import { isId } from '../../values/is-id.ts'
import { type PageMessage, redirectWithMessage, takeMessage } from '../message.ts'
import { askFirst, makeAccountForm, pathOf, readAccountForm, showAccountPage, visitorOf } from './account.ts'
import { findProblem } from './group-problems.ts'
import { groupsPath } from './groups.ts'

const membersOnPage = 100
/** How many members the page shows at first. If the visitor clicks a button, the page also shows the other members. */
const mostAtFirst = 10

/** The outcome of the form that was sent. The page of the group shows this outcome. */
interface GroupOutcome {
  message?: PageMessage | undefined
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

export function groupRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store } = services

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

  async function showGroup(reply: FastifyReply, groupId: string, { message, ...outcome }: GroupOutcome) {
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
      message,
      removed: message?.about === 'removed' && message.userId ? await findUser(store.read, message.userId) : undefined,
      longestName: longestGroupName,
      name: group.name,
      formToken: makeAccountForm(services, request, 'change group'),
      ...outcome,
    })
  }

  async function show(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const message = takeMessage(services, reply, { path: pathOf(request), userId: visitorOf(request).id })
    return showGroup(reply, request.params.group_id, { message })
  }

  /** Receives all forms that change a group. The field `change` says what a form does. */
  async function change(request: FastifyRequest<OneGroup>, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'change group')
    const form = {
      groupId: request.params.group_id,
      callerId: visitorOf(request).id,
      userId: (fields.userId ?? '').trim(),
      name: (fields.name ?? '').trim(),
    }
    switch (fields.change) {
      case 'invite':
        return invite(reply, form)
      case 'rename':
        return rename(reply, form)
      case 'cancel-invitation':
        return cancelInvitation(reply, form)
      case 'remove-member':
        return removeMember(reply, form)
      case 'leave':
        return leave(reply, form)
      default:
        throw new Refusal('field-missing', { field: 'change' })
    }
  }

  async function invite(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    const inviteProblem = userId.includes('@')
      ? emailForId
      : await findProblem(() => inviteUser(services, { userId, groupId, inviterId: callerId }))
    if (inviteProblem !== undefined) return showGroup(reply.status(422), groupId, { userId, inviteProblem })
    logGroupChange(reply.request, { code: 'group-invited', groupId, caller: callerId, user: userId })
    return goTo(reply, pathOfGroup(groupId), { about: 'invited' })
  }

  async function rename(reply: FastifyReply, { groupId, callerId, name }: GroupForm) {
    const nameProblem = await findProblem(() => renameGroup(services, { groupId, name, callerId }))
    if (nameProblem !== undefined) return showGroup(reply.status(422), groupId, { name, nameProblem })
    logGroupChange(reply.request, { code: 'group-renamed', groupId, caller: callerId })
    return goTo(reply, pathOfGroup(groupId), { about: 'renamed' })
  }

  async function cancelInvitation(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    const end = async () => {
      await endLink(services, { userId, groupId, callerId, only: 'invitation' })
      logGroupChange(reply.request, { code: 'group-invitation-cancelled', groupId, caller: callerId, user: userId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(422), groupId, { groupProblem })
    return goTo(reply, pathOfGroup(groupId), { about: 'invitation cancelled' })
  }

  async function removeMember(reply: FastifyReply, { groupId, callerId, userId }: GroupForm) {
    // The message shows a name only if the user ID belongs to a member. Otherwise, a visitor could send any user ID and
    // read the name of this user.
    const isNamed = isId(userId) && (await isMember(store.read, groupId, userId))
    const end = async () => {
      await endLink(services, { userId, groupId, callerId, only: 'membership' })
      logGroupChange(reply.request, { code: 'group-member-removed', groupId, caller: callerId, user: userId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(422), groupId, { groupProblem })
    return goTo(reply, pathOfGroup(groupId), { about: 'removed', userId: isNamed ? userId : undefined })
  }

  async function leave(reply: FastifyReply, { groupId, callerId }: GroupForm) {
    const groupName = (await findVisitorsGroup(reply.request, groupId))?.name
    const end = async () => {
      await endLink(services, { userId: callerId, groupId, callerId, only: 'membership' })
      logGroupChange(reply.request, { code: 'group-left', groupId, caller: callerId, user: callerId })
    }
    const groupProblem = await findProblem(end, { alreadyDone: ['link-unknown', 'group-unknown'] })
    if (groupProblem !== undefined) return showGroup(reply.status(409), groupId, { groupProblem })
    return goTo(reply, groupsPath, { about: 'left', groupName })
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

  function goTo(reply: FastifyReply, path: string, message: PageMessage) {
    return redirectWithMessage(services, reply, { path, userId: visitorOf(reply.request).id, message })
  }

  return { show, change, askToLeave, askToRemove }
}

function pathOfGroup(groupId: string): string {
  return `${groupsPath}/${encodeURIComponent(groupId)}`
}

const nameOf = ({ firstName, lastName }: { firstName: string; lastName: string }) => `${firstName} ${lastName}`

const emailForId =
  'This is an e-mail address. Enter the person’s user ID instead. The person can find it on their account page.'
