// Computes the exit code of the command.
import { countsAsUndecided } from './check.ts'
import type { Outcome } from './expected-failures.ts'
import type { Result } from './result.ts'

/** 0: the client passed. 1: the client failed. 2: the suite could not run. 3: some checks are undecided. */
export function exitCodeOf(
  results: Result[],
  { failed, nowPassing, unknown }: Outcome,
  allowUndecided: boolean,
): number {
  if (failed.length + nowPassing.length + unknown.length > 0) return 1
  if (results.some(({ isError }) => isError)) return 2
  return !allowUndecided && results.some(result => countsAsUndecided(result) && !result.isUncounted) ? 3 : 0
}
