// Changes an application and what its client may do.

import { requireRoomForGrowth } from '../groups/limits.ts'
import type { Services } from '../services.ts'
import { type Application, claimApplication, setApplicationFields, sizeOfFields } from '../store/applications.ts'
import { lockGroup } from '../store/groups.ts'
import { readChangedApplication } from './application-fields.ts'
import { requireMatch } from './entity-tag.ts'
import { explainRefusal } from './explain-refusal.ts'

interface Change {
  body: unknown
  userId: string
  /** The header of that name, if there is one. */
  ifMatch: string | undefined
}

/**
 * Of two updates at once with the same tag in `ifMatch` exactly one succeeds. Without a tag the later one wins, field by
 * field of those it names. Throws ApiError 404, 403, 422 or 412, and GroupRefusal when the group has no room for what is
 * added; callers who may not change the application do not learn what is wrong with the fields.
 */
export async function updateApplication(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  appId: string,
  { body, userId, ifMatch }: Change,
): Promise<Application> {
  return store.transaction(async db => {
    const claimed = await claimApplication(db, appId, { userId, now: clock() })
    if (!claimed) throw await explainRefusal(db, appId)
    const fields = readChangedApplication(body, claimed)
    const growth = sizeOfFields(fields) - sizeOfFields(claimed)
    if (growth > 0) {
      await lockGroup(db, claimed.groupId)
      await requireRoomForGrowth(db, claimed.groupId, growth)
    }
    requireMatch(ifMatch, claimed.version - 1)
    await setApplicationFields(db, appId, fields)
    return { ...claimed, ...fields }
  })
}
