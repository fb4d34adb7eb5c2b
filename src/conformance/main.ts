// The command: settings, a run, reports, and an exit code (exit-code.ts).
import { readFileSync } from 'node:fs'
import { SettingsError, usage } from './arguments.ts'
import { checks, pickChecks } from './checks.ts'
import { exitCodeOf } from './exit-code.ts'
import { compareWithExpected } from './expected-failures.ts'
import { problemsOfReportFiles, writeReportFiles } from './report/files.ts'
import { printable } from './report/printable.ts'
import { showProgress } from './report/progress.ts'
import { describeFailures, listChecks, summarize } from './report/terminal.ts'
import { CannotRun, run } from './run.ts'
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
  const problems = problemsOfReportFiles(settings)
  if (problems.length > 0) throw new SettingsError(problems)
  const startedAt = new Date()
  const command = [commandName(process.env.npm_lifecycle_event), ...settings.repeat.map(quote)].join(' ')
  // The client is a process group of its own, so nothing else would tell it.
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const progress = showProgress(picked.length, Boolean(process.stdout.isTTY), say)
  const results = await run(picked, settings, process.env, {
    onSettings: values => say(describeSettings(values)),
    onWaiting: () => say(`Waiting for the client at ${settings.client} …\n`),
    onResult: progress.result,
    stop: stop.signal,
  }).finally(progress.end)
  say('\n')
  const ids = checks.map(({ id }) => id)
  const outcome = compareWithExpected(results, settings.expectFail, ids)
  const report = {
    version: readVersion(),
    client: settings.client,
    startedAt,
    durationMs: Date.now() - startedAt.getTime(),
    command,
    results,
    outcome,
    expected: settings.expectFail,
    allowUndecided: settings.allowUndecided,
    exitCode: exitCodeOf(results, outcome, settings.allowUndecided),
  }
  say(describeFailures(report))
  const unwritten = writeReportFiles(settings, report)
  say(summarize(report))
  for (const problem of unwritten) process.stderr.write(`${printable(problem)}\n`)
  return unwritten.length > 0 && report.exitCode !== 1 ? 2 : report.exitCode
}

/** How this program was started, so that the command for repeating a check can be copied. */
function commandName(event: string | undefined): string {
  if (event === 'npx') return `npx ./application-client-${readVersion()}.tgz conformance`
  return event ? 'npm run conformance --' : 'node src/conformance/main.ts'
}

function describeSettings(values: Record<string, string>): string {
  const lines = Object.entries(values).filter(([name]) => name !== 'CLIENT_URL')
  return `The client under test needs these settings:\n${lines.map(([name, value]) => `  ${name}=${value}`).join('\n')}\n\n`
}

function quote(text: string): string {
  return /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function readVersion(): string {
  return (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
}
