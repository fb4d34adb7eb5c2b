// An error that says why the sandbox refuses a request. A refusal has no status and no text, because each dialect has a
// table with the statuses and texts.
import type { Reason } from './reasons.ts'

export interface RefusalDetails {
  /** The field that is wrong. */
  field?: string
  isMissing?: boolean
  /** The maximum length of a field that is too long, for example `2048 bytes`. */
  limit?: string
  /** Where the fields were sent, if they were not in the body. */
  place?: 'address' | 'header'
  /**
   * True if the client immediately sent the same exchange again. The portal then treats the second exchange as a retry,
   * and does not revoke any tokens.
   */
  isReplay?: boolean
  /** The id of the user who sent the request. Set only if the answer shows this id. */
  userId?: string
  /** The application that the user does not have the right to remove. */
  managed?: string
  /** After this many seconds, the same request may succeed. */
  retryAfterSeconds?: number
  /** One sentence for each field that is wrong, for the person who has filled in the form. */
  problems?: Record<string, string>
}

/** If a Refusal is thrown inside a transaction, the transaction is rolled back. */
export class Refusal extends Error {
  readonly reason: Reason
  readonly details: RefusalDetails

  constructor(reason: Reason, details: RefusalDetails = {}) {
    super(reason)
    this.reason = reason
    this.details = details
  }
}

/**
 * Call this for a page that shows a refusal next to its form. Resolves to the result or the refusal. Throws any other
 * error.
 */
export async function catchRefusal<T>(work: Promise<T>): Promise<T | Refusal> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
