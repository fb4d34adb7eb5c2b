// The errors whose message the visitor sees. For any other error, the error page shows a fixed message that depends
// only on the status.
import { type Sentence, say, type Texts } from './texts.ts'

/** A link that a page offers as the next thing to do. */
export type NextStep = { href: string; text: string }

type PublicErrorOptions = {
  /** The cause of the error. The client writes it to the log, and does not show it to the visitor. */
  cause?: unknown
  /** After how many seconds the visitor can try again. The response has this number in the header `Retry-After`. */
  retryAfterSeconds?: number | undefined
  /** The link that the error page offers. The default is a link to the start page. */
  nextStep?: NextStep | undefined
  /** The title of the error page. The default title depends on the status of the error. */
  title?: Sentence | undefined
}

/**
 * An error that the visitor sees.
 *
 * `code` names the error in the log, in JSON answers and in tests. `sentence` tells the visitor what happened and what
 * to do. The page shows the sentence unchanged, so the sentence must not contain secrets. Some code has no request, so
 * it does not know the visitor's language. Such code passes a function instead of a string. For example: `texts =>
 * texts.upstream.portal.timeout`.
 */
export class PublicError extends Error {
  readonly code: string
  readonly statusCode: number
  readonly retryAfterSeconds: number | undefined
  nextStep: NextStep | undefined
  title: Sentence | undefined
  readonly #sentence: Sentence

  constructor(code: string, statusCode: number, sentence: Sentence, options: PublicErrorOptions = {}) {
    super(typeof sentence === 'string' ? sentence : code, { cause: options.cause })
    this.code = code
    this.#sentence = sentence
    this.statusCode = statusCode
    this.retryAfterSeconds = options.retryAfterSeconds
    this.nextStep = options.nextStep
    this.title = options.title
  }

  /** Returns the sentence for the visitor, in the language of these texts. */
  messageIn(texts: Texts): string {
    return say(this.#sentence, texts)
  }

  /** The title of the error page, in the language of these texts. */
  titleIn(texts: Texts): string | undefined {
    return this.title && say(this.title, texts)
  }
}

/**
 * The error for a refused form (status 422). For each wrong field, `fields` contains the name and the problems. The
 * form shows each problem next to its field.
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
  // If a host name has several addresses and Node cannot connect to any of them, the error is an AggregateError without
  // a message.
  return withStack ? { name, code, stack } : { name, code, message: message || undefined }
}
