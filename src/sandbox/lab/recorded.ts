// What the laboratory remembers of a request and of a login. Nothing in here opens a door.
import type { Reason } from '../observe/reasons.ts'
import type { About, CheckName, Step, StepKind } from '../observe/steps.ts'

/** A fault that was ordered and made the answer go wrong. */
export interface StepFault {
  id: string
  name: string
  /** Whether the platform had done by then what it was asked to. */
  acted: 'before' | 'after'
  /** For a redirect: the trap that it led to, or that this request came to. */
  trap?: string
}

/** Why a step failed: the platform refused it, or it followed a redirect to a trap. */
export type StepReason = Reason | 'redirect-followed'

/** A step of the portal or the API, with what the laboratory did to it. */
export interface LabStep extends Omit<Step, 'kind' | 'reason'> {
  kind: StepKind | 'trap'
  reason: StepReason | undefined
  fault?: StepFault | undefined
}

/** A value that is not shown: two that are equal have the same hash, and the rest says how good a secret it would be. */
export interface Hidden {
  hash: string
  /** In characters. */
  length: number
  /** Random bits at most, judged by length and alphabet. */
  bits: number
  /** The hash of its first half, because values that begin alike can be guessed; empty for short ones. */
  beginning: string
  /** Whether it is the time at which it came, in seconds or milliseconds since 1970. */
  isTime: boolean
}

export type Value = string | Hidden
/** By name; a name that stood more than once has them all. */
export type Values = Record<string, Value | Value[]>

export interface RecordedCheck {
  name: CheckName
  passed: boolean
  expected: Value | undefined
  received: Value | undefined
}

export interface RecordedStep {
  id: string
  requestId: string
  at: Date
  listener: 'portal' | 'api'
  kind: LabStep['kind']
  route: string
  durationMs: number
  request: { method: string; path: string; headers: Values; query: Values; body: Values }
  response: { status: number; headers: Values; body: Values /** Of the Location header. */; location: Values }
  about: Omit<About, 'startPath'>
  /** What tells the login that the step begins or continues: client_id, state and code_challenge. */
  start: Values | undefined
  checks: RecordedCheck[]
  reason: StepReason | undefined
  fault?: StepFault | undefined
  /** Whether values were left out, because there were too many or they were too long. */
  isShortened: boolean
  /** How many it takes in JSON, at most. */
  bytes: number
}

export interface RecordedLogin {
  id: string
  /** The client that it is of, as far as anybody said. */
  clientId: string | undefined
  /** In the order of their arrival. */
  steps: RecordedStep[]
  /** How many steps were left out, because there were too many. */
  leftOut: number
}

/** The first value of a name; undefined where there is none. */
export function firstOf(values: Values, name: string): Value | undefined {
  const value = values[name]
  return Array.isArray(value) ? value[0] : value
}

/** A text by which two values can be compared, whether they are shown or hidden. */
export function identityOf(value: Value | undefined): string | undefined {
  return typeof value === 'object' ? value.hash : value
}
