// Groups of developers. Every application belongs to one group.
import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { addMember } from './memberships.ts'
import { type Db, type Tables, unchanged } from './schema.ts'

export interface Group {
  id: string
  name: string
  createdAt: Date
  /** The id of the user who made the group. */
  createdBy: string
}

/** Stores a group, and adds its creator as a member. Call this in a transaction, because it runs two statements. */
export async function createGroup(
  db: Db,
  name: string,
  userId: string,
  now: Date,
  id: string = randomUUID(),
): Promise<Group> {
  await db.insertInto('groups').values({ id, name, created_at: now.getTime(), created_by: userId }).execute()
  await addMember(db, { id: randomUUID(), groupId: id, userId, addedBy: userId, now })
  return { id, name, createdAt: now, createdBy: userId }
}

export async function findGroup(db: Db, id: string): Promise<Group | undefined> {
  const row = await db.selectFrom('groups').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toGroup(row)
}

/**
 * Finds the group and locks it until the transaction ends. Call this before you count or change the group's members,
 * invitations or applications. If a transaction also locks a user or an application, it must lock this user or
 * application before the group.
 */
export async function lockGroup(db: Db, id: string): Promise<Group | undefined> {
  const row = await db.updateTable('groups').set(unchanged).where('id', '=', id).returningAll().executeTakeFirst()
  return row && toGroup(row)
}

/** Lock the group first. */
export async function setGroupName(db: Db, id: string, name: string): Promise<void> {
  await db.updateTable('groups').set({ name }).where('id', '=', id).execute()
}

/**
 * Call this when the last member has left the group. After this call, nobody can join the group. If the group still has
 * applications, it is deleted together with the last application.
 */
export async function endGroup(db: Db, id: string): Promise<void> {
  await db.deleteFrom('invitations').where('group_id', '=', id).execute()
  await deleteEmptyGroup(db, id)
}

/**
 * Deletes a group if it has no members and no applications. A removed application still belongs to the group until the
 * sweep has deleted its row.
 */
export async function deleteEmptyGroup(db: Db, id: string): Promise<void> {
  await db
    .deleteFrom('groups')
    .where('id', '=', id)
    .where(eb => eb.not(eb.exists(eb.selectFrom('memberships').select('id').where('group_id', '=', id))))
    .where(eb => eb.not(eb.exists(eb.selectFrom('applications').select('id').where('group_id', '=', id))))
    .execute()
}

function toGroup(row: Selectable<Tables['groups']>): Group {
  return { id: row.id, name: row.name, createdAt: new Date(row.created_at), createdBy: row.created_by }
}

/** Finds the oldest group that the user has made and is still a member of. */
export async function findOwnGroup(db: Db, userId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('groups')
    .innerJoin('memberships', 'memberships.group_id', 'groups.id')
    .select('groups.id')
    .where('groups.created_by', '=', userId)
    .where('memberships.user_id', '=', userId)
    .orderBy('groups.created_at')
    .orderBy('groups.id')
    .executeTakeFirst()
  return row?.id
}
