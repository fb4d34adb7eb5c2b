// Says in the laboratory's words what the rules of groups and applications refuse.
import { toApiError } from '../../api/api-error.ts'
import { Refusal } from '../../observe/refusal.ts'
import { LabError } from '../lab-error.ts'

/** Turns a Refusal into a LabError with the API's words. Throws any other error unchanged. */
export async function inLabWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { statusCode, body } = toApiError(error)
    throw new LabError(statusCode, body)
  }
}
