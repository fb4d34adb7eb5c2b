// Limits the numbers of groups, applications and invitations, so that every list fits into one answer. The calling code
// locks the rows that are counted, and writes in the same transaction.
import { Refusal } from '../observe/refusal.ts'
import { countApplicationsIn } from '../store/applications.ts'
import { countGroupsOf } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'

/** The maximum length of a group's name, in characters. */
export const longestGroupName = 200

export const limits = {
  groupsOfUser: 20,
  applicationsInGroup: 100,
  /** The size of the fields of all applications of a group, as JSON. */
  bytesInGroup: 256 * 1024,
  openInvitations: 20,
  /**
   * The maximum number of invitations that one person can send to one other person, in all groups together. Without
   * this limit, a person could send a new invitation each time that the other person declines.
   */
  invitationsADay: 20,
}

/** Throws Refusal if the user is already a member of the maximum number of groups. Lock the user first. */
export async function requireRoomForGroup(db: Db, userId: string): Promise<void> {
  if ((await countGroupsOf(db, userId)) >= limits.groupsOfUser)
    throw new Refusal('too-many-groups', { field: 'groupId' })
}

/**
 * Throws Refusal if the group has no room for one more application. `bytes` is the size of the application's fields.
 * Lock the group first.
 */
export async function requireRoomForApplication(db: Db, groupId: string, bytes: number): Promise<void> {
  const present = await countApplicationsIn(db, groupId)
  if (present.count >= limits.applicationsInGroup) throw new Refusal('too-many-applications', { field: 'groupId' })
  requireRoomForBytes(present.bytes + bytes)
}

/**
 * Throws Refusal if the group's limit does not allow the fields of one application to grow by `bytes`. Lock the group
 * first.
 */
export async function requireRoomForGrowth(db: Db, groupId: string, bytes: number): Promise<void> {
  requireRoomForBytes((await countApplicationsIn(db, groupId)).bytes + bytes)
}

function requireRoomForBytes(bytes: number): void {
  if (bytes > limits.bytesInGroup) throw new Refusal('too-many-bytes', { field: 'groupId' })
}
