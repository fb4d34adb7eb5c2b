// Makes and renames groups, and adds and removes members. The calling code passes ids exactly as the request contains
// them, and this file checks the ids.
import { randomUUID } from 'node:crypto'
import { Refusal } from '../observe/refusal.ts'
import type { Services } from '../services.ts'
import { countApplicationsIn } from '../store/applications.ts'
import { countAttempt } from '../store/failures.ts'
import { createGroup, endGroup, findGroup, type Group, lockGroup, setGroupName } from '../store/groups.ts'
import {
  deleteInvitation,
  deleteInvitationsBy,
  type Invitation,
  insertInvitation,
  listInvitationsInto,
} from '../store/invitations.ts'
import { addMember, countMembers, isMember, type Membership, removeMember } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'
import { findUser, lockUser } from '../store/users.ts'
import { isId } from '../values/is-id.ts'
import { findLineProblem } from '../values/line-problem.ts'
import { limits, longestGroupName, requireRoomForGroup } from './limits.ts'

const dayMs = 86_400_000

/**
 * Makes a group, and adds its creator as a member. If a group with this `id` already exists, the form was sent twice,
 * and the function does not make a second group: `isNew` is then false. `inSameTransaction` runs in the same
 * transaction. Throws Refusal.
 */
export async function makeGroup(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { name, userId, id = randomUUID() }: { name: string; userId: string; id?: string },
  inSameTransaction?: (db: Db, id: string) => Promise<unknown>,
): Promise<Group & { isNew: boolean }> {
  requireGroupName(name)
  return store.transaction(async db => {
    await lockUser(db, userId)
    const present = await findGroup(db, id)
    if (present) return { ...present, isNew: false }
    await requireRoomForGroup(db, userId)
    const group = await createGroup(db, name, userId, clock(), id)
    await inSameTransaction?.(db, id)
    return { ...group, isNew: true }
  })
}

/**
 * Renames a group. Every member has the right to rename the group, because every member has the right to change the
 * group's applications. Throws Refusal.
 */
export async function renameGroup(
  { store }: Pick<Services, 'store'>,
  { groupId, name, callerId }: { groupId: string; name: string; callerId: string },
): Promise<void> {
  requireGroupName(name)
  await store.transaction(async db => {
    const group = await requireGroup(db, groupId)
    if (!(await isMember(db, group.id, callerId))) throw new Refusal('not-allowed')
    await setGroupName(db, group.id, name)
  })
}

/**
 * Invites a user on behalf of a member of the group. An open invitation does not give the user any rights, and does not
 * show the group anything about the user. Throws Refusal.
 */
export async function inviteUser(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, groupId, inviterId }: { userId: string; groupId: string; inviterId: string },
): Promise<Invitation & { groupName: string }> {
  return store.transaction(async db => {
    const group = await requireGroup(db, groupId)
    // Check first that the caller is a member, and then that the user exists: a caller outside the group must not learn
    // who has an account.
    if (!(await isMember(db, groupId, inviterId))) throw new Refusal('not-allowed')
    await requireUser(db, userId)
    if (await isMember(db, groupId, userId)) throw new Refusal('member-already')
    const open = await listInvitationsInto(db, groupId)
    if (open.some(invitation => invitation.userId === userId)) throw new Refusal('invited-already')
    if (open.length >= limits.openInvitations) throw new Refusal('too-many-invitations', { field: 'groupId' })
    const now = clock()
    await countInvitation(db, `invitations ${inviterId} ${userId}`, now)
    const invitation = { id: randomUUID(), userId, groupId, createdAt: now, createdBy: inviterId }
    await insertInvitation(db, invitation)
    return { ...invitation, groupName: group.name }
  })
}

/** Counts an invitation. An invitation that is later declined or cancelled also counts. Throws Refusal. */
async function countInvitation(db: Db, key: string, now: Date): Promise<void> {
  const bucket = { key, limit: limits.invitationsADay, windowMs: dayMs }
  if ((await countAttempt(db, bucket, now)) > 0) throw new Refusal('invited-too-often', { field: 'groupId' })
}

