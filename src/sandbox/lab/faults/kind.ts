// A fault kind is one way in which an answer can be wrong. `kindsAt` in catalogue.ts says which kinds a place has.
import { Readable } from 'node:stream'
import { Ajv } from 'ajv'
import type { CallDialect } from './places.ts'

/** Whether the answer goes wrong before or after the platform has done what the request asks for. */
export type When = 'before' | 'after'

export interface Kind {
  /** What the client sees, in one sentence. */
  does: string
  /** When faults of this kind can happen. If the calls of a place only read data, the second entry does not apply. */
  when: readonly [When, ...When[]]
  options?: Options
  /** Whether the fault delays or breaks the network connection. A request within the process has no connection. */
  needsConnection?(options: Record<string, unknown>): boolean
  /** Short names for this kind with fixed options: `exchange-503` is the kind `status` with the status 503. */
  presets?: Record<string, Preset>
  run(context: FaultContext): FaultResult | Promise<FaultResult>
}

export interface Preset {
  /** What the client sees. This sentence replaces the sentence of the kind. */
  does: string
  fixed: Record<string, unknown>
  /** If this is missing, the `when` of the kind applies. */
  when?: Kind['when']
}

export type Kinds = Record<string, Kind>

export interface FaultContext {
  /**
   * The platform's own answer. If the platform has not acted, there is no real answer, so the laboratory makes one up.
   */
  answer: Answer & { body: string }
  options: Record<string, unknown>
  dialect: CallDialect
  connection: Connection
  /** Makes a trap for this answer on the same listener. Returns the path of the trap. */
  setTrap(): string
  /** Returns an access token of this size that works like the given access token. */
  enlargeToken(token: string, bytes: number): Promise<string>
  /** Returns an access token that has the same claims and expires after this many seconds. */
  endTokenIn(token: string, seconds: number): Promise<string>
  /** Returns an opaque string that works like the given access token. */
  makeOpaque(token: string, form: OpaqueForm): string
}

/**
 * `dotted` has three parts like a JWT, but is not a JWT. `characters` contains all special characters that a token can
 * contain. The other forms look like JWTs, but have unusual claims.
 */
export const opaqueForms = [
  'plain',
  'dotted',
  'characters',
  'past-claims',
  'future-claims',
  'no-claims',
  'null-claims',
] as const
export type OpaqueForm = (typeof opaqueForms)[number]

export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | Buffer | Readable
}

/** This result means that there is no answer, because the fault has handled the connection itself. */
export const noAnswer: unique symbol = Symbol('no answer')

/** If the result is undefined, the platform answers as if there were no fault. */
export type FaultResult = Answer | typeof noAnswer | undefined

/** The longest time for which a fault delays an answer or keeps sending it. */
export const longestSeconds = 60

/**
 * What a kind can do to the connection. A fault ends when the connection closes, when the sandbox stops, or after a
 * minute.
 */
export interface Connection {
  /** Resolves after this many seconds, or when the fault ends. */
  wait(seconds: number): Promise<void>
  /** True until the fault ends. */
  isOpen(): boolean
  /** Whether the connection is closed. */
  isLeft(): boolean
  /** Writes bytes without HTTP framing. Resolves when the bytes are written, or cannot be written. */
  write(bytes: string): Promise<void>
  /** Sends a TCP reset, so that the client certainly sees an error. */
  reset(): void
  /**
   * Call this for an answer that is never complete. When the fault ends, the connection is reset, even if the client
   * does not read.
   */
  resetAtEnd(): void
}

/** An option of a fault kind. */
export interface Option {
  /** What the option sets, in one sentence. */
  about: string
  /** Completes the sentence that begins with "This must be". */
  allowed: string
  /** The allowed values as JSON Schema. The form field of the option is made from this schema. */
  schema: OptionSchema
  /**
   * A rule that JSON Schema cannot express, such as a limit in bytes. The function is called only with values that the
   * schema allows.
   */
  isAlsoAllowed?(value: unknown): boolean
  /** The unit of a number. */
  unit?: string
  /** The value if the option is left out. */
  default?: unknown
  isRequired?: true
}

export type Options = Record<string, Option>

/** The part of JSON Schema that options need. Without a type, any JSON is allowed. */
export interface OptionSchema {
  type?: 'number' | 'integer' | 'string' | 'object'
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
  enum?: readonly unknown[]
  anyOf?: readonly OptionSchema[]
  not?: OptionSchema
  maxProperties?: number
  propertyNames?: OptionSchema
  additionalProperties?: OptionSchema
}

const ajv = new Ajv()

/** Ajv compiles a schema when it first checks a value with it. The sandbox therefore starts faster. */
export function isAllowedValue({ schema, isAlsoAllowed = () => true }: Option, value: unknown): boolean {
  return ajv.validate(schema, value) && isAlsoAllowed(value)
}

interface Words<Default> {
  about: string
  default?: Default
  unit?: string
}

export function numberFrom(least: number, most: number, words: Words<number> & { default: number }): Option {
  const schema = { type: 'number', minimum: least, maximum: most } as const
  return { ...words, allowed: `a number from ${least} to ${most}`, schema }
}

export function wholeNumberFrom(least: number, most: number, words: Words<number>): Option {
  const schema = { type: 'integer', minimum: least, maximum: most } as const
  return { ...requiredWithoutDefault(words), allowed: `a whole number from ${least} to ${most}`, schema }
}

export function textUpTo(longest: number, words: Words<string>): Option {
  return {
    ...words,
    allowed: `a string of at most ${longest} characters`,
    schema: { type: 'string', maxLength: longest },
  }
}

/** The size of the longest body, in bytes of UTF-8. */
export const longestBody = 64 * 1024

export function bodyText(words: Words<string>): Option {
  return {
    ...words,
    allowed: `a string of at most ${longestBody / 1024} KiB in UTF-8`,
    schema: { type: 'string', maxLength: longestBody },
    isAlsoAllowed: value => Buffer.byteLength(value as string) <= longestBody,
  }
}

export function oneOf(values: readonly unknown[], words: Words<unknown>): Option {
  return { ...requiredWithoutDefault(words), allowed: `one of ${values.join(', ')}`, schema: { enum: values } }
}

export function anyJson(about: string): Option {
  return {
    about,
    isRequired: true,
    allowed: 'any JSON of at most 10,000 characters',
    schema: {},
    isAlsoAllowed: isShortJson,
  }
}

/** Returns false for undefined, too: the text in a form was then not JSON. */
function isShortJson(value: unknown): boolean {
  try {
    return value !== undefined && JSON.stringify(value).length <= 10_000
  } catch {
    // JSON.stringify throws RangeError if the value has several thousand levels.
    return false
  }
}

function requiredWithoutDefault<Words extends { default?: unknown }>(words: Words) {
  return { ...words, ...(words.default === undefined && { isRequired: true as const }) }
}

/** Writes the name of a field as a part of the name of a fault: `expires_in` becomes `expires-in`. */
export function hyphens(name: string): string {
  return name.replaceAll('_', '-')
}

/** Makes a JSON answer. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  }
}

/** Returns the same answer, but with this many MiB of spaces before its body. */
export function enlarged(answer: Answer & { body: string }, mebibytes: number, connection: Connection): Answer {
  connection.resetAtEnd()
  return { ...answer, body: Readable.from(spacesBefore(answer.body, mebibytes), { objectMode: false }) }
}

function* spacesBefore(body: string, mebibytes: number): Generator<string> {
  const piece = ' '.repeat(1024 * 1024)
  for (let count = 0; count < mebibytes; count++) yield piece
  yield body
}
