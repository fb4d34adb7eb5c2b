// Known failures: they keep nobody from passing, and one that has been mended has to leave the list.
import type { Result } from './run-checks.ts'

export interface Outcome {
  /** Checks that failed and were not expected to. */
  failed: Result[]
  /** Ids that were expected to fail and did not. */
  mended: string[]
  /** Ids on the list that no check has. */
  unknown: string[]
}

/** Of a MUST; what a SHOULD says fails nobody. Checks that were not run are neither mended nor unknown. */
export function compareWithExpected(results: Result[], expected: Map<string, string>, allIds: string[]): Outcome {
  const byId = new Map(results.map(result => [result.id, result]))
  return {
    failed: results.filter(({ verdict, id }) => verdict === 'failed' && !expected.has(id)),
    mended: [...expected.keys()].filter(id => byId.get(id)?.verdict === 'passed'),
    unknown: [...expected.keys()].filter(id => !allIds.includes(id)),
  }
}
