// Reads and writes the members of groups. The API shows each membership as a MemberOf link from the user to the group.
import { sql } from 'kysely'
import type { Db } from './schema.ts'
import { type User, userColumns } from './users.ts'

export interface Membership {
  id: string
  userId: string
  groupId: string
  groupName: string
  /** Whether the user has made the group. */
  isMaker: boolean
  createdAt: Date
  createdBy: string
}

/**
 * Adds a member. `addedBy` is the person who invited the new member. If the new member has just made the group,
 * `addedBy` is the new member.
 */
export async function addMember(
  db: Db,
  { id, groupId, userId, addedBy, now }: { id: string; groupId: string; userId: string; addedBy: string; now: Date },
): Promise<void> {
  await db
    .insertInto('memberships')
    .values({ id, user_id: userId, group_id: groupId, created_at: now.getTime(), created_by: addedBy })
    .execute()
}

export async function removeMember(db: Db, groupId: string, userId: string): Promise<void> {
  await db.deleteFrom('memberships').where('user_id', '=', userId).where('group_id', '=', groupId).execute()
}

export async function isMember(db: Db, groupId: string, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('memberships')
    .select('id')
    .where('user_id', '=', userId)
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns the number of groups that the user is a member of. */
export async function countGroupsOf(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('memberships')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function countMembers(db: Db, groupId: string): Promise<number> {
  const { count } = await db
    .selectFrom('memberships')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('group_id', '=', groupId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * Lists the groups that the user has made, and then the user's other groups. In both parts of the list, the oldest
 * membership comes first. The user's own groups therefore always come before the groups that other people made.
 */
export async function listMemberships(db: Db, userId: string): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('groups', 'groups.id', 'memberships.group_id')
    .selectAll('memberships')
    .select(['groups.name as groupName', 'groups.created_by as maker'])
    .where('memberships.user_id', '=', userId)
    .orderBy(sql`case when ${sql.ref('groups.created_by')} = ${sql.ref('memberships.user_id')} then 0 else 1 end`)
    .orderBy('memberships.created_at')
    .orderBy('memberships.id')
    .execute()
  return rows.map(row => ({
    id: row.id,
    userId: row.user_id,
    groupId: row.group_id,
    groupName: row.groupName,
    isMaker: row.maker === row.user_id,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
  }))
}

/** Lists at most `limit` members of a group, oldest membership first. */
export async function listMembers(db: Db, groupId: string, limit: number): Promise<User[]> {
  return db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select(userColumns)
    .where('memberships.group_id', '=', groupId)
    .orderBy('memberships.created_at')
    .orderBy('memberships.id')
    .limit(limit)
    .execute()
}

interface GroupOfUser {
  id: string
  name: string
  /** Whether the user has made this group. */
  isMaker: boolean
  memberCount: number
}

// The page shows at most this many groups, because nobody reads a longer list. Today a user cannot have so many groups,
// but a user of an earlier version of the sandbox may have more.
const shownGroups = 100

/** Lists at most 100 groups of a user. The groups that the user has made come first. This takes two queries. */
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
