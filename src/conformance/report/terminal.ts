// Makes the report for a terminal: each failure with its evidence, and then a summary.

import type { Check, Verdict } from '../check.ts'
import { groups } from '../checks.ts'
import type { Result } from '../result.ts'
import type { Level } from '../rules/rule.ts'
import { describeRule, originOf, type RuleId, rules } from '../rules/rules.ts'
import { printable } from './printable.ts'
import { adviceLine, countLine, needsAttention, notRunLines, type Report, reasonOf, standingOf } from './report.ts'

const [mostNamed, mostLines] = [12, 40]

/**
 * Describes every result that needs attention. The problems are in the order in which a user should fix them. Checks
 * with the same failure and the same fix are described together. Only the summary lists the undecided checks and the
 * known failures that now pass, because the client may be right.
 */
export function describeFailures(report: Report): string {
  const found = report.results.filter(result => {
    const standing = standingOf(result, report)
    return standing !== 'undecided' && standing !== 'no longer fails' && needsAttention(standing)
  })
  const alike = Map.groupBy(inOrderOfRepair(found), ({ verdict, reason, fix, isError }) =>
    JSON.stringify([verdict, reason, fix, isError]),
  )
  return [...alike.values()]
    .map(([first, ...others]) => `${describeFailure(first!, report.command, others)}\n`)
    .join('')
}

/**
 * Begins with the mistakes that can explain other failures: first the checks that made the client stop answering, then
 * the checks that found mixed-up visitors. Among the other checks, MUST comes before SHOULD, and early steps of a login
 * come before late steps.
 */
function inOrderOfRepair(results: Result[]): Result[] {
  const rank = ({ isLost, verdict, isError, rule }: Result) => {
    if (isError) return 4
    if (verdict === 'not followed') return 5
    if (isLost) return 0
    if (verdict !== 'failed') return 3
    return rule === 'visitors-apart' ? 1 : 2
  }
  return results.toSorted((one, other) => rank(one) - rank(other))
}

/**
 * Describes a check that failed, warned or crashed: its reason, why it matters, how to fix it, and how to run it again.
 */
export function describeFailure(result: Result, command: string, alike: Result[] = []): string {
  const { id, title, rule, level, verdict, reason, why, fix, evidence, isError } = result
  const lines = [
    `${isError ? 'ERROR' : verdict.toUpperCase()} ${id} (${level}): ${title}`,
    `  Seen:  ${reason}`,
    `  Why:   ${why}`,
    `  Rule:  ${describeRule(rule)}`,
    `  Fix:   ${fix}`,
    ...(evidence.length > 0
      ? ['  Evidence:', ...evidence.flatMap(text => text.split('\n').map(line => `    ${line}`))]
      : []),
    ...(alike.length > 0 ? [`  The same: ${listIds(alike)}`] : []),
    `  Again: ${command} --only '^${id}$'`,
    '',
  ]
  return printable(lines.join('\n'))
}

/**
 * Returns a summary. Shortens its lists until the summary has at most 40 lines, or each list shows one entry. The last
 * line contains the counts.
 */
export function summarize(report: Report): string {
  for (let most = mostNamed; ; most--) {
    const lines = summaryOf(report, most)
    if (lines.length <= mostLines || most === 1) return printable(`${lines.join('\n')}\n`)
  }
}

