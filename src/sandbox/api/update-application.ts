// Changes an application and what its client may do.
import type { Parts } from '../app.ts'
import { type Application, claimApplication, setApplicationFields } from '../store/applications.ts'
import { readChangedApplication } from './application-fields.ts'
import { explainRefusal } from './explain-refusal.ts'

/**
 * Of two updates at once the later one wins, field by field of those it names. Throws ApiError 404, 403 or 422; who may
 * not change the application is not told what is wrong with the fields.
 */
export async function updateApplication(
  { store, clock }: Parts,
  appId: string,
  body: unknown,
  userId: string,
): Promise<Application> {
  return store.transaction(async db => {
    const present = await claimApplication(db, appId, { userId, now: clock() })
    if (!present) throw await explainRefusal(db, appId)
    const fields = readChangedApplication(body, present)
    await setApplicationFields(db, appId, fields)
    return { ...present, ...fields }
  })
}
