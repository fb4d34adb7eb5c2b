// Open invitations to groups. An accepted invitation becomes a membership. A declined or cancelled invitation is
// deleted.
import type { Selectable } from 'kysely'
import type { Db, Tables } from './schema.ts'
import { type User, userColumns } from './users.ts'

export interface Invitation {
  /** The id of the invitation. If the user accepts, the membership gets the same id. */
  id: string
  userId: string
  groupId: string
  createdAt: Date
  /** The member who sent the invitation. */
  createdBy: string
}

export async function insertInvitation(db: Db, invitation: Invitation): Promise<void> {
  await db
    .insertInto('invitations')
    .values({
      id: invitation.id,
      user_id: invitation.userId,
      group_id: invitation.groupId,
      created_at: invitation.createdAt.getTime(),
      created_by: invitation.createdBy,
    })
    .execute()
}

/** Deletes an invitation and returns it, or returns undefined if there was no invitation. */
export async function deleteInvitation(db: Db, groupId: string, userId: string): Promise<Invitation | undefined> {
  const row = await db
    .deleteFrom('invitations')
    .where('user_id', '=', userId)
    .where('group_id', '=', groupId)
    .returningAll()
    .executeTakeFirst()
  return row && toInvitation(row)
}

export async function deleteInvitationsBy(db: Db, groupId: string, memberId: string): Promise<void> {
  await db.deleteFrom('invitations').where('group_id', '=', groupId).where('created_by', '=', memberId).execute()
}

/** Lists the open invitations to a group, oldest first. */
export async function listInvitationsInto(db: Db, groupId: string): Promise<Invitation[]> {
  const rows = await db
    .selectFrom('invitations')
    .selectAll()
    .where('group_id', '=', groupId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toInvitation)
}

/** An invitation as the invited person sees it. */
interface ReceivedInvitation {
  groupId: string
  groupName: string
  createdAt: Date
  inviter: User
}

/** Lists at most `limit` invitations that a user has received, newest first. */
export async function listInvitationsOf(db: Db, userId: string, limit: number): Promise<ReceivedInvitation[]> {
  const rows = await db
    .selectFrom('invitations')
    .innerJoin('groups', 'groups.id', 'invitations.group_id')
    .innerJoin('users', 'users.id', 'invitations.created_by')
    .select(['invitations.group_id as groupId', 'groups.name as groupName', 'invitations.created_at as createdAt'])
    .select(userColumns)
    .where('invitations.user_id', '=', userId)
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitations.id')
    .limit(limit)
    .execute()
  return rows.map(({ groupId, groupName, createdAt, ...inviter }) => ({
    groupId,
    groupName,
    createdAt: new Date(createdAt),
    inviter,
  }))
}

function toInvitation(row: Selectable<Tables['invitations']>): Invitation {
  return {
    id: row.id,
    userId: row.user_id,
    groupId: row.group_id,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
  }
}