/** `most`: the number of ids that each list shows. */
function summaryOf(report: Report, most: number): string[] {
  const { results, client, command, expected, outcome } = report
  const { failed, nowPassing, unknown } = outcome
  const lines = [`Conformance of ${client}`, '']
  for (const { id: group, title } of groups) {
    const own = results.filter(result => result.group === group)
    if (own.length > 0) lines.push(`  ${title.padEnd(26)}${countLine(own, expected.keys(), true)}`)
  }
  const of = (wanted: Verdict) => results.filter(({ verdict, isError }) => verdict === wanted && !isError)
  const named = (found: Result[]) => found.map(({ id, reason }) => `${id}: ${reason}`)
  const known = results.filter(result => standingOf(result, report) === 'known failure')
  lines.push(
    '',
    ...listSome('Failed', named(failed), most),
    ...listSome(
      'Known failures (--expect-fail), not counted below',
      known.map(result => `${result.id}: ${reasonOf(result, report)}`),
      most,
    ),
    ...listSome('Warned', named(of('warned')), most),
    ...listSome('Advice not followed', named(of('not followed')), most),
    ...listSome(
      'Crashed because of a mistake in this suite (please report it)',
      named(results.filter(({ isError }) => isError)),
      most,
    ),
    ...listSome('Undecided', named(of('undecided').filter(({ isUncounted }) => !isUncounted)), most),
    ...listSome('Not run, and counted as undecided', notRunLines(results), most),
    ...listSome('Not applicable', countReasons(of('not applicable')), most),
  )
  if (nowPassing.length > 0)
    lines.push(`These known failures now pass. Remove them from the list: ${nowPassing.join(', ')}`)
  if (unknown.length > 0)
    lines.push(`The list of known failures contains ids for which there is no check: ${unknown.join(', ')}`)
  if (failed.length > 0) lines.push(`Repeat a failed check: ${command} --only '^${failed[0]!.id}$'`)
  return [...lines, ...adviceLine(results), countLine(results, expected.keys())]
}

/** Returns the reasons why checks do not apply, with the number of checks. The most frequent reason comes first. */
function countReasons(results: Result[]): string[] {
  const counts = new Map<string, number>()
  for (const { reason } of results) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${count}: ${reason}`)
}

function listSome(what: string, texts: string[], most: number): string[] {
  if (texts.length === 0) return []
  const more = texts.length - most
  return [
    `${what}:`,
    ...texts.slice(0, most).map(text => `  ${shorten(text)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ]
}

function listIds(results: Result[]): string {
  const ids = results.slice(0, mostNamed).map(({ id }) => id)
  const more = results.length - ids.length
  return `${ids.join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 140 ? `${line.slice(0, 139)}…` : line
}

/** Lists all checks by group, as Markdown. `--list` and docs/conformance-checks.md show this list. */
export function listChecks(checks: Pick<Check, 'id' | 'group' | 'title' | 'rule'>[]): string {
  const tables = groups.flatMap(({ id: group, title }) => {
    const own = checks.filter(check => check.group === group)
    const rows = own.map(
      ({ id, rule, title }) => `| \`${id}\` | ${rules[rule].level} | ${escapeCell(title)} | ${linkTo(rule)} |`,
    )
    return own.length === 0
      ? []
      : [
          `## ${title} (\`${group}\`)\n\n| Id | | What a correct client does | Rule |\n|---|---|---|---|\n${rows.join('\n')}\n`,
        ]
  })
  const used = Object.entries(rules).filter(([id]) => checks.some(({ rule }) => rule === id))
  const ruleRows = used.map(
    ([id, { level, sentence, quote }]) =>
      `| ${linkTo(id)} | ${level} | ${escapeCell(sentence)} | ${originOf(rules[id as RuleId])}${quote ? escapeCell(`: “${quote}”`) : ''} |`,
  )
  const countOf = (level: Level) => checks.filter(({ rule }) => rules[rule].level === level).length
  return `# What the conformance suite checks

${checks.length} checks, as \`--list\` prints them: ${countOf('MUST')} MUST, ${countOf('SHOULD')} SHOULD, ${countOf('advice')} advice. Each check tests one rule.
The rules are at the end of this list.

${tables.join('\n')}
## Rules

[The platform](reference/platform.md) explains the rules. Quotations from RFCs and OWASP ASVS 5.0 are exact.

| Id | | Rule | Origin |
|---|---|---|---|
${ruleRows.join('\n')}
`
}

/** In docs/reference/platform.md, the anchor of a rule is its id in lower case. */
const linkTo = (rule: string) => `[\`${rule}\`](reference/platform.md#${rule.toLowerCase()})`

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
