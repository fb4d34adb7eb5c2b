// The errors that a visitor gets to see: every other error is a 500 with fixed words.

export type NextStep = { href: string; text: string }

type Details = {
  /** What went wrong, for the log alone. */
  cause?: unknown
  /** When to try again, if the other side said so. */
  retryAfterSeconds?: number | undefined
  /** The way on that the page offers; the start page when left out. */
  nextStep?: NextStep
}

export class PublicError extends Error {
  /** Names the fault in the log and in tests. */
  readonly code: string
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  nextStep: NextStep | undefined

  /** `message` is a sentence for the visitor: what happened and what to do. It is shown as it stands. */
  constructor(code: string, statusCode: number, message: string, details: Details = {}) {
    super(message, { cause: details.cause })
    this.code = code
    this.statusCode = statusCode
    this.retryAfterSeconds = details.retryAfterSeconds
    this.nextStep = details.nextStep
  }
}

/** What is wrong with which field of a form, by its name; the form shows each beside its field. */
export class FieldError extends PublicError {
  readonly fields: Record<string, string[]>

  constructor(fields: Record<string, string[]>, message = 'Please correct the fields that are marked.') {
    super('fields_refused', 422, message)
    this.fields = fields
  }
}
