// Defines a check, and the errors with which a check ends if it does not pass.
import type { CheckContext } from './context.ts'
import type { RuleId } from './rules/rules.ts'

/** `not followed` is the verdict for advice. A MUST fails and a SHOULD warns instead. */
export type Verdict = 'passed' | 'failed' | 'warned' | 'not followed' | 'not applicable' | 'undecided'

/**
 * What a check needs, and which option of the command provides it. `process` is a client that --start has
 * started. The check can read its output.
 */
export type Need = 'page' | 'logout' | 'create' | 'returnTo' | 'replica' | 'browser' | 'process' | 'https'

export interface Check {
  /** The id must not change, because lists of known failures contain it. */
  id: string
  /** The id of its group (checks.ts). */
  group: string
  /** What a correct client does, as a sentence. */
  title: string
  /** The rule that the check tests (rules/). The rule determines the level of the check. */
  rule: RuleId
  /** Why it matters. The rule names the source. */
  why: string
  /** How to fix it. */
  fix: string
  needs?: Need[]
  /** Runs while no other check runs, because it orders faults, restarts the client or measures time. */
  isAlone?: boolean
  /** The check restarts the client itself, and marks it as stale. */
  restartsClient?: boolean
  /** The time limit in milliseconds, if 60 seconds are too few. A check that takes longer is undecided. */
  longestMs?: number
  /** The check passes if the promise resolves. The check reports everything else through the context. */
  run(context: CheckContext): Promise<void>
}

/** A check as the list of its group defines it. checks.ts adds the group. */
export type CheckDefinition = Omit<Check, 'group'>

/** The client did something that it must not do. Reports show the `evidence` without its secrets. */
export class Failed extends Error {
  readonly evidence: string[]
  /** How to fix this finding, if the general fix of the check does not fit. */
  readonly fix: string | undefined

  constructor(message: string, evidence: string[] = [], fix?: string) {
    super(message)
    this.evidence = evidence
    this.fix = fix
  }
}

/** The client lacks the feature that the check is about. */
export class NotApplicable extends Error {}

/** The check cannot tell whether the client behaves correctly. */
export class Undecided extends Error {}

/** The reason why a plain login of this client does not work. */
export interface Obstacle {
  /** The step at which the login stops: before the portal, at the portal, or before a session. */
  stage: 'start' | 'portal' | 'login'
  /** Ids of the checks that can report the cause. */
  causes: string[]
  message: string
  evidence: string[]
  /** True if it is unclear whether the client is at fault, for example if its page redirects by a script. */
  isCauseUnclear: boolean
  /** The client did not answer a request of the plain login. */
  isUnanswered: boolean
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
