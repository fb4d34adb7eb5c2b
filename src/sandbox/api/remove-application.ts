// Removes an application. Its client ends with it, at once.
import type { Parts } from '../parts.ts'
import { removeApplicationOf } from '../store/applications.ts'
import { explainRefusal } from './explain-refusal.ts'

/** Throws ApiError 404 or 403. */
export async function removeApplication(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  appId: string,
  userId: string,
): Promise<void> {
  const isRemoved = await store.write(db => removeApplicationOf(db, appId, { userId, now: clock() }))
  if (!isRemoved) throw await explainRefusal(store.read, appId, refusalToRemove(appId))
}

/** The platform's own words. */
export function refusalToRemove(appId: string): string {
  return `Forbidden: You don't have 'manage' permission on '${appId}'`
}
