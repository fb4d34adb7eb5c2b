// What a terminal shows: each failure with its evidence, then a summary that fits a screen.
import { groups } from '../check.ts'
import type { Outcome } from '../expected-failures.ts'
import type { Result } from '../run-checks.ts'
import { countLine, type Report } from './report.ts'

const mostNamed = 12

/** One that failed or should be better: what, why, how to mend it, what was seen, and how to see it again. */
export function describeFailure(result: Result, command: string): string {
  const { id, title, level, verdict, reason, why, mend, evidence } = result
  return [
    `${verdict === 'failed' ? 'FAILED' : 'WARNED'} ${id} (${level}): ${title}`,
    `  Seen:  ${reason}`,
    `  Why:   ${why}`,
    `  Mend:  ${mend}`,
    ...(evidence.length > 0
      ? ['  Evidence:', ...evidence.flatMap(text => text.split('\n').map(line => `    ${line}`))]
      : []),
    `  Again: ${command} --only '^${id}$'`,
    '',
  ].join('\n')
}

/** At most 40 lines; the last one counts. */
export function summarize({ results, client, command }: Report, { failed, mended, unknown }: Outcome): string {
  const lines = [`Conformance of ${client}`, '']
  for (const [group, title] of Object.entries(groups)) {
    const own = results.filter(result => result.group === group)
    if (own.length > 0) lines.push(`  ${title.padEnd(26)}${countLine(own, true)}`)
  }
  lines.push('')
  const expected = results.filter(({ id, verdict }) => verdict === 'failed' && !failed.some(one => one.id === id))
  lines.push(...nameSome('Failed', failed), ...nameSome('Failed, as expected', expected))
  lines.push(
    ...nameSome(
      'Warned',
      results.filter(({ verdict }) => verdict === 'warned'),
      5,
    ),
  )
  lines.push(
    ...nameSome(
      'Undecided',
      results.filter(({ verdict }) => verdict === 'undecided'),
      5,
    ),
  )
  if (mended.length > 0) lines.push(`Expected to fail, and passes; take it off the list: ${mended.join(', ')}`)
  if (unknown.length > 0) lines.push(`Expected to fail, and no check: ${unknown.join(', ')}`)
  if (failed.length > 0) lines.push(`One of them again: ${command} --only '^${failed[0]!.id}$'`)
  lines.push(countLine(results))
  return `${lines.join('\n')}\n`
}

function nameSome(what: string, results: Result[], most = mostNamed): string[] {
  if (results.length === 0) return []
  const named = results.slice(0, most).map(({ id, reason }) => `  ${id}: ${shorten(reason)}`)
  const more = results.length - named.length
  return [`${what}:`, ...named, ...(more > 0 ? [`  and ${more} more`] : [])]
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 110 ? `${line.slice(0, 109)}…` : line
}

/** For `--list`, and for docs/conformance-checks.md: every check by group, as Markdown. */
export function listChecks(checks: Pick<Result, 'id' | 'group' | 'title' | 'level'>[]): string {
  const tables = Object.entries(groups).flatMap(([group, title]) => {
    const own = checks.filter(check => check.group === group)
    const rows = own.map(({ id, level, title }) => `| \`${id}\` | ${level} | ${title.replaceAll('|', '\\|')} |`)
    return own.length === 0
      ? []
      : [`## ${title} (\`${group}\`)\n\n| Id | | What a right client does |\n|---|---|---|\n${rows.join('\n')}\n`]
  })
  return `# What the conformance suite checks\n\n${checks.length} checks, as \`--list\` prints them.\n\n${tables.join('\n')}`
}
