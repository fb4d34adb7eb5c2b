// Removes an application. Its client ends with it, in the same statement.
import type { Parts } from '../app.ts'
import { deleteApplicationOf } from '../store/applications.ts'
import { explainRefusal } from './explain-refusal.ts'

/** Throws ApiError 404 or 403. */
export async function removeApplication({ store }: Parts, appId: string, userId: string): Promise<void> {
  const isRemoved = await store.write(db => deleteApplicationOf(db, appId, userId))
  if (!isRemoved) throw await explainRefusal(store.read, appId, refusalToRemove(appId))
}

/** The platform's own words. */
export function refusalToRemove(appId: string): string {
  return `Forbidden: You don't have 'manage' permission on '${appId}'`
}
