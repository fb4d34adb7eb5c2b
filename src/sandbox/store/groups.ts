// Groups of developers and their members. An application belongs to a group.
import { randomUUID } from 'node:crypto'
import type { Db } from './schema.ts'

export interface Group {
  id: string
  name: string
  createdAt: Date
  createdBy: string
}

/** A MemberOf link, from a user to a group. */
export interface Membership {
  id: string
  userId: string
  groupId: string
  createdAt: Date
  createdBy: string
}

/**
 * The creator becomes a member at once. Two statements: call it in a transaction. An `id` that was used before, by a form
 * that was sent twice, changes nothing.
 */
export async function createGroup(
  db: Db,
  name: string,
  userId: string,
  now: Date,
  id: string = randomUUID(),
): Promise<Group> {
  await db
    .insertInto('groups')
    .values({ id, name, created_at: now.getTime(), created_by: userId })
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute()
  await addMember(db, { groupId: id, userId, addedBy: userId, now })
  return { id, name, createdAt: now, createdBy: userId }
}

export async function findGroup(db: Db, id: string): Promise<Group | undefined> {
  const row = await db.selectFrom('groups').selectAll().where('id', '=', id).executeTakeFirst()
  return row && { id: row.id, name: row.name, createdAt: new Date(row.created_at), createdBy: row.created_by }
}

/** Undefined when the user is a member already. */
export async function addMember(
  db: Db,
  { groupId, userId, addedBy, now }: { groupId: string; userId: string; addedBy: string; now: Date },
): Promise<Membership | undefined> {
  const row = await db
    .insertInto('memberships')
    .values({ id: randomUUID(), user_id: userId, group_id: groupId, created_at: now.getTime(), created_by: addedBy })
    .onConflict(conflict => conflict.columns(['user_id', 'group_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row && toMembership(row)
}

/** What a group is to a user: `unknown` when there is no such group. */
export async function findStanding(
  db: Db,
  groupId: string,
  userId: string,
): Promise<'member' | 'stranger' | 'unknown'> {
  const row = await db
    .selectFrom('groups')
    .leftJoin('memberships', join =>
      join.onRef('memberships.group_id', '=', 'groups.id').on('memberships.user_id', '=', userId),
    )
    .select('memberships.id as membershipId')
    .where('groups.id', '=', groupId)
    .executeTakeFirst()
  if (!row) return 'unknown'
  return row.membershipId === null ? 'stranger' : 'member'
}

/** The user's memberships, the oldest first. */
export async function listMemberships(db: Db, userId: string): Promise<Membership[]> {
  const rows = await db
    .selectFrom('memberships')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toMembership)
}

interface MembershipRow {
  id: string
  user_id: string
  group_id: string
  created_at: number
  created_by: string
}

function toMembership(row: MembershipRow): Membership {
  return {
    id: row.id,
    userId: row.user_id,
    groupId: row.group_id,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
  }
}
