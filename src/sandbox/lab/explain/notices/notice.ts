// A notice says what a client did wrong in a login, and how to fix it.
import { type Guidance, reasons } from '../../../observe/reasons.ts'
import type { OtherLogins } from '../../record/compare-logins.ts'
import type { RecordedLogin, RecordedStep, StepReason } from '../../record/recorded.ts'

/**
 * `error`: the mistake makes a login fail, or lets an attacker take over a login. `warning`: the mistake makes a theft
 * or a failure more likely. `info`: this portal accepts the mistake, but other portals may refuse it.
 */
export const severities = ['error', 'warning', 'info'] as const
export type Severity = (typeof severities)[number]

/** What was found, why it matters, how to fix it, and the reference: one or two sentences each. */
export interface Notice extends Guidance {
  /** Do not change an id, because tests and documents use the ids. */
  id: string
  severity: Severity
  /**
   * Finds the steps of the login that show the mistake. The result must depend only on the arguments, because the
   * function runs each time somebody reads the login.
   */
  find(login: Pick<RecordedLogin, 'steps'>, others: OtherLogins): RecordedStep[]
}

/**
 * Returns three parts of the guidance about a refusal: why it matters, the fix and the reference. A notice about the
 * same mistake uses these parts.
 */
export function asFor(reason: keyof typeof reasons): Omit<Guidance, 'found'> {
  const { why, fix, reference } = reasons[reason]
  return { why, fix, reference }
}

/** Whether the step is a call that a client makes from its server, not through a browser. */
export function isServerCall({ kind }: RecordedStep): boolean {
  return kind === 'exchange' || kind === 'refresh' || kind === 'revoke' || kind === 'api'
}

/** Makes a `find` function, which finds the steps that were refused for one of these reasons. */
export function refusedFor(...reasons: StepReason[]): (login: Pick<RecordedLogin, 'steps'>) => RecordedStep[] {
  return ({ steps }) => steps.filter(({ reason }) => reason !== undefined && reasons.includes(reason))
}
