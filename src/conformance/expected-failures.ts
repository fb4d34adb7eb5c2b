// Known failures: a listed check that fails does not fail the run, but a listed check that passes does.
import { readFileSync } from 'node:fs'
import type { Result } from './run-checks.ts'

export interface Outcome {
  /** Checks that failed and are not on the list. */
  failed: Result[]
  /** Ids on the list that did not fail. */
  nowPassing: string[]
  /** Ids on the list that no check has. */
  unknown: string[]
}

/** Only a MUST can fail. Checks that did not run are in none of these lists. */
export function compareWithExpected(results: Result[], expected: Map<string, string>, allIds: string[]): Outcome {
  const byId = new Map(results.map(result => [result.id, result]))
  return {
    failed: results.filter(({ verdict, id }) => verdict === 'failed' && !expected.has(id)),
    nowPassing: [...expected.keys()].filter(id => byId.get(id)?.verdict === 'passed'),
    unknown: [...expected.keys()].filter(id => !allIds.includes(id)),
  }
}

/** Reads a file of ids, each with a reason. Adds problems of the file to `problems`. */
export function readExpectedFailures(path: string | undefined, problems: string[]): Map<string, string> {
  if (path === undefined) return new Map()
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    const entries = lines.filter(line => !/^\s*(#|$)/.test(line)).map(line => /^\s*(\S+)\s*(.*?)\s*$/.exec(line)!)
    for (const [, id, reason] of entries) if (!reason) problems.push(`--expect-fail: ${id} has no reason after it`)
    return new Map(entries.map(([, id, reason]) => [id!, reason!]))
  } catch {
    problems.push('--expect-fail names a file that cannot be read')
    return new Map()
  }
}
