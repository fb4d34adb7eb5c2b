// Makes the report for CI systems: JUnit's XML, with one suite for each group. The report contains a failure or an
// error exactly when the exit code is not 0. A warning counts as passed, and its test case contains the text of the
// warning. A known failure counts as skipped, and an undecided check as an error.

import { groups } from '../checks.ts'
import type { Result } from '../result.ts'
import { describeRule } from '../rules/rules.ts'
import { escapeMarkup } from './printable.ts'
import { type Report, reasonOf, type Standing, standingOf } from './report.ts'

type Kind = 'passed' | 'failure' | 'error' | 'skipped'

export function toJunit(report: Report): string {
  const { client, startedAt, durationMs, results, outcome } = report
  const suites = groups.flatMap(({ id: group, title }) => {
    const own = results.filter(result => result.group === group)
    return own.length === 0 ? [] : [suite(title, own, report)]
  })
  const counts = countKinds(results, report)
  counts.tests += outcome.unknown.length
  counts.failures += outcome.unknown.length
  const attributes = `name="${escapeXml(`Conformance of ${client}`)}" timestamp="${startedAt.toISOString()}" ${toAttributes(counts)} time="${seconds(durationMs)}"`
  const lines = [...suites, unknownSuite(outcome.unknown)]
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${attributes}>\n${lines.join('')}</testsuites>\n`
}

function suite(title: string, results: Result[], report: Report): string {
  const time = seconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0))
  const cases = results.map(result => testCase(result, report))
  return `  <testsuite name="${escapeXml(title)}" ${toAttributes(countKinds(results, report))} time="${time}">\n${cases.join('')}  </testsuite>\n`
}

/** Returns a suite with one failure for each id that is on the list of known failures, but is not the id of a check. */
function unknownSuite(ids: string[]): string {
  if (ids.length === 0) return ''
  const cases = ids.map(
    id =>
      `    <testcase name="${escapeXml(id)}" classname="conformance.known-failures"><failure message="No check has this id. Remove it from the list (--expect-fail)."/></testcase>\n`,
  )
  return `  <testsuite name="Known failures" tests="${ids.length}" failures="${ids.length}" errors="0" skipped="0">\n${cases.join('')}  </testsuite>\n`
}

function testCase(result: Result, report: Report): string {
  const { id, group, title, durationMs } = result
  const head = `    <testcase name="${escapeXml(`${id}: ${title}`)}" classname="${escapeXml(`conformance.${group}`)}" time="${seconds(durationMs)}"`
  const standing = standingOf(result, report)
  const text = escapeXml(tell(result, report))
  if (standing === 'warned' || standing === 'not followed')
    return `${head}><system-out>${text}</system-out></testcase>\n`
  const kind = kindOf(result, report)
  if (kind === 'passed') return `${head}/>\n`
  const named = standing === 'failed' || standing === 'not applicable' ? '' : `${standing}: `
  const message = escapeXml(named + reasonOf(result, report))
  const element =
    kind === 'skipped' ? `<skipped message="${message}"/>` : `<${kind} message="${message}">${text}</${kind}>`
  return `${head}>${element}</testcase>\n`
}

function kindOf(result: Result, report: Report): Kind {
  const { allowUndecided, outcome } = report
  const kinds: Record<Standing, Kind> = {
    passed: 'passed',
    warned: 'passed',
    'not followed': 'passed',
    'undecided advice': 'skipped',
    // Another check reports why this check was not run. If the other check has failed, the run fails anyway, so this
    // check counts as skipped. If the other check is a known failure, this check is an error. A check of advice never
    // changes the exit code.
    'not run': allowUndecided || result.isUncounted || outcome.failed.length > 0 ? 'skipped' : 'error',
    failed: 'failure',
    'no longer fails': 'failure',
    crashed: 'error',
    undecided: allowUndecided ? 'skipped' : 'error',
    'known failure': 'skipped',
    'not applicable': 'skipped',
  }
  return kinds[standingOf(result, report)]
}

function tell(result: Result, report: Report): string {
  const { rule, why, fix, evidence, id } = result
  return [
    `${standingOf(result, report)}: ${reasonOf(result, report)}`,
    `Why: ${why}`,
    `Rule: ${describeRule(rule)}`,
    `Fix: ${fix}`,
    ...evidence,
    `Again: ${report.command} --only '^${id}$'`,
  ].join('\n')
}

function countKinds(results: Result[], report: Report) {
  const kinds = results.map(result => kindOf(result, report))
  const count = (wanted: Kind) => kinds.filter(kind => kind === wanted).length
  return { tests: results.length, failures: count('failure'), errors: count('error'), skipped: count('skipped') }
}

function toAttributes(counts: ReturnType<typeof countKinds>): string {
  return Object.entries(counts)
    .map(([name, value]) => `${name}="${value}"`)
    .join(' ')
}

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3)

/**
 * Escapes markup. Also replaces control characters, U+FFFE and U+FFFF, because XML 1.0 cannot contain them, and because
 * some programs print the file to a terminal.
 */
function escapeXml(text: string): string {
  return escapeMarkup(text).replace(/[\ufffe\uffff]/g, '\ufffd')
}