/** Makes the invited person a member. If the function throws Refusal, the invitation stays open. */
export async function acceptInvitation(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, groupId }: { userId: string; groupId: string },
): Promise<Membership> {
  return store.transaction(async db => {
    await lockUser(db, userId)
    const group = await requireGroup(db, groupId)
    if (await isMember(db, groupId, userId)) throw new Refusal('member-already')
    const invitation = await deleteInvitation(db, groupId, userId)
    if (!invitation) throw new Refusal('not-allowed')
    await requireRoomForGroup(db, userId)
    const { id, createdBy } = invitation
    const now = clock()
    await addMember(db, { id, groupId, userId, addedBy: createdBy, now })
    const isMaker = group.createdBy === userId
    return { id, userId, groupId, groupName: group.name, isMaker, createdAt: now, createdBy }
  })
}

/** The kind of link that `endLink` has ended. Each link connects a user and a group. */
type EndedLink = 'membership' | 'invitation'

/**
 * Ends the link between a user and a group: a member leaves, the group's creator removes a member, a member cancels an
 * invitation, or the invited user declines it. When the last member leaves, the group is deleted. Pages pass `only`,
 * because each button on a page ends one kind of link. For example, a page has a button that cancels an invitation. If
 * the user accepts the invitation before somebody clicks this button, the button must not end the membership. The
 * function then throws Refusal (member-already). It also throws other Refusals.
 */
export async function endLink(
  { store }: Pick<Services, 'store'>,
  { userId, groupId, callerId, only }: { userId: string; groupId: string; callerId: string; only?: EndedLink },
): Promise<EndedLink> {
  return store.transaction(async db => {
    const group = await requireGroup(db, groupId)
    const isOwn = userId === callerId
    if (!isOwn) {
      // Only a member has rights, and the creator may have left the group. So the function checks the membership first.
      if (!(await isMember(db, group.id, callerId))) throw new Refusal('not-allowed')
      await requireUser(db, userId)
    }
    if (await deleteInvitation(db, group.id, userId)) {
      if (only === 'membership') throw new Refusal('link-unknown')
      return 'invitation'
    }
    if (!(await isMember(db, group.id, userId))) throw new Refusal('link-unknown')
    if (only === 'invitation') throw new Refusal('member-already')
    if (isOwn) await leaveGroup(db, group, userId)
    else if (group.createdBy === callerId) await endMembership(db, group.id, userId)
    else throw new Refusal('not-allowed')
    return 'membership'
  })
}

async function leaveGroup(db: Db, group: Group, userId: string): Promise<void> {
  const isLast = (await countMembers(db, group.id)) === 1
  if (isLast && (await countApplicationsIn(db, group.id)).count > 0) throw new Refusal('last-member')
  await endMembership(db, group.id, userId)
  if (isLast) await endGroup(db, group.id)
}

/**
 * Removes a member. Also deletes the invitations that this member has sent for the group, so that nobody can join with
 * an invitation from a removed person.
 */
async function endMembership(db: Db, groupId: string, userId: string): Promise<void> {
  await removeMember(db, groupId, userId)
  await deleteInvitationsBy(db, groupId, userId)
}

/**
 * Throws Refusal (fields-invalid) unless the name is a line of text that is not empty. Pages show the name as the text
 * of a link.
 */
export function requireGroupName(name: string): void {
  const problem = name.trim() === '' ? 'Enter a name for the group.' : findLineProblem(name, longestGroupName)
  if (problem !== undefined) throw new Refusal('fields-invalid', { problems: { name: [problem] } })
}

async function requireGroup(db: Db, groupId: string): Promise<Group> {
  const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
  if (!group) throw new Refusal('group-unknown')
  return group
}

async function requireUser(db: Db, userId: string): Promise<void> {
  if (!isId(userId) || !(await findUser(db, userId))) throw new Refusal('user-unknown')
}
