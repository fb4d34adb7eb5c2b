// A kind of fault: one way in which an answer goes wrong, at every place where that can happen.
import type { Readable } from 'node:stream'
import type { PlaceWords } from './places.ts'

/** Whether the answer goes wrong before or after the platform has done what the request asks for. */
export type When = 'before' | 'after'

export interface Kind {
  /** What the client sees, in one sentence. */
  does: string
  /** A place that only reads has only the first. */
  when: readonly [When, ...When[]]
  options?: Options
  /** Short names for this kind with fixed options: `exchange-503` is the kind `status` with the status 503. */
  presets?: Record<string, Preset>
  run(context: FaultContext): FaultResult | Promise<FaultResult>
}

export interface Preset {
  /** In place of the kind's sentence. */
  does: string
  fixed: Record<string, unknown>
  /** If not the same as the kind's. */
  when?: Kind['when']
}

export type Kinds = Record<string, Kind>

export interface FaultContext {
  /** The platform's own answer, or a substitute if the platform has not acted. */
  answer: Answer & { body: string }
  options: Record<string, unknown>
  dialect: PlaceWords['dialect']
  connection: Connection
  /** Makes a trap on the same listener, for this answer only. Returns its path. */
  setTrap(): string
  /** Returns an access token of so many bytes that works like the given one. */
  enlargeToken(token: string, bytes: number): Promise<string>
  /** Returns the same access token, but it ends in so many seconds. */
  endTokenIn(token: string, seconds: number): Promise<string>
  /** Returns a text that says nothing and works like the given access token. */
  makeOpaque(token: string, form: OpaqueForm): string
}

/** `dotted` has three parts like a JWT, but is none. */
export type OpaqueForm = 'plain' | 'dotted'

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable
}

/** In place of an answer: the kind has dealt with the connection itself. */
export const noAnswer: unique symbol = Symbol('no answer')

/** Undefined: go on as if there were no fault. */
export type FaultResult = Answer | typeof noAnswer | undefined

/** No answer hangs, drips or goes on for longer than this. */
export const longestSeconds = 60

/** What a kind may do to the connection. All of it ends when the connection closes, when the sandbox stops, or after a minute. */
export interface Connection {
  /** Resolves after so many seconds, or at that end. */
  wait(seconds: number): Promise<void>
  /** False after that end. */
  isOpen(): boolean
  /** Whether the client has left. */
  isLeft(): boolean
  /** Writes bytes without HTTP framing. Resolves when they are written, or cannot be. */
  write(bytes: string): Promise<void>
  /** Sends RST, so that the client certainly sees an error. */
  reset(): void
  /** For an answer that is never complete: also resets a client that reads nothing. */
  resetAtEnd(): void
}

/** An option of a kind: the values that it accepts, in words and as a check. */
export interface Option {
  /** One sentence. */
  about: string
  /** The end of a sentence that begins with "This must be". */
  allowed: string
  /** The value if the option is left out. */
  default?: unknown
  isRequired?: true
  isAllowed(value: unknown): boolean
}

export type Options = Record<string, Option>

export function numberFrom(least: number, most: number, words: { about: string; default: number }): Option {
  const isAllowed = (value: unknown) => typeof value === 'number' && value >= least && value <= most
  return { ...words, allowed: `a number from ${least} to ${most}`, isAllowed }
}

export function wholeNumberFrom(least: number, most: number, words: { about: string; default?: number }): Option {
  const isAllowed = (value: unknown) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most
  return { ...requiredWithoutDefault(words), allowed: `a whole number from ${least} to ${most}`, isAllowed }
}

export function textUpTo(longest: number, words: { about: string; default?: string }): Option {
  const isAllowed = (value: unknown) => typeof value === 'string' && value.length <= longest
  return { ...words, allowed: `a text of at most ${longest} characters`, isAllowed }
}

export function oneOf(values: readonly unknown[], words: { about: string; default?: unknown }): Option {
  return {
    ...requiredWithoutDefault(words),
    allowed: `one of ${values.join(', ')}`,
    isAllowed: value => values.includes(value),
  }
}

export function anyJson(about: string): Option {
  const isAllowed = (value: unknown) => value !== undefined && JSON.stringify(value).length <= 10_000
  return { about, isRequired: true, allowed: 'any JSON of at most 10,000 characters', isAllowed }
}

function requiredWithoutDefault<Words extends { default?: unknown }>(words: Words) {
  return { ...words, ...(words.default === undefined && { isRequired: true as const }) }
}

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  }
}
