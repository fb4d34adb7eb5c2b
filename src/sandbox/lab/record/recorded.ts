// The types of the recorded requests and logins. The records do not contain secrets.
import type { Reason } from '../../observe/reasons.ts'
import type { About, CheckName, Step, StepKind } from '../../observe/steps.ts'
import type { Place } from '../faults/places.ts'

/** A fault that changed the answer. */
export interface StepFault {
  id: string
  name: string
  place: Place
  kind: string
  /** The parameter or the JSON member that the fault changes. Undefined if the fault does not change a single field. */
  field: string | undefined
  /** Whether the fault happened before or after the platform carried out the request. */
  acted: 'before' | 'after'
  /** The id of the trap to which the redirect led, or which this request reached. */
  trap?: string
}

/** Why a step failed: the platform refused the request, or the client followed a redirect to a trap. */
export type StepReason = Reason | 'redirect-followed'

/** A step of the portal or the API. If the laboratory added a fault, the step contains this fault. */
export interface LabStep extends Omit<Step, 'kind' | 'reason'> {
  kind: StepKind | 'trap'
  reason: StepReason | undefined
  fault?: StepFault | undefined
}

/** A hidden value. Equal values have the same hash. */
export interface Hidden {
  hash: string
  /** The number of characters. */
  length: number
}

/** A hidden state, and how hard it is to guess. */
export interface HiddenState extends Hidden {
  /** The maximum number of random bits in the state, estimated from its length and its alphabet. */
  bits: number
  /**
   * The hash of the first half of the state. If several states begin in the same way, an attacker may be able to guess
   * a state. Empty if the state is short.
   */
  beginning: string
  /** Whether the value is the time of the request, in seconds or milliseconds since 1970. */
  isTime: boolean
}

export type Value = string | Hidden | HiddenState
/**
 * The keys are the names of the values. The value is a list if its name was sent more than once, or if a JSON body
 * contains a list with this name.
 */
export type Values = Record<string, Value | Value[]>

export interface RecordedCheck {
  name: CheckName
  passed: boolean
  /** A list if there are several expected values. */
  expected: Value | Value[] | undefined
  received: Value | undefined
}

/** The Authorization schemes that the laboratory shows. */
export const schemes = ['Bearer', 'Basic', 'Digest', 'DPoP'] as const
export type Scheme = (typeof schemes)[number]

export interface RecordedStep {
  id: string
  requestId: string
  at: Date
  listener: 'portal' | 'api'
  kind: LabStep['kind']
  route: string
  durationMs: number
  request: {
    method: string
    path: string
    /** The scheme of the Authorization header. The recorded header contains only the hash of the credentials. */
    scheme: Scheme | undefined
    headers: Values
    query: Values
    body: Values
  }
  response: {
    status: number
    headers: Values
    body: Values
    /** From the Location header. */
    location: Values
  }
  about: Omit<About, 'startPath'> & {
    /** A hash of the portal's session cookie, if the browser sent one. */
    portalSession?: string | undefined
  }
  /** The values that identify the login that the step begins or continues: client_id, state and code_challenge. */
  start: Values | undefined
  checks: RecordedCheck[]
  reason: StepReason | undefined
  fault?: StepFault | undefined
  /** How many steps directly before this step were left out, because the login had too many steps. */
  leftOutBefore: number
  /** Whether values were left out, because the request had too many values or values that are too long. */
  isShortened: boolean
  /** An upper bound for the size of the step as JSON. */
  bytes: number
}

export interface RecordedLogin {
  id: string
  /**
   * The client that the platform has identified. If the platform has not identified a client, this is the client id
   * that a step sent. Undefined if no step sent a client id.
   */
  clientId: string | undefined
  /** The steps, in the order in which they arrived. */
  steps: RecordedStep[]
  /** How many steps were left out, because the login had too many steps. */
  leftOut: number
}

/** Returns the first value with this name, or undefined. */
export function firstOf(values: Values, name: string): Value | undefined {
  const value = values[name]
  return Array.isArray(value) ? value[0] : value
}

/** Returns a string for comparing two values. For a hidden value, this is its hash. */
export function identityOf(value: Value | undefined): string | undefined {
  return typeof value === 'object' ? value.hash : value
}

/** Returns the time at which the sandbox had answered the request, in milliseconds. */
export function endOf({ at, durationMs }: RecordedStep): number {
  return at.getTime() + durationMs
}

/** Returns the login's steps of these kinds. */
export function stepsOf({ steps }: Pick<RecordedLogin, 'steps'>, ...kinds: RecordedStep['kind'][]): RecordedStep[] {
  return steps.filter(({ kind }) => kinds.includes(kind))
}

/** Returns the state with which the step starts a login, or undefined if the state is missing or empty. */
export function stateOf({ request }: RecordedStep): HiddenState | undefined {
  const state = firstOf(request.query, 'state')
  return typeof state === 'object' && 'bits' in state && state.length > 0 ? state : undefined
}

export function challengeOf({ request }: RecordedStep): string | undefined {
  return identityOf(firstOf(request.query, 'code_challenge'))
}

/**
 * Whether the answer contains tokens. The status is not enough: a fault that happens before the platform acts can cause
 * a 200 answer without tokens.
 */
export function gaveTokens({ kind, response, fault }: RecordedStep): boolean {
  const hasActed = fault?.acted !== 'before' || response.body.access_token !== undefined
  return (kind === 'exchange' || kind === 'refresh') && response.status === 200 && hasActed
}

/** Returns the first exchange in which the portal issued a refresh token. */
export function firstSignIn(login: Pick<RecordedLogin, 'steps'>): RecordedStep | undefined {
  return stepsOf(login, 'exchange').find(
    ({ response }) => response.status === 200 && firstOf(response.body, 'refresh_token') !== undefined,
  )
}
