// Defines a check, and the errors with which a check ends if it does not pass.
import type { CheckContext } from './context.ts'
import type { RuleId } from './rules/rules.ts'

/**
 * If a client breaks a rule, the verdict depends on the level of the rule: `failed` for a MUST, `warned` for a SHOULD,
 * and `not followed` for advice. `not run`: the check needs a login, but a plain login does not work.
 */
export type Verdict = 'passed' | 'failed' | 'warned' | 'not followed' | 'not applicable' | 'undecided' | 'not run'

/**
 * True if the check could not find out whether the client follows the rule. A check that was not run also counts as
 * undecided.
 */
export function countsAsUndecided({ verdict }: { verdict: Verdict }): boolean {
  return verdict === 'undecided' || verdict === 'not run'
}

/**
 * A feature or option without which a check cannot run. `process` means that the suite started the client (--start), so
 * that the check can read the output of the client.
 */
export type Need = 'page' | 'logout' | 'create' | 'returnTo' | 'replica' | 'browser' | 'process' | 'https'

export interface Check {
  /** The id must not change, because lists of known failures contain it. */
  id: string
  /** The id of the group of this check (checks.ts). */
  group: string
  /** What a correct client does, as a sentence. */
  title: string
  /** The rule that the check tests (rules/). The level of the rule is also the level of the check. */
  rule: RuleId
  /** Why the rule matters. The definition of the rule contains a link to the rule's source. */
  why: string
  /** How to fix the mistake. */
  fix: string
  needs?: Need[]
  /**
   * True if no other check may run at the same time, because this check orders a fault before its login begins,
   * restarts the client, or measures time.
   */
  isAlone?: boolean
  /**
   * True if the check begins with a restart of the client. The suite then does not restart a stale client before the
   * check.
   */
  restartsClient?: boolean
  /** The time limit in milliseconds, if 60 seconds are too few. A check that takes longer is undecided. */
  longestMs?: number
  /** If the promise resolves, the check passes. For every other result, the check or its context throws an error. */
  run(context: CheckContext): Promise<void>
}

/** A check as the list of its group defines it. checks.ts adds the group. */
export type CheckDefinition = Omit<Check, 'group'>

/** The client did something that it must not do. Reports show the `evidence`, but hide the secrets in it. */
export class Failed extends Error {
  readonly evidence: string[]
  /** How to fix this finding, if the check's usual advice does not fit. */
  readonly fix: string | undefined

  constructor(message: string, evidence: string[] = [], fix?: string) {
    super(message)
    this.evidence = evidence
    this.fix = fix
  }
}

/** The check does not apply, usually because the client lacks the feature that the check is about. */
export class NotApplicable extends Error {}

/**
 * The check cannot run, because something else does not work, and another check reports this. The message begins with a
 * lowercase letter, like the message of NotApplicable. If no check of the run reports anything, the verdict is
 * `undecided`, so that the mistake is not overlooked.
 */
export class ReportedElsewhere extends NotApplicable {}

/**
 * Pass this to `catch` if a check can continue without the result of the promise. Any error other than NotApplicable
 * and ReportedElsewhere is thrown again.
 */
export function passNotApplicable(error: unknown): undefined {
  if (!(error instanceof NotApplicable)) throw error
  return undefined
}

/** The check cannot tell whether the client behaves correctly. */
export class Undecided extends Error {}

/**
 * Pass this to `catch` if a check can continue without the result of the promise. Any error other than Undecided is
 * thrown again.
 */
export function passUndecided(error: unknown): undefined {
  if (!(error instanceof Undecided)) throw error
  return undefined
}

/** The reason why a plain login of this client does not work. */
export interface Obstacle {
  /**
   * The stage at which the login stops. At `start`, the browser does not reach the portal. At `portal`, the browser
   * does not leave the portal. At `login`, the browser returns to the client, but the client does not create a session.
   */
  stage: 'start' | 'portal' | 'login'
  /** Ids of the checks that can report the cause. */
  causes: string[]
  message: string
  evidence: string[]
  /** Advice that replaces the `fix` of the check that reports the obstacle. */
  fix?: string
  /**
   * True if it is unclear whether the client made a mistake. For example, a page of the client may redirect by a
   * script.
   */
  isCauseUnclear: boolean
  /** The client did not answer a request of the plain login. */
  isUnanswered: boolean
  /** One plain login has proven the mistake, so a second plain login is not needed. */
  isProven: boolean
}

/** The check needs a login, but even a plain login does not work. */
export class NotRun extends Error {
  readonly failure: Failed
  readonly obstacle: Obstacle

  constructor(failure: Failed, obstacle: Obstacle) {
    super(obstacle.message)
    this.failure = failure
    this.obstacle = obstacle
  }
}

/** The stages of a login, in the order in which a login passes them. */
const stages: Obstacle['stage'][] = ['start', 'portal', 'login']

/**
 * Returns the error for a check whose own login has failed at `stage`. If the plain login also stopped at this stage,
 * or at an earlier one, the error names this obstacle. Otherwise the error is `failure`.
 */
export function failureOrObstacle(failure: Failed, obstacle: Obstacle | undefined, stage: Obstacle['stage']): Error {
  if (!obstacle || stages.indexOf(obstacle.stage) > stages.indexOf(stage)) return failure
  // If it is unclear why the plain login failed, it is also unclear why this check failed.
  return obstacle.isCauseUnclear ? new Undecided(obstacle.message) : new NotRun(failure, obstacle)
}
