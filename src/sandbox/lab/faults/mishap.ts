// What a mishap is: one way in which an answer goes wrong, wherever it does.
import type { Readable } from 'node:stream'
import type { Options } from './options.ts'
import type { PlaceWords } from './places.ts'

/** Whether the platform has done what it was asked to when the answer goes wrong. */
export type Acted = 'before' | 'after'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable
}

/** Instead of an answer: none is sent, because the mishap has dealt with the connection. */
export const nothing: unique symbol = Symbol('nothing')

/** The longest that anything hangs, drips or goes on without end. */
export const longestSeconds = 60

/** What a mishap may do to the connection. All of it ends with the connection, when the sandbox stops, or after a minute. */
export interface Wire {
  /** Resolves after so many seconds, or at that end. */
  wait(seconds: number): Promise<void>
  /** False from that end on. */
  isOpen(): boolean
  /** Whether the client has left. */
  isLeft(): boolean
  /** Past HTTP; resolves when it is written, or cannot be. */
  write(bytes: string): Promise<void>
  /** Sends RST, so that the client is sure to see an error. */
  reset(): void
  /** For what is never whole: also a client that reads nothing is reset then. */
  resetAtEnd(): void
}

export interface Given {
  /** The platform's own, or one that stands in for it where the platform has not acted. */
  answer: Answer & { body: string }
  options: Record<string, unknown>
  dialect: PlaceWords['dialect']
  wire: Wire
  /** The path of a trap on the same listener, of this answer alone. */
  setTrap(): string
  /** An access token that works as the given one does, and has so many bytes. */
  enlargeToken(token: string, bytes: number): Promise<string>
}

/** What is sent; undefined goes on as if nothing were wrong. */
export type Outcome = Answer | typeof nothing | undefined

export interface Mishap {
  /** One sentence. */
  does: string
  /** Of what reading calls have, the first alone. */
  acted: readonly [Acted, ...Acted[]]
  options?: Options
  act(given: Given): Outcome | Promise<Outcome>
}

export type Mishaps = Record<string, Mishap>

/** An answer in JSON. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  }
}
