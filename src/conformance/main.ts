// The command: settings, a run, reports, and an exit code (exit-code.ts).
import { readFileSync, writeFileSync } from 'node:fs'
import { SettingsError, usage } from './arguments.ts'
import { checks, pickChecks } from './checks.ts'
import { exitCodeOf } from './exit-code.ts'
import { compareWithExpected } from './expected-failures.ts'
import { toHtml } from './report/html.ts'
import { toJson } from './report/json.ts'
import { toJunit } from './report/junit.ts'
import { printable } from './report/printable.ts'
import { describeFailure, listChecks, summarize } from './report/terminal.ts'
import { CannotRun, run } from './run.ts'
import type { Result } from './run-checks.ts'
import { readSettings, type Settings } from './settings.ts'

const say = (text: string) => process.stdout.write(text)

try {
  const settings = readSettings(process.argv.slice(2), process.env)
  const picked = pickChecks(settings.only)
  if (picked.length === 0) throw new SettingsError([`--only picks none of ${checks.length} checks; see --list`])
  if (settings.isHelp) say(usage)
  else if (settings.isList) say(listChecks(picked))
  else process.exitCode = await judge(settings, picked)
} catch (error) {
  const isForUser = error instanceof SettingsError || error instanceof CannotRun
  // The message may hold what the client has printed.
  const text = isForUser ? (error as Error).message : ((error as Error).stack ?? '')
  process.stderr.write(`It could not run:\n${printable(text)}\n`)
  process.exitCode = 2
}
// A connection that a client keeps open is no reason to stay.
if (!process.argv.some(argument => ['--list', '--help', '-h'].includes(argument))) process.exit()

async function judge(settings: Settings, picked: typeof checks): Promise<number> {
  const startedAt = new Date()
  const command = [
    process.env.npm_lifecycle_event ? 'npm run conformance --' : 'node src/conformance/main.ts',
    ...settings.repeat.map(quote),
  ].join(' ')
  let count = 0
  // The client is a process group of its own, so nothing else would tell it.
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const results = await run(picked, settings, process.env, {
    onSettings: values => say(describeSettings(values)),
    onWaiting: () => say(`Waiting for the client at ${settings.client} …\n`),
    onResult: result => say(progress(++count, picked.length, result)),
    stop: stop.signal,
  })
  if (process.stdout.isTTY) say('\r\x1b[K')
  say('\n')
  const report = {
    version: readVersion(),
    client: settings.client,
    startedAt,
    durationMs: Date.now() - startedAt.getTime(),
    command,
    results,
  }
  for (const result of results)
    if (result.isError || ['failed', 'warned'].includes(result.verdict)) say(`${describeFailure(result, command)}\n`)
  const outcome = compareWithExpected(
    results,
    settings.expectFail,
    checks.map(({ id }) => id),
  )
  const files = [
    [settings.json, toJson],
    [settings.junit, toJunit],
    [settings.html, toHtml],
  ] as const
  for (const [path, write] of files) if (path !== undefined) writeFileSync(path, write(report))
  say(summarize(report, outcome))
  return exitCodeOf(results, outcome, settings.allowUndecided)
}

function describeSettings(values: Record<string, string>): string {
  const lines = Object.entries(values).filter(([name]) => name !== 'CLIENT_URL')
  return `The client under test needs these settings:\n${lines.map(([name, value]) => `  ${name}=${value}`).join('\n')}\n\n`
}

/** A terminal has one line of it; a file has a line for each check that somebody has to look at. */
function progress(count: number, total: number, { id, verdict }: Result): string {
  if (process.stdout.isTTY) return `\r\x1b[K${count} of ${total}: ${id}`
  return ['passed', 'not applicable'].includes(verdict) ? '' : `${verdict}: ${id}\n`
}

function quote(text: string): string {
  return /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function readVersion(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
}
