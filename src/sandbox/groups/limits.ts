// Limits on groups, applications and invitations, so that every list fits into one answer. The caller locks the rows that
// are counted, and writes in the same transaction.
import { Refusal } from '../observe/refusal.ts'
import { countApplicationsIn } from '../store/applications.ts'
import { countGroupsOf } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'

export const limits = {
  groupsOfUser: 20,
  applicationsInGroup: 100,
  /** The fields of all applications of a group, as JSON. */
  bytesInGroup: 256 * 1024,
  openInvitations: 20,
  /**
   * Invitations from one person to another, counted in all groups together. Without this limit, somebody could send a new
   * invitation each time that the other person declines.
   */
  invitationsADay: 20,
}

/** Lock the user first. Throws Refusal. */
export async function requireRoomForGroup(db: Db, userId: string): Promise<void> {
  if ((await countGroupsOf(db, userId)) >= limits.groupsOfUser)
    throw new Refusal('too-many-groups', { field: 'groupId' })
}

/** Lock the group first. `bytes`: the size of the new application's fields. Throws Refusal. */
export async function requireRoomForApplication(db: Db, groupId: string, bytes: number): Promise<void> {
  const present = await countApplicationsIn(db, groupId)
  if (present.count >= limits.applicationsInGroup) throw new Refusal('too-many-applications', { field: 'groupId' })
  requireRoomForBytes(present.bytes + bytes)
}

/** Lock the group first. `bytes`: how much larger the fields of one of its applications become. Throws Refusal. */
export async function requireRoomForGrowth(db: Db, groupId: string, bytes: number): Promise<void> {
  requireRoomForBytes((await countApplicationsIn(db, groupId)).bytes + bytes)
}

function requireRoomForBytes(bytes: number): void {
  if (bytes > limits.bytesInGroup) throw new Refusal('too-many-bytes', { field: 'groupId' })
}
