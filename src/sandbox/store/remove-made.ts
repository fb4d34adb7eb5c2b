// Removes what the laboratory made for one suite, or all of it, and what the people whom it made have made themselves.
import { sql } from 'kysely'
import { lockGroup } from './groups.ts'
import type { Db } from './schema.ts'
import type { Store } from './store.ts'
import { deleteGrantsOf, makeRoomFor } from './sweep.ts'
import { lockUser } from './users.ts'

export interface Removed {
  people: number
  groups: number
  /** Their ids are those of their clients. */
  applications: string[]
}

// Each round takes what was made in the meantime by calls that were under way.
const mostRounds = 10

/** `suite` undefined takes all suites. Others may go on working meanwhile, also in other suites. */
export async function removeMade(store: Store, suite: string | undefined, now: Date): Promise<Removed> {
  const removed: Removed = { people: 0, groups: 0, applications: [] }
  const isOfSuite = suite === undefined ? sql<boolean>`suite is not null` : sql<boolean>`suite = ${suite}`
  for (let round = 0; round < mostRounds; round += 1) {
    // At once for everybody: clients, sessions and tokens end.
    const { applications, unswept } = await store.transaction(async db => {
      const people = db.selectFrom('users').select('id').where(isOfSuite)
      await db.deleteFrom('portal_sessions').where('user_id', 'in', people).execute()
      await db
        .updateTable('grants')
        .set({ revoked_at: now.getTime() })
        .where('user_id', 'in', people)
        .where('revoked_at', 'is', null)
        .execute()
      const rows = await db
        .updateTable('applications')
        .set({ removed_at: now.getTime() })
        .where('removed_at', 'is', null)
        .where(eb => eb.or([isOfSuite, eb('group_id', 'in', selectGroups(db, isOfSuite))]))
        .returning('id')
        .execute()
      // Others that were removed before stand in the way of their group until they are swept.
      const unswept = await db
        .selectFrom('applications')
        .select('id')
        .where('removed_at', 'is not', null)
        .where(eb => eb.or([isOfSuite, eb('group_id', 'in', selectGroups(db, isOfSuite))]))
        .execute()
      return { applications: rows.map(({ id }) => id), unswept }
    })
    for (const { id } of unswept) await makeRoomFor(store, id)
    const groups = await selectGroups(store.read, isOfSuite).execute()
    const people = await store.read.selectFrom('users').select('id').where(isOfSuite).execute()
    removed.applications.push(...applications)
    if (applications.length + groups.length + people.length === 0) return removed
    for (const { id } of groups) if (await removeGroup(store, id)) removed.groups += 1
    for (const { id } of people) {
      await deleteGrantsOf(store, id)
      if (await removePerson(store, id)) removed.people += 1
    }
  }
  throw new Error('what is to be removed is made faster than it is removed')
}

function selectGroups(db: Db, isOfSuite: ReturnType<typeof sql<boolean>>) {
  const people = db.selectFrom('users').select('id').where(isOfSuite)
  return db
    .selectFrom('groups')
    .select('id')
    .where(eb => eb.or([isOfSuite, eb('created_by', 'in', people)]))
}

/** False where somebody has made an application there in this moment. Members and invitations go with it. */
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

/** False where they have made a group in this moment. Sessions, consents and memberships go with them. */
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
