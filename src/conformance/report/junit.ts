// The report for CI systems: JUnit's XML, one suite a group. What is warned has passed and says so.
import { groups } from '../checks.ts'
import type { Result } from '../run-checks.ts'
import { printable } from './printable.ts'
import type { Report } from './report.ts'

export function toJunit({ client, startedAt, durationMs, command, results }: Report): string {
  const suites = groups.flatMap(({ id: group, title }) => {
    const own = results.filter(result => result.group === group)
    return own.length === 0 ? [] : [suite(title, own, command)]
  })
  const attributes = `name="${escapeXml(`Conformance of ${client}`)}" timestamp="${startedAt.toISOString()}" ${counts(results)} time="${seconds(durationMs)}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${attributes}>\n${suites.join('')}</testsuites>\n`
}

function suite(title: string, results: Result[], command: string): string {
  const time = seconds(results.reduce((sum, { durationMs }) => sum + durationMs, 0))
  const cases = results.map(result => testCase(result, command))
  return `  <testsuite name="${escapeXml(title)}" ${counts(results)} time="${time}">\n${cases.join('')}  </testsuite>\n`
}

function testCase(result: Result, command: string): string {
  const { id, group, title, verdict, durationMs } = result
  const head = `    <testcase name="${escapeXml(`${id}: ${title}`)}" classname="${escapeXml(`conformance.${group}`)}" time="${seconds(durationMs)}"`
  const text = escapeXml(describe(result, command))
  if (verdict === 'passed') return `${head}/>\n`
  if (result.isError) return `${head}><error message="${escapeXml(result.reason)}">${text}</error></testcase>\n`
  const content = {
    failed: `<failure message="${escapeXml(result.reason)}">${text}</failure>`,
    warned: `<system-out>${text}</system-out>`,
    'not applicable': `<skipped message="${escapeXml(result.reason)}"/>`,
    undecided: `<skipped message="${escapeXml(`undecided: ${result.reason}`)}"/>`,
  }[verdict]
  return `${head}>${content}</testcase>\n`
}

function describe({ verdict, reason, why, fix, evidence, id }: Result, command: string): string {
  return [
    `${verdict}: ${reason}`,
    `Why: ${why}`,
    `Fix: ${fix}`,
    ...evidence,
    `Again: ${command} --only '^${id}$'`,
  ].join('\n')
}

function counts(results: Result[]): string {
  const count = (...verdicts: string[]) =>
    results.filter(({ verdict, isError }) => verdicts.includes(verdict) && !isError).length
  const errors = results.filter(({ isError }) => isError).length
  return `tests="${results.length}" failures="${count('failed')}" errors="${errors}" skipped="${count('not applicable', 'undecided')}"`
}

const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3)

/** XML 1.0 has no way to write most control characters and U+FFFE, and some programs print the file to a terminal. */
function escapeXml(text: string): string {
  return printable(text)
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
