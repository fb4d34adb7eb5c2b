// What the set-up calls have in common.
import { toApiError } from '../../api/api-error.ts'
import type { ClientLifetimes } from '../../grants/lifetimes.ts'
import { Refusal } from '../../observe/refusal.ts'
import type { Services } from '../../services.ts'
import { queryOf } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'

export interface SetUpServices extends Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock'> {
  lifetimes: ClientLifetimes
  /** Applies the SEED_ settings again, even if they have not changed. Does nothing if no SEED_ setting is set. */
  applySeeds(): Promise<void>
  /**
   * Sends the portal a GET request as a browser would. The laboratory records the request, and faults can affect it.
   */
  askPortal(request: { url: string; headers: Record<string, string> }): Promise<{ location: string | undefined }>
}

/** Part of the schema of every set-up call. */
export const setUpCall = { tags: ['Set-up'], querystring: queryOf() }

/**
 * The name of the test suite that makes the call. The new record belongs to this suite. Several suites share a sandbox,
 * and each suite resets only its own records.
 */
export const suiteProperty = {
  type: 'string',
  maxLength: 64,
  pattern: '^[A-Za-z0-9._-]{0,64}$',
  title: 'a string of 0 to 64 letters, digits, dots, hyphens or underscores, such as my-tests-1',
  examples: ['my-tests-1'],
  description:
    'The name of the test suite. If you send this name to /lab/v1/reset, the call removes only the records that were made for this suite.',
} as const

/**
 * Turns a Refusal into a LabError with the status and the text of the application API. Throws errors of other types
 * unchanged.
 */
export async function inLabWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { statusCode, body } = toApiError(error)
    throw new LabError(statusCode, body)
  }
}
