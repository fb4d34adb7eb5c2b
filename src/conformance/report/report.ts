// Defines what every report contains, and how reports count each result.
import { countsAsUndecided, type Verdict } from '../check.ts'
import type { Outcome } from '../expected-failures.ts'
import type { Result } from '../result.ts'

export interface Report {
  /** Version of this suite. */
  version: string
  /** The address of the client. */
  client: string
  startedAt: Date
  durationMs: number
  /**
   * The command as the user typed it, without the options for reports. With an added `--only`, this command repeats one
   * check.
   */
  command: string
  results: Result[]
  outcome: Outcome
  /** The reasons for the expected failures, keyed by the id of the check. */
  expected: Map<string, string>
  allowUndecided: boolean
  exitCode: number
}

/**
 * How a result counts. Usually this is the verdict. These are the exceptions:
 *
 * - `known failure`: a listed check failed.
 * - `no longer fails`: a listed check passed.
 * - `undecided advice`: a check of advice is undecided in a run without --strict. This does not change the exit code.
 * - `crashed`: the check crashed because of a mistake in this suite.
 */
export type Standing = Verdict | 'known failure' | 'no longer fails' | 'undecided advice' | 'crashed'

export function standingOf({ id, verdict, isError, isUncounted }: Result, { outcome, expected }: Report): Standing {
  if (isError) return 'crashed'
  if (isUncounted && verdict === 'undecided') return 'undecided advice'
  if (verdict === 'failed' && expected.has(id)) return 'known failure'
  return outcome.nowPassing.includes(id) ? 'no longer fails' : verdict
}

/** Whether a person should look at the result. */
export function needsAttention(standing: Standing): boolean {
  return !['passed', 'not applicable', 'known failure', 'undecided advice', 'not run'].includes(standing)
}

export function reasonOf(result: Result, report: Report): string {
  const standing = standingOf(result, report)
  if (standing === 'no longer fails')
    return 'The check is on the list of known failures, but it passes. Remove it from the list (--expect-fail).'
  return standing === 'known failure' ? `${result.reason} Known: ${report.expected.get(result.id)}` : result.reason
}

const countedAs = (result: Result): Verdict => (countsAsUndecided(result) ? 'undecided' : result.verdict)

const order: Verdict[] = ['passed', 'failed', 'warned', 'not applicable', 'undecided']

/**
 * Returns a line such as `N passed, N failed, N warned, N not applicable, N undecided`. `isShort` leaves out counts of
 * 0. Known failures do not count as failed. Checks that were not run count as undecided.
 */
export function countLine(results: Result[], known: Iterable<string> = [], isShort = false): string {
  const ids = new Set(known)
  const own = results.filter(({ isUncounted }) => !isUncounted)
  const counted = own.filter(({ id, verdict }) => !(verdict === 'failed' && ids.has(id)))
  const isKnown = own.length - counted.length
  const counts = order
    .map(verdict => [verdict, counted.filter(result => countedAs(result) === verdict).length] as const)
    .filter(([, count]) => !isShort || count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
  return [...counts, ...(isShort && isKnown > 0 ? [`${isKnown} known to fail`] : [])].join(', ')
}

/**
 * Returns the line for checks of advice, which are counted separately. Returns no line if the run has no such checks.
 */
export function adviceLine(results: Result[]): string[] {
  const own = results.filter(({ isUncounted }) => isUncounted)
  const count = (verdict: Verdict) => own.filter(result => countedAs(result) === verdict).length
  if (own.length === 0) return []
  return [
    `Advice: ${count('passed')} followed, ${count('not followed')} not followed, ${count('not applicable')} not applicable, ${count('undecided')} undecided`,
  ]
}

/** Returns one line for each reason why checks did not run. */
export function notRunLines(results: Result[]): string[] {
  const groups = Map.groupBy(
    results.filter(({ verdict }) => verdict === 'not run'),
    ({ reason }) => reason,
  )
  return [...groups].map(([reason, { length }]) => `${length} ${length === 1 ? 'check' : 'checks'}: ${reason}`)
}
