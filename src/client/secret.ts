// A value that must never be printed: whatever logs, inspects or serializes it sees [redacted].
import { inspect } from 'node:util'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself. Call it where the bytes leave the process, and nowhere earlier. */
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
