// What a check is, and the three ways in which one ends without having passed.
import type { CheckContext } from './context.ts'
import type { RuleId } from './rules.ts'

/** `not followed`: of an advice. A MUST fails and a SHOULD warns in its place. */
export type Verdict = 'passed' | 'failed' | 'warned' | 'not followed' | 'not applicable' | 'undecided'

/** What a client has to have for a check to mean anything; each follows from an option of the command. */
export type Need = 'page' | 'logout' | 'create' | 'returnTo' | 'replica' | 'start'

export interface Check {
  /** Stable: others name it in their lists of known failures. */
  id: string
  /** The id of its group (checks.ts). */
  group: string
  /** What a right client does, as a sentence. */
  title: string
  /** What it rests on (rules.ts); the level follows from it. */
  rule: RuleId
  /** Why it matters, one sentence. The rule has the source. */
  why: string
  /** How to fix it, one sentence. */
  fix: string
  needs?: Need[]
  /** Runs while no other check does: it orders faults, restarts the client or measures time. */
  isAlone?: boolean
  /** Begins by starting the client anew, and leaves it stale. */
  restartsClient?: boolean
  /** How long it may take before nothing can be said, where 60 seconds are too few. */
  longestMs?: number
  /** Passes when it resolves. Everything else it says through the context. */
  run(context: CheckContext): Promise<void>
}

/** A check as its group lists it. */
export type Row = Omit<Check, 'group'>

/** The client did what it must not do. `evidence` is shown; secrets in it are hidden there. */
export class Failed extends Error {
  readonly evidence: string[]
  /** How to fix what was seen, where that is not what the check says in general. */
  readonly fix: string | undefined

  constructor(message: string, evidence: string[] = [], fix?: string) {
    super(message)
    this.evidence = evidence
    this.fix = fix
  }
}

/** The client has nothing that this could be asked of. */
export class NotApplicable extends Error {}

/** What was seen allows either answer. */
export class Undecided extends Error {}

/** What keeps a plain login of this client from working. */
export interface Obstacle {
  /** How far it comes: not to the portal, not through it, or not to a session. */
  stage: 'start' | 'portal' | 'login'
  /** Ids of the checks that can tell what is wrong. */
  causes: string[]
  message: string
  evidence: string[]
  /** Nobody can tell whether it is the client's fault, as with a client that goes on by a script. */
  isOpen: boolean
}

/** The check needs a login, and not even a plain one works. */
export class NotRun extends Error {
  readonly failure: Failed
  readonly obstacle: Obstacle

  constructor(failure: Failed, obstacle: Obstacle) {
    super(obstacle.message)
    this.failure = failure
    this.obstacle = obstacle
  }
}
