// The groups of a user, as the portal lists them.

import { listMemberships, type Membership } from './memberships.ts'
import type { Db } from './schema.ts'

export interface GroupOfUser {
  id: string
  name: string
  /** Whether it is of the user's own making. */
  isMaker: boolean
  memberCount: number
}

// A page is read by a person. Nobody gets into so many, but somebody may have been put there by an earlier version.
const shownGroups = 100

/** Those of the user's own making first, at most 100. Two queries, whatever the number of groups. */
export async function listGroupsOf(db: Db, userId: string): Promise<GroupOfUser[]> {
  const memberships = (await listMemberships(db, userId)).slice(0, shownGroups)
  const counts = await countMembersOfEach(db, memberships)
  return memberships.map(({ groupId, groupName, isMaker }) => ({
    id: groupId,
    name: groupName,
    isMaker,
    memberCount: counts.get(groupId) ?? 0,
  }))
}

async function countMembersOfEach(db: Db, memberships: Membership[]): Promise<Map<string, number>> {
  if (memberships.length === 0) return new Map()
  const rows = await db
    .selectFrom('memberships')
    .select(eb => ['group_id as groupId', eb.fn.countAll<number>().as('count')])
    .where(
      'group_id',
      'in',
      memberships.map(({ groupId }) => groupId),
    )
    .groupBy('group_id')
    .execute()
  return new Map(rows.map(({ groupId, count }) => [groupId, Number(count)]))
}
