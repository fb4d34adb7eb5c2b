// A refusal: something cannot be done, and why. It knows neither a status nor words; each dialect has a table for those.
import type { Reason } from './steps.ts'

export interface RefusalDetails {
  /** The field that is wrong. */
  field?: string
  /** When the same request may succeed. */
  retryAfterSeconds?: number
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
