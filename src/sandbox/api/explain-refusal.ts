// Why somebody may not change an application: there is none, or it is other people's.
import { findApplication } from '../store/applications.ts'
import type { Db } from '../store/schema.ts'
import { ApiError } from './api-error.ts'
import { permissionDenied } from './require-token.ts'

/**
 * The answer, 404 or 403, for a user who is not one of the application's developers. Unlike reading, changing tells
 * the two cases apart, as the platform does.
 */
export async function explainRefusal(db: Db, appId: string, message = permissionDenied): Promise<ApiError> {
  return (await findApplication(db, appId)) ? new ApiError(403, message) : new ApiError(404, 'App not found.')
}
