// What a notice is: a mistake of a client that can be seen from what it sent, and how to mend it.
import type { RecordedLogin, RecordedStep } from '../recorded.ts'

export interface Notice {
  /** Stable: tests and documents name it. */
  id: string
  /** One sentence each. */
  wrong: string
  why: string
  mend: string
  /** The part of the specification or the RFC. */
  source: string
  /** The steps of `login` that show it; `others` are the other logins of the same client, oldest first. */
  find(login: RecordedLogin, others: readonly RecordedLogin[]): RecordedStep[]
}

/** The calls that a client makes from its server, not by way of a browser. */
export function isServerCall({ kind }: RecordedStep): boolean {
  return kind === 'exchange' || kind === 'refresh' || kind === 'revoke' || kind === 'api'
}

export function stepsOf(login: RecordedLogin, ...kinds: RecordedStep['kind'][]): RecordedStep[] {
  return login.steps.filter(({ kind }) => kinds.includes(kind))
}
