// Who was invited becomes a member, by their own wish.

import type { Services } from '../services.ts'
import { lockGroup } from '../store/groups.ts'
import { deleteInvitation } from '../store/invitations.ts'
import { addMember, isMember, type Membership } from '../store/memberships.ts'
import { lockUser } from '../store/users.ts'
import { isId } from '../values/is-id.ts'
import { refuseFurtherGroups } from './bounds.ts'
import { GroupRefusal } from './group-refusal.ts'

/** The group's id as it came. Throws GroupRefusal, and the invitation stays open. */
export async function acceptInvitation(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, groupId }: { userId: string; groupId: string },
): Promise<Membership> {
  return store.transaction(async db => {
    await lockUser(db, userId)
    const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
    if (!group) throw new GroupRefusal('no group')
    if (await isMember(db, groupId, userId)) throw new GroupRefusal('member already')
    const invitation = await deleteInvitation(db, groupId, userId)
    if (!invitation) throw new GroupRefusal('not allowed')
    await refuseFurtherGroups(db, userId)
    const { id, createdBy } = invitation
    const now = clock()
    await addMember(db, { id, groupId, userId, addedBy: createdBy, now })
    const isMaker = group.createdBy === userId
    return { id, userId, groupId, groupName: group.name, isMaker, createdAt: now, createdBy }
  })
}
