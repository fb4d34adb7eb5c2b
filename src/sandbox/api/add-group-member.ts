// Makes a user a member of a group, when somebody asks who may.
import type { Parts } from '../app.ts'
import { addMember, findGroup, findStanding, type Membership } from '../store/groups.ts'
import { findUser } from '../store/users.ts'
import { ApiError } from './api-error.ts'
import { isId } from './is-id.ts'

/** Throws ApiError 404 (no such group or user), 403 (neither member nor creator of the group) or 409 (a member already). */
export async function addGroupMember(
  { store, clock }: Parts,
  { userId, groupId, addedBy }: { userId: string; groupId: string; addedBy: string },
): Promise<Membership> {
  return store.transaction(async db => {
    const group = isId(groupId) ? await findGroup(db, groupId) : undefined
    if (!group) throw new ApiError(404, 'To identity not found.')
    const isAllowed = group.createdBy === addedBy || (await findStanding(db, groupId, addedBy)) === 'member'
    // Before looking for the user: nobody learns here who has an account by asking about other people's groups.
    if (!isAllowed) throw new ApiError(403, 'Permission denied')
    if (!isId(userId) || !(await findUser(db, userId))) throw new ApiError(404, 'From identity not found.')
    const membership = await addMember(db, { groupId, userId, addedBy, now: clock() })
    if (!membership) throw new ApiError(409, 'The user is a member of the group already.')
    return membership
  })
}
