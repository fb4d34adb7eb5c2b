// What every report tells.
import type { Verdict } from '../check.ts'
import type { Result } from '../run-checks.ts'

export interface Report {
  /** Of this suite. */
  version: string
  /** The address of the client. */
  client: string
  startedAt: Date
  durationMs: number
  /** The command as it was typed, without what it wrote: with `--only` it repeats one check. */
  command: string
  results: Result[]
}

const order: Verdict[] = ['passed', 'failed', 'warned', 'not applicable', 'undecided']

/** `N passed, N failed, N warned, N not applicable, N undecided`; `isShort` leaves out what there is none of. */
export function countLine(results: Result[], isShort = false): string {
  return order
    .map(verdict => [verdict, results.filter(result => result.verdict === verdict).length] as const)
    .filter(([, count]) => !isShort || count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ')
}
