// A member of a group invites somebody, who has no right and shows nothing until they accept.
import { randomUUID } from 'node:crypto'
import type { Services } from '../services.ts'
import { countFailure, findBackOff } from '../store/failures.ts'
import { lockGroup } from '../store/groups.ts'
import { type Invitation, insertInvitation, listInvitationsInto } from '../store/invitations.ts'
import { isMember } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'
import { findUser } from '../store/users.ts'
import { isId } from '../values/is-id.ts'
import { bounds } from './bounds.ts'
import { GroupRefusal } from './group-refusal.ts'

const dayMs = 86_400_000

/** Both ids as they came. Throws GroupRefusal. */
export async function inviteUser(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { userId, groupId, inviterId }: { userId: string; groupId: string; inviterId: string },
): Promise<Invitation & { groupName: string }> {
  return store.transaction(async db => {
    const group = isId(groupId) ? await lockGroup(db, groupId) : undefined
    if (!group) throw new GroupRefusal('no group')
    // Before looking for the user: nobody learns here who has an account by asking about other people's groups.
    if (!(await isMember(db, groupId, inviterId))) throw new GroupRefusal('not allowed')
    if (!isId(userId) || !(await findUser(db, userId))) throw new GroupRefusal('no user')
    if (await isMember(db, groupId, userId)) throw new GroupRefusal('member already')
    const open = await listInvitationsInto(db, groupId)
    if (open.some(invitation => invitation.userId === userId)) throw new GroupRefusal('invited already')
    if (open.length >= bounds.openInvitations) throw new GroupRefusal('too many invitations')
    const now = clock()
    await countInvitation(db, `invitations ${inviterId} ${userId}`, now)
    const invitation = { id: randomUUID(), userId, groupId, createdAt: now, createdBy: inviterId }
    await insertInvitation(db, invitation)
    return { ...invitation, groupName: group.name }
  })
}

/** Those that were declined or taken back count as well. Throws GroupRefusal. */
async function countInvitation(db: Db, key: string, now: Date): Promise<void> {
  // Counted first, which locks the count; one too many is rolled back.
  const bucket = { key, limit: bounds.invitationsADay + 1, windowMs: dayMs }
  await countFailure(db, [bucket], now)
  if ((await findBackOff(db, [bucket], now)) > 0) throw new GroupRefusal('invited too often')
}
