// What a notice is: a mistake of a client that can be seen from what it sent, and how to mend it.
import { firstOf, type Hidden, identityOf, type RecordedLogin, type RecordedStep } from '../recorded.ts'

export interface Words {
  /** Stable: tests and documents name it. */
  id: string
  /** One sentence each. */
  wrong: string
  why: string
  mend: string
  /** The part of the specification or the RFC. */
  source: string
}

/** What a notice asks about the other logins of the same client. */
export interface OtherLogins {
  /** Whether one was begun with this state, or PKCE challenge; both are hashes. */
  haveState(hash: string): boolean
  haveChallenge(hash: string): boolean
  /** Whether the state of one begins like this one, and is another. */
  haveStateLike(state: { hash: string; beginning: string }): boolean
  /** Whether one gave this user a refresh token after that time. */
  signedInAfter(userId: string, time: Date): boolean
}

export interface Notice extends Words {
  /** The steps of the login that show it. It depends on nothing else, and is asked whenever somebody looks. */
  find(login: Pick<RecordedLogin, 'steps'>, others: OtherLogins): RecordedStep[]
}

/** The calls that a client makes from its server, not by way of a browser. */
export function isServerCall({ kind }: RecordedStep): boolean {
  return kind === 'exchange' || kind === 'refresh' || kind === 'revoke' || kind === 'api'
}

export function stepsOf(login: Pick<RecordedLogin, 'steps'>, ...kinds: RecordedStep['kind'][]): RecordedStep[] {
  return login.steps.filter(({ kind }) => kinds.includes(kind))
}

/** The state of the login's start. Undefined if it is missing or empty. */
export function stateOf({ request }: RecordedStep): Hidden | undefined {
  const state = firstOf(request.query, 'state')
  return typeof state === 'object' && state.length > 0 ? state : undefined
}

export function challengeOf({ request }: RecordedStep): string | undefined {
  return identityOf(firstOf(request.query, 'code_challenge'))
}

/** The first exchange of a login that gave a refresh token. */
export function firstSignIn(login: Pick<RecordedLogin, 'steps'>): RecordedStep | undefined {
  return stepsOf(login, 'exchange').find(
    ({ response }) => response.status === 200 && firstOf(response.body, 'refresh_token') !== undefined,
  )
}
