// Makes a group for somebody who has room for one more.
import { randomUUID } from 'node:crypto'
import type { Services } from '../services.ts'
import { createGroup, findGroup, type Group } from '../store/groups.ts'
import { markAsMade } from '../store/marks.ts'
import { lockUser } from '../store/users.ts'
import { refuseFurtherGroups } from './bounds.ts'

/**
 * An `id` that was used before, by a form that was sent twice, makes nothing. `suite` is for what the laboratory makes.
 * Throws GroupRefusal.
 */
export async function makeGroup(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  { name, userId, id = randomUUID(), suite }: { name: string; userId: string; id?: string; suite?: string },
): Promise<Group> {
  return store.transaction(async db => {
    await lockUser(db, userId)
    const present = await findGroup(db, id)
    if (present) return present
    await refuseFurtherGroups(db, userId)
    const group = await createGroup(db, name, userId, clock(), id)
    if (suite !== undefined) await markAsMade(db, 'groups', id, suite)
    return group
  })
}
