// The report as one file that can be mailed: no script, nothing loaded.
import { groups } from '../checks.ts'
import type { Result } from '../run-checks.ts'
import { printable } from './printable.ts'
import { countLine, type Report } from './report.ts'

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

/** Failures first, each with its evidence; then every check by group. */
export function toHtml({ version, client, startedAt, durationMs, command, results }: Report): string {
  const loud = results.filter(({ verdict, isError }) => verdict === 'failed' || verdict === 'warned' || isError)
  const sections = groups.flatMap(({ id: group, title }) => {
    const own = results.filter(result => result.group === group)
    return own.length === 0
      ? []
      : [`<h2>${escapeHtml(title)}</h2>\n<p>${countLine(own, true)}</p>\n<ul>\n${own.map(line).join('\n')}\n</ul>`]
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance of ${escapeHtml(client)}</title>
<style>${style}
</style>
<h1>Conformance of ${escapeHtml(client)}</h1>
<p><strong>${countLine(results)}</strong></p>
<p>Suite ${escapeHtml(version)}, ${startedAt.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(durationMs / 1000)} seconds. A check plays the browser
and the platform around the client, and judges by what both see. What failed is a MUST, what is warned of a SHOULD; each says why it
matters. Secrets stand here as hashes: equal ones are equal values.</p>
${loud.length > 0 ? `<h2>What to fix</h2>\n${loud.map(result => article(result, command)).join('\n')}` : '<p>Nothing to fix.</p>'}
${sections.join('\n')}
</html>
`
}

function article({ id, title, level, verdict, reason, why, fix, evidence }: Result, command: string): string {
  const shown = evidence.map(text => `<pre>${escapeHtml(text)}</pre>`).join('\n')
  return `<article class="${verdict}" id="${escapeHtml(id)}">
<h3><b>${verdict}</b> ${escapeHtml(title)} <code>${escapeHtml(id)}, ${level}</code></h3>
<dl><dt>Seen</dt><dd>${escapeHtml(reason)}</dd><dt>Why</dt><dd>${escapeHtml(why)}</dd><dt>Fix</dt><dd>${escapeHtml(fix)}</dd><dt>Again</dt><dd><code>${escapeHtml(`${command} --only '^${id}$'`)}</code></dd></dl>
${shown && `<details open><summary>What happened</summary>\n${shown}\n</details>`}
</article>`
}

function line({ id, title, level, verdict, reason }: Result): string {
  const why = verdict === 'not applicable' || verdict === 'undecided' ? `: ${escapeHtml(reason)}` : ''
  return `<li class="${verdict.replace(' ', '-')}"><b>${verdict}</b> ${escapeHtml(title)} <code>${escapeHtml(id)}, ${level}</code>${why}</li>`
}

function escapeHtml(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
