// What a check is, and the three ways in which one ends without having passed.
import type { CheckContext } from './context.ts'

/** In the order in which they are run and told. */
export const groups = {
  'starting-a-login': 'Starting a login',
  'coming-back': 'Coming back',
  exchange: 'The exchange',
  cookie: 'The cookie',
  'staying-signed-in': 'Staying signed in',
  tabs: 'Tabs, windows, replicas',
  'signing-out': 'Signing out',
  pages: 'Pages',
  'portal-faults': 'Faults of the portal',
  'api-faults': 'Faults of the API',
  log: 'What is logged',
} as const

export type Group = keyof typeof groups
export type Level = 'MUST' | 'SHOULD'
export type Verdict = 'passed' | 'failed' | 'warned' | 'not applicable' | 'undecided'

/** What a client has to have for a check to mean anything; each follows from an option of the command. */
export type Need = 'page' | 'logout' | 'create' | 'returnTo' | 'replica' | 'start'

export interface Check {
  /** Stable: others name it in their lists of known failures. */
  id: string
  group: Group
  /** What a right client does, as a sentence. */
  title: string
  level: Level
  /** Why it matters, one sentence, with the section of the RFC or the part of the specification. */
  why: string
  /** How to mend it, one sentence. */
  mend: string
  needs?: Need[]
  /** Runs while no other check does: it orders faults, restarts the client or measures time. */
  isAlone?: boolean
  /** How long it may take before nothing can be said, where 60 seconds are too few. */
  longestMs?: number
  /** Passes when it resolves. Everything else it says through the context. */
  run(context: CheckContext): Promise<void>
}

/** The checks of one group: the file of `checks/` that is called like it, and those that it takes rows from. */
export function checksOf(group: Group, checks: Omit<Check, 'group'>[]): Check[] {
  return checks.map(check => ({ ...check, group }))
}

/** The client did what it must not do. `evidence` is shown; secrets in it are hidden there. */
export class Failed extends Error {
  readonly evidence: string[]

  constructor(message: string, evidence: string[] = []) {
    super(message)
    this.evidence = evidence
  }
}

/** The client has nothing that this could be asked of. */
export class NotApplicable extends Error {}

/** What was seen allows either answer. */
export class Undecided extends Error {}
