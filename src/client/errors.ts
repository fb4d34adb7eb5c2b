// The errors whose message is shown to the visitor. For every other error, the page shows a fixed message that depends
// on the status.
import { type Sentence, say, type Texts } from './texts.ts'

/** A link that a page offers as the next thing to do. */
export type NextStep = { href: string; text: string }

type PublicErrorOptions = {
  /** The cause of the error. It is only logged. */
  cause?: unknown
  /** When to try again, in seconds. Sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined
  /** The link that the error page offers. The default is a link to the start page. */
  nextStep?: NextStep | undefined
  /** The title of the error page. Without this title, the status of the error decides the title of the page. */
  title?: Sentence | undefined
}

/**
 * An error that the visitor sees.
 *
 * `code` names the error in the log, in JSON answers and in tests. `sentence` tells the visitor what happened and what
 * to do. The page shows the sentence unchanged, so the sentence must not contain secrets. Code that has no request does
 * not know the visitor's language. Instead of a text, it passes a function: `texts => texts.upstream.portal.timeout`.
 */
export class PublicError extends Error {
  readonly code: string
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  nextStep: NextStep | undefined
  readonly #sentence: Sentence
  readonly #title: Sentence | undefined

  constructor(code: string, statusCode: number, sentence: Sentence, options: PublicErrorOptions = {}) {
    super(typeof sentence === 'string' ? sentence : code, { cause: options.cause })
    this.code = code
    this.#sentence = sentence
    this.statusCode = statusCode
    this.retryAfterSeconds = options.retryAfterSeconds
    this.nextStep = options.nextStep
    this.#title = options.title
  }

  /** Returns the sentence for the visitor, in the language of these texts. */
  messageIn(texts: Texts): string {
    return say(this.#sentence, texts)
  }

  /** The title of the error page, in the language of these texts. */
  titleIn(texts: Texts): string | undefined {
    return this.#title && say(this.#title, texts)
  }
}

/**
 * The error for a refused form (status 422). It contains the problems of each field, by field name. The form shows each
 * problem next to its field.
 */
export class FieldError extends PublicError {
  readonly fields: Record<string, Sentence[]>

  constructor(fields: Record<string, Sentence[]>, sentence: Sentence = texts => texts.web.form.fieldsRefused) {
    super('fields_refused', 422, sentence)
    this.fields = fields
  }

  /** Returns the problems of each field, in the language of these texts. */
  fieldsIn(texts: Texts): Record<string, string[]> {
    const said = Object.entries(this.fields).map(([name, problems]) => [name, problems.map(one => say(one, texts))])
    return Object.fromEntries(said)
  }
}

/** Returns those properties of an error's cause that may be logged. */
export function describeCause(cause: unknown, { withStack = false } = {}): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, message, stack } = cause
  const code = 'code' in cause ? String(cause.code) : undefined
  // If a name has several addresses, Node collects their errors in an AggregateError without a message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}
