// Which applications a caller may read: a user those that they develop, an application's own token that one alone.
import type { Services } from '../services.ts'
import { type Application, findApplication, findApplicationOf, listApplicationsOf } from '../store/applications.ts'
import type { Caller } from '../tokens/find-caller.ts'
import { ApiError } from './api-error.ts'
import { permissionDenied } from './require-token.ts'

/** The oldest first, in portions. */
export async function* listReadable(
  { store }: Pick<Services, 'store'>,
  { kind, userId, clientId }: Caller,
): AsyncGenerator<Application[]> {
  if (kind !== 'application') return yield* listApplicationsOf(store.read, userId)
  const own = await findApplication(store.read, clientId)
  yield own ? [own] : []
}

/**
 * Undefined for an application of other people, as for one that is not there. Throws ApiError 403 to an application's own
 * token that asks for any other, there or not.
 */
export async function findReadable(
  { store }: Pick<Services, 'store'>,
  appId: string,
  { kind, userId, clientId }: Caller,
): Promise<Application | undefined> {
  if (kind !== 'application') return findApplicationOf(store.read, appId, userId)
  if (appId !== clientId) throw new ApiError(403, permissionDenied)
  return findApplication(store.read, appId)
}
