// Known failures (--expect-fail). If a listed check fails, the run does not fail. If a listed check passes, the run
// fails.
import { readFileSync } from 'node:fs'
import type { Result } from './result.ts'

export interface Outcome {
  /** Checks that failed, but are not on the list. */
  failed: Result[]
  /** Ids on the list whose checks passed. */
  nowPassing: string[]
  /** Ids on the list for which there is no check. */
  unknown: string[]
}

/**
 * Compares the results with the list of known failures. A check that did not run counts neither as failed nor as
 * passed.
 */
export function compareWithExpected(results: Result[], expected: Map<string, string>, allIds: string[]): Outcome {
  const byId = new Map(results.map(result => [result.id, result]))
  return {
    failed: results.filter(({ verdict, id }) => verdict === 'failed' && !expected.has(id)),
    nowPassing: [...expected.keys()].filter(id => byId.get(id)?.verdict === 'passed'),
    unknown: [...expected.keys()].filter(id => !allIds.includes(id)),
  }
}

/** Reads a file of ids, each with a reason. Adds the problems in the file to `problems`. */
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
