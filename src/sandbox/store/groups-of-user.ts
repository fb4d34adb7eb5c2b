// The groups of a user with their members, as the portal shows them.
import { sql } from 'kysely'
import type { Db } from './schema.ts'

export interface GroupOfUser {
  id: string
  name: string
  createdAt: Date
  /** The first to become members, at most `shownMembers`. */
  members: { userId: string; email: string; firstName: string; lastName: string }[]
  memberCount: number
}

// A page is read by a person; bounds keep a huge group from becoming a huge page.
const shownGroups = 100
const shownMembers = 20

/** The newest first, at most 100. Two queries, whatever the number of groups. */
export async function listGroupsOf(db: Db, userId: string): Promise<GroupOfUser[]> {
  const groups = await db
    .selectFrom('memberships')
    .innerJoin('groups', 'groups.id', 'memberships.group_id')
    .select(['groups.id', 'groups.name', 'groups.created_at as createdAt'])
    .where('memberships.user_id', '=', userId)
    .orderBy('groups.created_at', 'desc')
    .orderBy('groups.id')
    .limit(shownGroups)
    .execute()
  const members = await listMembers(
    db,
    groups.map(group => group.id),
  )
  return groups.map(({ id, name, createdAt }) => {
    const own = members.filter(member => member.groupId === id)
    return {
      id,
      name,
      createdAt: new Date(createdAt),
      members: own.map(({ userId, email, firstName, lastName }) => ({ userId, email, firstName, lastName })),
      memberCount: Number(own[0]?.memberCount ?? 0),
    }
  })
}

async function listMembers(db: Db, groupIds: string[]) {
  if (groupIds.length === 0) return []
  return db
    .with('numbered', cte =>
      cte
        .selectFrom('memberships')
        .select(['group_id as groupId', 'user_id as userId'])
        .select(sql<number>`row_number() over (partition by group_id order by created_at, id)`.as('place'))
        .select(sql<number>`count(*) over (partition by group_id)`.as('memberCount'))
        .where('group_id', 'in', groupIds),
    )
    .selectFrom('numbered')
    .innerJoin('users', 'users.id', 'numbered.userId')
    .select(['numbered.groupId', 'numbered.memberCount', 'users.id as userId', 'users.email'])
    .select(['users.first_name as firstName', 'users.last_name as lastName'])
    .where('place', '<=', shownMembers)
    .orderBy('numbered.groupId')
    .orderBy('place')
    .execute()
}
