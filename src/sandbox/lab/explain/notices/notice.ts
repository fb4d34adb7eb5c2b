// What a notice is: something unsafe that a client does, seen in the steps of a login, and how to fix it.
import { type Guidance, reasons } from '../../../observe/reasons.ts'
import {
  firstOf,
  type Hidden,
  identityOf,
  type RecordedLogin,
  type RecordedStep,
  type StepReason,
} from '../../record/recorded.ts'

type Login = Pick<RecordedLogin, 'steps'>

/** What it found, why that matters, how to fix it, and the reference: a sentence or two each. */
export interface Notice extends Guidance {
  /** Stable: tests and documents name it. */
  id: string
  /** Finds the steps of the login that show it. Must depend on nothing else: it is called each time somebody reads the login. */
  find(login: Login, others: OtherLogins): RecordedStep[]
}

/** What a notice may ask about the other logins of the same client. */
export interface OtherLogins {
  /** Whether one was started with this state, or PKCE challenge; both are hashes. */
  haveState(hash: string): boolean
  haveChallenge(hash: string): boolean
  /** Whether one has a different state with the same beginning. */
  haveStateLike(state: { hash: string; beginning: string }): boolean
  /** Whether one gave this user a refresh token after that time. */
  signedInAfter(userId: string, time: Date): boolean
}

/** The words of a refusal, for a notice about the same mistake: why it matters, the fix and the reference. */
export function asFor(reason: keyof typeof reasons): Omit<Guidance, 'found'> {
  const { why, fix, reference } = reasons[reason]
  return { why, fix, reference }
}

/** The calls that a client makes from its server, not through a browser. */
export function isServerCall({ kind }: RecordedStep): boolean {
  return kind === 'exchange' || kind === 'refresh' || kind === 'revoke' || kind === 'api'
}

export function stepsOf({ steps }: Login, ...kinds: RecordedStep['kind'][]): RecordedStep[] {
  return steps.filter(({ kind }) => kinds.includes(kind))
}

/** For `find` of a notice that is only about a refusal. */
export function refusedFor(...reasons: StepReason[]): (login: Login) => RecordedStep[] {
  return ({ steps }) => steps.filter(({ reason }) => reason !== undefined && reasons.includes(reason))
}

/** The state that starts the login. Undefined if it is missing or empty. */
export function stateOf({ request }: RecordedStep): Hidden | undefined {
  const state = firstOf(request.query, 'state')
  return typeof state === 'object' && state.length > 0 ? state : undefined
}

export function challengeOf({ request }: RecordedStep): string | undefined {
  return identityOf(firstOf(request.query, 'code_challenge'))
}

/** The first exchange of a login that gave a refresh token. */
export function firstSignIn(login: Login): RecordedStep | undefined {
  return stepsOf(login, 'exchange').find(
    ({ response }) => response.status === 200 && firstOf(response.body, 'refresh_token') !== undefined,
  )
}
