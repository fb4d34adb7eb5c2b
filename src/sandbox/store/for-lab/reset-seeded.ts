// Removes the records that the seeded people have made, and their consents. After that, these people have the same
// records as after the first start.
import { sql } from 'kysely'
import { signOutEverywhere } from '../portal-sessions.ts'
import { removeApplications } from '../present-applications.ts'
import type { Store } from '../store.ts'
import { makeRoomFor } from '../sweep.ts'

/**
 * Ends the sessions, tokens and consents of the seeded people, and removes the applications and groups that they have
 * made. The seeded applications stay. A group also stays if it has other members or still has applications. Resolves to
 * the ids of the removed applications and of the seeded applications.
 */
export async function resetSeeded(store: Store, now: Date): Promise<{ removed: string[]; seeded: string[] }> {
  const people = await store.read
    .selectFrom('seeded_users')
    .innerJoin('users', join =>
      join.onRef('users.email', '=', 'seeded_users.email').onRef('users.id', '=', 'seeded_users.user_id'),
    )
    .select('users.id')
    .execute()
  const ids: string[] = []
  for (const { id: userId } of people) {
    const removed = await store.transaction(async db => {
      await signOutEverywhere(db, userId, now)
      await db.deleteFrom('consents').where('user_id', '=', userId).execute()
      return removeApplications(db, now)
        .where('created_by', '=', userId)
        .where('id', 'not in', db.selectFrom('seeded_clients').select('id'))
        .where('suite', 'is', null)
        .execute()
    })
    for (const { id } of removed) await makeRoomFor(store, id)
    ids.push(...removed.map(({ id }) => id))
    await store.write(db =>
      db
        .deleteFrom('groups')
        .where('created_by', '=', userId)
        .where('suite', 'is', null)
        .where(sql<boolean>`not exists (select 1 from applications where group_id = groups.id)`)
        .where(sql<boolean>`not exists (select 1 from memberships where group_id = groups.id and user_id <> ${userId})`)
        .execute(),
    )
  }
  const seeded = await store.read.selectFrom('seeded_clients').select('id').execute()
  return { removed: ids, seeded: seeded.map(({ id }) => id) }
}
