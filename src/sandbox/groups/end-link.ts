// Ends what links a user to a group: a membership or an invitation, from whichever side.

import type { Services } from '../services.ts'
import { countApplicationsIn } from '../store/applications.ts'
import { endGroup, type Group, lockGroup } from '../store/groups.ts'
import { deleteInvitation, deleteInvitationsBy } from '../store/invitations.ts'
import { countMembers, isMember, removeMember } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'
import { findUser } from '../store/users.ts'
import { isId } from '../values/is-id.ts'
import { GroupRefusal } from './group-refusal.ts'

/** What was ended. */
export type EndedLink = 'membership' | 'invitation'

/**
 * A member leaves, the group's maker takes a member out, either side takes an invitation back. A group without members
 * is gone. Both ids as they came. `only` is for pages, whose buttons name what they end: an invitation that was accepted
 * meanwhile is no membership to end. Throws GroupRefusal.
 */
export async function endLink(
  { store }: Pick<Services, 'store'>,
  { userId, groupId, callerId, only }: { userId: string; groupId: string; callerId: string; only?: EndedLink },
): Promise<EndedLink> {
  return store.transaction(async db => {
    const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
    if (!group) throw new GroupRefusal('no group')
    const ended =
      userId === callerId ? await endOwnLink(db, group, userId) : await endLinkOfOther(db, { group, userId, callerId })
    if (only !== undefined && ended !== only) throw new GroupRefusal('no link')
    return ended
  })
}

async function endOwnLink(db: Db, group: Group, userId: string): Promise<EndedLink> {
  if (await deleteInvitation(db, group.id, userId)) return 'invitation'
  await leaveGroup(db, group, userId)
  return 'membership'
}

async function endLinkOfOther(
  db: Db,
  { group, userId, callerId }: { group: Group; userId: string; callerId: string },
): Promise<EndedLink> {
  // Before looking for the user, as when inviting. A maker who has left is a stranger.
  if (!(await isMember(db, group.id, callerId))) throw new GroupRefusal('not allowed')
  if (!isId(userId) || !(await findUser(db, userId))) throw new GroupRefusal('no user')
  if (await deleteInvitation(db, group.id, userId)) return 'invitation'
  if (!(await isMember(db, group.id, userId))) throw new GroupRefusal('no link')
  if (group.createdBy !== callerId) throw new GroupRefusal('not allowed')
  await endMembership(db, group.id, userId)
  return 'membership'
}

async function leaveGroup(db: Db, group: Group, userId: string): Promise<void> {
  if (!(await isMember(db, group.id, userId))) throw new GroupRefusal('no link')
  const isLast = (await countMembers(db, group.id)) === 1
  if (isLast && (await countApplicationsIn(db, group.id)).count > 0) throw new GroupRefusal('last member')
  await endMembership(db, group.id, userId)
  if (isLast) await endGroup(db, group.id)
}

/** With it end the invitations that the member made: nobody comes in through somebody who was taken out. */
async function endMembership(db: Db, groupId: string, userId: string): Promise<void> {
  await removeMember(db, groupId, userId)
  await deleteInvitationsBy(db, groupId, userId)
}
