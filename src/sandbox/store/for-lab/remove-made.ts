// Removes everything that the laboratory has made for one suite or for all suites, and everything that the people of
// these suites have made. An application that somebody else has made stays, even if it belongs to a group of a suite.
// In this case, the group also stays, and gets a new creator.
import { sql } from 'kysely'
import { lockGroup } from '../groups.ts'
import { isRemoved, removeApplications, selectApplications } from '../present-applications.ts'
import type { Db } from '../schema.ts'
import type { Store } from '../store.ts'
import { deleteGrantsOf, makeRoomFor } from '../sweep.ts'
import { lockUser } from '../users.ts'

interface Removed {
  people: number
  groups: number
  /** The ids of the removed applications, which are also the ids of their clients. */
  applications: string[]
}

// The second round and all later rounds remove the records that other requests made during the previous round.
const mostRounds = 10

/**
 * If `suite` is undefined, the function removes the records of all suites. Other people and other suites can use the
 * sandbox while the function runs.
 */
export async function removeMade(store: Store, suite: string | undefined, now: Date): Promise<Removed> {
  const removed: Removed = { people: 0, groups: 0, applications: [] }
  const made = selectMade(suite)
  for (let round = 0; round < mostRounds; round += 1) {
    const { ended, gone } = await endAll(store, made, now)
    const people = await made.people(store.read).execute()
    const groups = await made.groups(store.read).execute()
    if (people.length + groups.length + gone.length === 0) return removed
    removed.applications.push(...ended)
    for (const id of gone) await makeRoomFor(store, id)
    for (const { id } of groups)
      if (await removeGroup(store, id)) removed.groups += 1
      else await handOver(store, id, made)
    for (const { id } of people) {
      await deleteGrantsOf(store, id)
      if (await removePerson(store, id)) removed.people += 1
    }
  }
  throw new Error('a suite creates records faster than they can be removed')
}

type Made = ReturnType<typeof selectMade>

/**
 * Returns queries for the ids of the records to remove. The queries are unions, because the databases do not use an
 * index for a condition with "or". `isOfSuite` is a condition for any marked table.
 */
function selectMade(suite: string | undefined) {
  const isOfSuite = suite === undefined ? sql<boolean>`suite is not null` : sql<boolean>`suite = ${suite}`
  const people = (db: Db) => db.selectFrom('users').select('id').where(isOfSuite)
  const groups = (db: Db) =>
    db
      .selectFrom('groups')
      .select('id')
      .where(isOfSuite)
      .union(db.selectFrom('groups').select('id').where('created_by', 'in', people(db)))
  const applications = (db: Db) =>
    db
      .selectFrom('applications')
      .select('id')
      .where(isOfSuite)
      .union(db.selectFrom('applications').select('id').where('created_by', 'in', people(db)))
      // A group can be removed only after its applications. So the query also selects each application of these groups
      // that was removed earlier, or whose creator no longer exists.
      .union(
        db
          .selectFrom('applications')
          .select('id')
          .where('group_id', 'in', groups(db))
          .where(eb =>
            eb.or([
              isRemoved,
              eb.not(
                eb.exists(eb.selectFrom('users').select('id').whereRef('users.id', '=', 'applications.created_by')),
              ),
            ]),
          ),
      )
  return { isOfSuite, people, groups, applications }
}

/**
 * Ends all clients, sessions and tokens at the same time. `ended` lists the applications that this call has removed.
 * `gone` lists all applications whose rows must now be deleted, because a group can be removed only after its
 * applications.
 */
async function endAll(store: Store, made: Made, now: Date): Promise<{ ended: string[]; gone: string[] }> {
  return store.transaction(async db => {
    await db.deleteFrom('portal_sessions').where('user_id', 'in', made.people(db)).execute()
    await db
      .updateTable('grants')
      .set({ revoked_at: now.getTime() })
      .where('user_id', 'in', made.people(db))
      .where('revoked_at', 'is', null)
      .execute()
    const ended = await removeApplications(db, now).where('id', 'in', made.applications(db)).execute()
    const gone = await made.applications(db).execute()
    return { ended: ended.map(({ id }) => id), gone: gone.map(({ id }) => id) }
  })
}

/**
 * Removes a group with its memberships and invitations. Returns false if the group still has an application of a person
 * who is not removed.
 */
async function removeGroup(store: Store, id: string): Promise<boolean> {
  return store.transaction(async db => {
    await lockGroup(db, id)
    const { numDeletedRows } = await db
      .deleteFrom('groups')
      .where('id', '=', id)
      .where(eb => eb.not(eb.exists(eb.selectFrom('applications').select('id').where('group_id', '=', id))))
      .executeTakeFirst()
    return numDeletedRows > 0n
  })
}

/**
 * Gives a new creator to a group that stays. A group stays if it has an application of a person who is not removed. The
 * new creator is the earliest member who is not removed. If all members are removed, the creator of the oldest
 * remaining application becomes the creator of the group.
 */
async function handOver(store: Store, id: string, made: Made): Promise<void> {
  await store.transaction(async db => {
    await lockGroup(db, id)
    const applications = await selectApplications(db)
      .select('created_by as userId')
      .where('group_id', '=', id)
      .where('id', 'not in', made.applications(db))
      .orderBy('created_at')
      .orderBy('id')
      .execute()
    // The application may have been removed in the meantime. In this case, the next round removes the group.
    if (applications.length === 0) return
    const member = await db
      .selectFrom('memberships')
      .select('user_id as userId')
      .where('group_id', '=', id)
      .where('user_id', 'not in', made.people(db))
      .orderBy('created_at')
      .orderBy('id')
      .executeTakeFirst()
    const { userId } = member ?? applications[0]!
    await db.updateTable('groups').set({ created_by: userId }).where('id', '=', id).execute()
    await db.updateTable('groups').set({ suite: null }).where('id', '=', id).where(made.isOfSuite).execute()
  })
}

/**
 * Removes a person with their sessions, consents and memberships. Returns false if the person has made a group in the
 * meantime.
 */
async function removePerson(store: Store, id: string): Promise<boolean> {
  return store.transaction(async db => {
    await lockUser(db, id)
    const { numDeletedRows } = await db
      .deleteFrom('users')
      .where('id', '=', id)
      .where(eb => eb.not(eb.exists(eb.selectFrom('groups').select('id').where('created_by', '=', id))))
      .executeTakeFirst()
    return numDeletedRows > 0n
  })
}
