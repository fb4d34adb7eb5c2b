// Says in the laboratory's words what the rules of groups and applications refuse.
import { toApiError } from '../../api/api-error.ts'
import { Refusal } from '../../observe/refusal.ts'
import { LabError } from '../lab-error.ts'

/** Throws LabError for what the API would refuse; anything else as it is. */
export async function inLabWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { statusCode, body } = toApiError(error)
    throw new LabError(statusCode, body)
  }
}
