// The errors whose message a visitor may read. Every other error gets a fixed message for its status.

/** A link that a page offers as the next thing to do. */
export type NextStep = { href: string; text: string }

type PublicErrorOptions = {
  /** What went wrong, for the log only. */
  cause?: unknown
  /** When to try again, in seconds. Sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined
  /** The link that the error page offers. Without one it links to the start page. */
  nextStep?: NextStep | undefined
}

/**
 * An error that the visitor sees.
 *
 * `code` names the error in the log, in JSON answers and in tests. `message` is a sentence for the visitor that says what
 * happened and what to do. The page shows it as it is, so it must hold nothing secret.
 */
export class PublicError extends Error {
  readonly code: string
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  nextStep: NextStep | undefined

  constructor(code: string, statusCode: number, message: string, options: PublicErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.statusCode = statusCode
    this.retryAfterSeconds = options.retryAfterSeconds
    this.nextStep = options.nextStep
  }
}

/** A 422 for a form: the problems of each field, by field name. The form shows each problem next to its field. */
export class FieldError extends PublicError {
  readonly fields: Record<string, string[]>

  constructor(fields: Record<string, string[]>, message = 'Please correct the fields that are marked.') {
    super('fields_refused', 422, message)
    this.fields = fields
  }
}

/** The cause of an error as the log may contain it. */
export function describeCause(cause: unknown, withStack = false): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, message, stack } = cause
  const code = 'code' in cause ? String(cause.code) : undefined
  // If a name has several addresses, Node collects their errors in an AggregateError without a message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}
