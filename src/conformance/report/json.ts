// Makes the report as JSON, for programs.
import { originOf, rules } from '../rules/rules.ts'
import { unsafeToPrint } from './printable.ts'
import { type Report, reasonOf, standingOf } from './report.ts'

/**
 * `{"suite": version, "client": …, "exitCode", "counts": {"passed": 400, "known failure": 1, …}, "checks": [{"id",
 * "title", "rule": {"id", "source", "sentence", "quote", …}, "level", "verdict", "standing", "why", "fix", "evidence":
 * […], …}]}`. `verdict` is the result of the check, and `standing` says how the run counts it. `isError` is true if the
 * check itself crashed.
 */
export function toJson(report: Report): string {
  const { version, client, startedAt, durationMs, command, results, outcome, exitCode } = report
  const checks = results.map(result => {
    const { id, group, title, rule, level, verdict, why, fix, evidence, durationMs, isError = false } = result
    const { sentence } = rules[rule]
    return {
      id,
      group,
      title,
      rule: {
        id: rule,
        level: rules[rule].level,
        source: originOf(rules[rule]),
        sentence,
        quote: rules[rule].quote ?? sentence,
      },
      level,
      verdict,
      standing: standingOf(result, report),
      why,
      fix,
      reason: reasonOf(result, report),
      evidence,
      durationMs,
      isError,
      ...(result.notRunBecause && { notRunBecause: result.notRunBecause }),
      again: `${command} --only '^${id}$'`,
    }
  })
  const counts: Record<string, number> = {}
  for (const { standing } of checks) counts[standing] = (counts[standing] ?? 0) + 1
  const { unknown } = outcome
  const all = {
    suite: version,
    client,
    startedAt,
    durationMs,
    exitCode,
    counts,
    unknownExpectedFailures: unknown,
    checks,
  }
  return `${escapeUnsafe(JSON.stringify(all, null, 2))}\n`
}

/**
 * JSON does not require an escape for control characters above U+001F, but a terminal obeys these characters. A program
 * reads the escaped form `\u009b` as the same character.
 */
function escapeUnsafe(json: string): string {
  return json.replace(unsafeToPrint, character =>
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join(''),
  )
}

const hex = (code: number) => code.toString(16).padStart(4, '0')
