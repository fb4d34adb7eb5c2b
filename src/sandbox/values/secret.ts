// A value that must never be printed. A log, an error or JSON shows [redacted] instead of the value.
import { inspect } from 'node:util'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the value itself. Call this only in code that needs the value. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspect.custom](): string {
    return '[redacted]'
  }
}
