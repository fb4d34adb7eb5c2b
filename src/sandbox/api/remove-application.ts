// Removes an application. Its client ends with it, at once.
import type { Services } from '../services.ts'
import { claimApplication, removeApplicationOf } from '../store/applications.ts'
import { requireMatch } from './entity-tag.ts'
import { explainRefusal } from './explain-refusal.ts'

/** `ifMatch`: the header of that name, if there is one. Throws ApiError 404, 403 or 412. */
export async function removeApplication(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  appId: string,
  { userId, ifMatch }: { userId: string; ifMatch: string | undefined },
): Promise<void> {
  const now = clock()
  await store.transaction(async db => {
    const claimed = await claimApplication(db, appId, { userId, now })
    if (!claimed) throw await explainRefusal(db, appId, refusalToRemove(appId))
    requireMatch(ifMatch, claimed.version - 1)
    await removeApplicationOf(db, appId, { userId, now })
  })
}

/** The platform's own words. */
export function refusalToRemove(appId: string): string {
  return `Forbidden: You don't have 'manage' permission on '${appId}'`
}
