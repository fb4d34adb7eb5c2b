// The result of a check for one client.
import type { Check, Verdict } from './check.ts'
import type { Level } from './rules/rule.ts'
import { type RuleId, rules } from './rules/rules.ts'
import type { Settings } from './settings.ts'

export interface Result {
  id: string
  group: Check['group']
  title: string
  rule: RuleId
  level: Level
  verdict: Verdict
  why: string
  fix: string
  /** If the check failed: what the client did. If the check is undecided: why. Empty after a pass. */
  reason: string
  evidence: string[]
  durationMs: number
  /**
   * True if the check crashed because of a mistake in this suite. The result then proves nothing about the client, and
   * the verdict is `undecided`.
   */
  isError?: boolean
  /**
   * True if the client ended, broke a connection, or left a request without an answer. Not set if a check of a deadline
   * already reports that the client is too slow.
   */
  isLost?: boolean
  /**
   * True for a check of advice in a run without --strict. This result is counted separately, and does not change the
   * exit code.
   */
  isUncounted?: boolean
  /** True if the check relies on another check to report why it could not run. */
  isReportedElsewhere?: boolean
  /** If the check was not run: the id of the check that reports the cause. */
  notRunBecause?: string
}

/** Makes a result without evidence. */
export function resultOf(check: Check, settings: Settings, verdict: Verdict, reason = ''): Result {
  const { id, group, title, rule, why, fix } = check
  const { level } = rules[rule]
  const isUncounted = level === 'advice' && !settings.isStrict
  return {
    id,
    group,
    title,
    rule,
    level,
    verdict,
    why,
    fix,
    reason,
    evidence: [],
    durationMs: 0,
    ...(isUncounted && { isUncounted }),
  }
}

/** Whether the client did not follow the rule of the check. */
export function isBlamed({ verdict }: Pick<Result, 'verdict'>): boolean {
  return verdict === 'failed' || verdict === 'warned' || verdict === 'not followed'
}
