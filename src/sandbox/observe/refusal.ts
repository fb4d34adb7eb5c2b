// A refusal: something cannot be done, and why. It knows neither a status nor words; each dialect has a table for those.
import type { Reason } from './reasons.ts'

export interface RefusalDetails {
  /** The field that is wrong. */
  field?: string
  isMissing?: boolean
  /** Where the fields were, if not in the body. */
  place?: 'address' | 'header'
  isGetOnly?: boolean
  /** A code came again soon and unchanged, so nothing was revoked. */
  isReplay?: boolean
  /** Who is asking, if the answer names them. */
  userId?: string
  /** The application that the user may not remove. */
  managed?: string
  /** When the same request may succeed. */
  retryAfterSeconds?: number
  /** One sentence for each field that is wrong, for the person who has filled in the form. */
  problems?: Record<string, string>
}

/** Thrown inside a transaction, it undoes what the transaction began. */
export class Refusal extends Error {
  readonly reason: Reason
  readonly details: RefusalDetails

  constructor(reason: Reason, details: RefusalDetails = {}) {
    super(reason)
    this.reason = reason
    this.details = details
  }
}

/** For a page that shows a refusal beside its form: the result, or the refusal. Any other error is thrown. */
export async function catchRefusal<T>(work: Promise<T>): Promise<T | Refusal> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
