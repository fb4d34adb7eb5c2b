// The outcome of a login. The outcome depends only on the steps of the login and the current time.
import { endOf, gaveTokens, type RecordedLogin, type RecordedStep } from '../record/recorded.ts'

export const outcomes = [
  'under way',
  'signed in',
  'refused',
  'declined',
  'abandoned',
  'never exchanged',
  'no login',
] as const

/**
 * After two minutes without a request, the outcome is `never exchanged` if the portal issued a code. If the portal did
 * not issue a code, the outcome is `abandoned`. The outcome is `no login` for requests that need no login.
 */
export type LoginOutcome = (typeof outcomes)[number]

export interface LoginStatus {
  outcome: LoginOutcome
  /** The step that decided the outcome. If the login is under way, this is the last step that continued the login. */
  step: RecordedStep
  /** The calls that the platform refused after the visitor had signed in. */
  refusedCalls: RecordedStep[]
}

const abandonedMs = 2 * 60_000

/** The kinds of steps that continue a login. */
const loginKinds: RecordedStep['kind'][] = ['authorize', 'sign-in', 'sign-up', 'consent', 'exchange']
const outsideLogins: RecordedStep['kind'][] = ['metadata', 'api', 'me', 'page', 'revoke']
const calls: RecordedStep['kind'][] = ['exchange', 'refresh', 'revoke', 'api', 'me', 'trap']

export function statusOf({ steps }: Pick<RecordedLogin, 'steps'>, now: Date): LoginStatus {
  const last = steps.at(-1)!
  const signIn = steps.findIndex(gaveTokens)
  if (signIn !== -1) {
    const refusedCalls = steps.slice(signIn + 1).filter(({ kind, reason }) => reason && calls.includes(kind))
    return { outcome: 'signed in', step: steps[signIn]!, refusedCalls }
  }
  const outcomeAt = (outcome: LoginOutcome, step: RecordedStep) => ({ outcome, step, refusedCalls: [] })
  if (steps.every(({ kind }) => outsideLogins.includes(kind))) {
    const refused = steps.findLast(({ reason }) => reason !== undefined)
    return refused ? outcomeAt('refused', refused) : outcomeAt('no login', last)
  }

  const continued = steps.findLastIndex(step => loginKinds.includes(step.kind) && (!step.reason || isAskedAgain(step)))
  const refused = steps.findLastIndex(step => step.reason !== undefined && !isAskedAgain(step))
  if (refused > continued) return outcomeAt(isDeclined(steps[refused]!) ? 'declined' : 'refused', steps[refused]!)
  const step = steps[continued] ?? last
  if (now.getTime() - endOf(last) < abandonedMs) return outcomeAt('under way', step)
  return outcomeAt(hasCode(step) ? 'never exchanged' : 'abandoned', step)
}

/**
 * Whether the visitor made a mistake in the portal's form. The portal then shows the form again, and the login
 * continues.
 */
export function isAskedAgain({ kind, reason }: RecordedStep): boolean {
  const typed = ['password-wrong', 'fields-invalid', 'field-missing', 'field-too-long']
  return (kind === 'sign-in' || kind === 'sign-up') && reason !== undefined && typed.includes(reason)
}

/**
 * Whether the visitor declined. The portal can refuse an exchange for the same reason. That refusal does not count
 * here, because it shows a mistake in the client.
 */
export function isDeclined({ kind, reason }: RecordedStep): boolean {
  return kind !== 'exchange' && reason === 'consent-declined'
}

/** Whether the browser was sent back to the client with a code. */
export function hasCode({ response }: RecordedStep): boolean {
  return response.location.code !== undefined
}

/** Describes the status in a few words. */
export function wordsFor({ outcome, refusedCalls }: LoginStatus, timesInLoop: number): string {
  if (timesInLoop > 0) return 'signed in, possibly in a loop'
  const count = refusedCalls.length
  return count === 0 ? outcome : `${outcome}, then ${count} ${count === 1 ? 'call' : 'calls'} refused`
}
