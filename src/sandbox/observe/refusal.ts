// An error that says why the sandbox refuses a request. A refusal has no status and no text, because each dialect has a
// table with the statuses and texts.
import type { Reason } from './reasons.ts'

/** The problems of each wrong field, keyed by the name of the field. */
export type FieldProblems = Record<string, string[]>

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
  isRetry?: boolean
  /** The id of the user who sent the request. Set only if the answer shows this id. */
  userId?: string
  /** The application that the user does not have the right to remove. */
  managed?: string
  /** After this many seconds, the same request may succeed. */
  retryAfterSeconds?: number
  /** The problems of each wrong field, as sentences. The page or the answer of the API shows them. */
  problems?: FieldProblems
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
 * The answers of one dialect. An answer that depends on the details of the refusal is a function. The type `Answer`
 * must not be a function.
 */
export type AnswerTable<Answer> = Partial<Record<Reason, Answer | ((details: RefusalDetails) => Answer)>>

/** Returns the answer for this refusal. Returns undefined if the table has no answer for the reason. */
export function answerIn<Answer>(
  table: AnswerTable<Answer>,
  { reason, details }: Pick<Refusal, 'reason' | 'details'>,
): Answer | undefined {
  const entry = table[reason]
  return entry instanceof Function ? entry(details) : entry
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
