// Changes an application and what its client may do.

import { refuseGrowth } from '../groups/bounds.ts'
import type { Parts } from '../parts.ts'
import { type Application, claimApplication, setApplicationFields, sizeOfFields } from '../store/applications.ts'
import { lockGroup } from '../store/groups.ts'
import { readChangedApplication } from './application-fields.ts'
import { explainRefusal } from './explain-refusal.ts'

/**
 * Of two updates at once the later one wins, field by field of those it names. Throws ApiError 404, 403 or 422, and
 * GroupRefusal when the group has no room for what is added; who may not change the application is not told what is wrong
 * with the fields.
 */
export async function updateApplication(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  appId: string,
  body: unknown,
  userId: string,
): Promise<Application> {
  return store.transaction(async db => {
    const present = await claimApplication(db, appId, { userId, now: clock() })
    if (!present) throw await explainRefusal(db, appId)
    const fields = readChangedApplication(body, present)
    const growth = sizeOfFields(fields) - sizeOfFields(present)
    if (growth > 0) {
      await lockGroup(db, present.groupId)
      await refuseGrowth(db, present.groupId, growth)
    }
    await setApplicationFields(db, appId, fields)
    return { ...present, ...fields }
  })
}
