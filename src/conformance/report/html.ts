// Makes the report as one HTML file that users can send by mail. The file has no scripts and loads nothing.

import { groups } from '../checks.ts'
import type { Result } from '../result.ts'
import { describeRule } from '../rules/rules.ts'
import { escapeMarkup } from './printable.ts'
import { adviceLine, countLine, needsAttention, notRunLines, type Report, reasonOf, standingOf } from './report.ts'

const style = `
:root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --warn: #8a5a00; --good: #1a7f37; --quiet: #666 }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --warn: #ffca66; --good: #7ee2a0; --quiet: #aaa } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid var(--line) }
article { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-left: .3rem solid var(--quiet); border-radius: .3rem }
article.failed { border-left-color: var(--bad) } article.warned { border-left-color: var(--warn) }
article h3 { margin: 0; font-size: 1rem } dl { margin: .5rem 0; display: grid; grid-template-columns: 4.5rem 1fr; gap: .25rem .75rem }
dt { color: var(--quiet) } dd { margin: 0; overflow-wrap: anywhere }
pre { overflow-x: auto; background: #8881; padding: .5rem; border-radius: .3rem; font-size: .85rem; white-space: pre-wrap; overflow-wrap: anywhere }
.failed b { color: var(--bad) } .warned b { color: var(--warn) } .passed b { color: var(--good) }
ul { list-style: none; padding: 0 } li { padding: .15rem 0 } code { font-size: .85em; color: var(--quiet) }`

/** Shows failures with their evidence first, then undecided checks, and then all checks by group. */
export function toHtml(report: Report): string {
  const { version, client, startedAt, durationMs, results, expected } = report
  const loud = results.filter(result => needsAttention(standingOf(result, report)))
  const open = loud.filter(result => standingOf(result, report) === 'undecided')
  const advised = loud.filter(({ verdict }) => verdict === 'not followed')
  const wrong = loud.filter(result => !open.includes(result) && !advised.includes(result))
  const sections = groups.flatMap(({ id: group, title }) => {
    const own = results.filter(result => result.group === group)
    return own.length === 0
      ? []
      : [
          `<h2>${escapeMarkup(title)}</h2>\n<p>${countLine(own, expected.keys(), true)}</p>\n<ul>\n${own.map(result => line(result, report)).join('\n')}\n</ul>`,
        ]
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance of ${escapeMarkup(client)}</title>
<style>${style}
</style>
<h1>Conformance of ${escapeMarkup(client)}</h1>
<p><strong>${countLine(results, expected.keys())}</strong></p>
${adviceLine(results)
  .map(text => `<p>${text}</p>`)
  .join('')}
<p>Suite ${escapeMarkup(version)}, ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(durationMs / 1000)} seconds. Each check plays the
roles of the browser and the platform, and judges the requests and answers of the client. A client that breaks a MUST fails, and a
client that breaks a SHOULD gets a warning. Advice is counted separately. With --strict, a client that breaks a SHOULD or
does not follow advice fails as well. Each finding says why it matters, and names
its rule. This report shows a hash in place of each secret. Equal hashes mean equal values.</p>
${whatToFix(wrong, open, report)}
${advised.length > 0 ? `<h2>Advice</h2>\n${advised.map(result => article(result, report)).join('\n')}` : ''}
${sections.join('\n')}
</html>
`
}

function whatToFix(wrong: Result[], open: Result[], report: Report): string {
  const { unknown } = report.outcome
  const parts = [
    wrong.length > 0 && `<h2>What to fix</h2>\n${wrong.map(result => article(result, report)).join('\n')}`,
    open.length > 0 &&
      `<h2>Undecided</h2>\n<p>These checks did not reach a result, so they neither passed nor failed.</p>\n<ul>\n${open.map(result => line(result, report)).join('\n')}\n</ul>`,
    ...notRunLines(report.results).map(text => `<h2>Not run</h2>\n<p>${escapeMarkup(text)}</p>`),
    unknown.length > 0 &&
      `<p>The list of known failures contains ids for which there is no check: <code>${escapeMarkup(unknown.join(', '))}</code></p>`,
  ].filter(part => part !== false)
  return parts.length > 0 ? parts.join('\n') : '<p>Nothing to fix.</p>'
}

function article(result: Result, report: Report): string {
  const { id, title, rule, level, verdict, why, fix, evidence } = result
  const shown = evidence.map(text => `<pre>${escapeMarkup(text)}</pre>`).join('\n')
  return `<article class="${verdict.replace(' ', '-')}" id="${escapeMarkup(id)}">
<h3><b>${standingOf(result, report)}</b> ${escapeMarkup(title)} <code>${escapeMarkup(id)}, ${level}</code></h3>
<dl><dt>Seen</dt><dd>${escapeMarkup(reasonOf(result, report))}</dd><dt>Why</dt><dd>${escapeMarkup(why)}</dd><dt>Rule</dt><dd>${escapeMarkup(describeRule(rule))}</dd><dt>Fix</dt><dd>${escapeMarkup(fix)}</dd><dt>Again</dt><dd><code>${escapeMarkup(`${report.command} --only '^${id}$'`)}</code></dd></dl>
${shown && `<details open><summary>What happened</summary>\n${shown}\n</details>`}
</article>`
}

function line(result: Result, report: Report): string {
  const { id, title, level, verdict } = result
  const standing = standingOf(result, report)
  const isQuiet = standing === 'not applicable' || standing === 'undecided' || standing === 'known failure'
  const because = result.notRunBecause ? ` because of ${escapeMarkup(result.notRunBecause)}` : ''
  const why = isQuiet ? `: ${escapeMarkup(reasonOf(result, report))}` : because
  return `<li class="${verdict.replace(' ', '-')}"><b>${standing}</b> ${escapeMarkup(title)} <code>${escapeMarkup(id)}, ${level}</code>${why}</li>`
}
