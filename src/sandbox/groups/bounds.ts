// How much there may be of everything, so that no list is longer than one answer can hold. Checked under the lock of what
// is counted, in the transaction that writes.
import { countApplicationsIn } from '../store/applications.ts'
import { countGroupsOf } from '../store/memberships.ts'
import type { Db } from '../store/schema.ts'
import { GroupRefusal } from './group-refusal.ts'

export const bounds = {
  groupsOfUser: 20,
  applicationsInGroup: 100,
  /** Of the fields of all its applications, as JSON. */
  bytesInGroup: 256 * 1024,
  openInvitations: 20,
  /** Of one person by another, into whatever group, so that whoever declines has peace some time: one for each group. */
  invitationsADay: 20,
}

/** The user must be locked. Throws GroupRefusal when they are in as many groups as they may be. */
export async function refuseFurtherGroups(db: Db, userId: string): Promise<void> {
  if ((await countGroupsOf(db, userId)) >= bounds.groupsOfUser) throw new GroupRefusal('too many groups')
}

/** The group must be locked. Throws GroupRefusal when an application of so many bytes has no place in it. */
export async function refuseFurtherApplications(db: Db, groupId: string, bytes: number): Promise<void> {
  const present = await countApplicationsIn(db, groupId)
  if (present.count >= bounds.applicationsInGroup) throw new GroupRefusal('too many applications')
  if (present.bytes + bytes > bounds.bytesInGroup) throw new GroupRefusal('too many bytes')
}

/** The group must be locked. Throws GroupRefusal when its applications cannot grow by so many bytes. */
export async function refuseGrowth(db: Db, groupId: string, bytes: number): Promise<void> {
  if ((await countApplicationsIn(db, groupId)).bytes + bytes > bounds.bytesInGroup)
    throw new GroupRefusal('too many bytes')
}
