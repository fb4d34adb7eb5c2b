// The command. It reads the settings, runs the checks, writes the reports, and sets the exit code (exit-code.ts).
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { SettingsError, usage } from './arguments.ts'
import { CannotRun } from './cannot-run.ts'
import type { Check } from './check.ts'
import { checks, pickChecks } from './checks.ts'
import { exitCodeOf } from './exit-code.ts'
import { compareWithExpected } from './expected-failures.ts'
import { problemsOfReportFiles, writeReportFiles } from './report/files.ts'
import { printable } from './report/printable.ts'
import { showProgress } from './report/progress.ts'
import { needsAttention, standingOf } from './report/report.ts'
import { describeFailures, listChecks, summarize } from './report/terminal.ts'
import type { Result } from './result.ts'
import { type RunningClient, type RunOptions, run } from './run.ts'
import { readSettings, type Settings } from './settings.ts'

const say = (text: string) => void process.stdout.write(text)
const isTerminal = Boolean(process.stdout.isTTY)
// A program that reads the output may end early, for example `head`. The run continues, and its exit code is still
// correct.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

try {
  const settings = readSettings(process.argv.slice(2), process.env)
  const picked = pickChecks(settings.only)
  if (picked.length === 0)
    throw new SettingsError([`--only matches none of the ${checks.length} checks. --list prints all checks.`])
  if (settings.isHelp) say(usage)
  else if (settings.isList) say(listChecks(picked))
  else process.exitCode = await runAndReport(settings, picked)
} catch (error) {
  const isForUser = error instanceof SettingsError || error instanceof CannotRun
  // The message may contain output of the client.
  const text = isForUser ? (error as Error).message : ((error as Error).stack ?? '')
  process.stderr.write(`The suite could not run:\n${printable(text)}\n`)
  process.exitCode = 2
}
// End the process here. Otherwise a connection that a client keeps open would keep this process running. Before that,
// wait until both streams are written, because process.exit() drops the text that a pipe has not accepted yet.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>(resolve => stream.write('', () => resolve()))
process.exit()

/** Returns the exit code. */
async function runAndReport(settings: Settings, picked: Check[]): Promise<number> {
  const problems = problemsOfReportFiles(settings)
  if (problems.length > 0) throw new SettingsError(problems)
  const startedAt = new Date()
  const command = [commandName(process.env.npm_lifecycle_event), ...settings.repeat.map(quote)].join(' ')
  // The client runs in a separate process group, so a signal from the terminal does not reach the client.
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  let [progress, roundAt] = [showProgress(picked.length, isTerminal, say), startedAt]
  /** Writes the report of one round. Returns the exit code of the round, and the checks that --watch repeats. */
  const report = (results: Result[]): { exitCode: number; toRepeat: Check[] } => {
    progress.end()
    say('\n')
    const outcome = compareWithExpected(
      results,
      settings.expectFail,
      checks.map(({ id }) => id),
    )
    const all = {
      version: readVersion(),
      client: settings.client,
      startedAt: roundAt,
      durationMs: Date.now() - roundAt.getTime(),
      command,
      results,
      outcome,
      expected: settings.expectFail,
      allowUndecided: settings.allowUndecided,
      exitCode: exitCodeOf(results, outcome, settings.allowUndecided),
    }
    say(describeFailures(all))
    const unwritten = writeReportFiles(settings, all)
    say(summarize(all))
    for (const problem of unwritten) process.stderr.write(`${printable(problem)}\n`)
    const idsToRepeat = new Set(results.filter(result => needsAttention(standingOf(result, all))).map(({ id }) => id))
    const exitCode = unwritten.length > 0 && all.exitCode !== 1 ? 2 : all.exitCode
    return { exitCode, toRepeat: picked.filter(({ id }) => idsToRepeat.has(id)) }
  }
  let exitCode = 0
  const nextRound: RunOptions['nextRound'] = async (results, client) => {
    const { toRepeat, ...reported } = report(results)
    exitCode = reported.exitCode
    const next = toRepeat.length > 0 ? toRepeat : picked
    const some = next.length === 1 ? '1 check runs again' : `${next.length} checks run again`
    const what = toRepeat.length > 0 ? some : 'All checks run again'
    await untilNextRound(client, stop.signal, () =>
      say(
        `\n${what} when the client restarts${isTerminal ? ', or when you press Enter' : ''}. Ctrl+C ends the command.\n`,
      ),
    )
    if (stop.signal.aborted) return undefined
    roundAt = new Date()
    progress = showProgress(next.length, isTerminal, say)
    return next
  }
  const results = await run(picked, settings, process.env, {
    onSettings: values => say(describeSettings(values)),
    onWaiting: () => say(`Waiting for the client at ${settings.client} …\n`),
    onResult: result => progress.result(result),
    stop: stop.signal,
    ...(settings.isWatching && { nextRound }),
  }).finally(() => progress.end())
  return settings.isWatching ? exitCode : report(results).exitCode
}

/**
 * Resolves when one of three things has happened: the client has restarted, somebody has pressed Enter, or the command
 * must end. Calls `onWatching` when it has begun to watch the client, because it does not notice an earlier restart.
 */
async function untilNextRound(client: RunningClient, stop: AbortSignal, onWatching: () => void): Promise<void> {
  const done = new AbortController()
  const signal = AbortSignal.any([stop, done.signal])
  const pressed = async () => {
    if (!process.stdin.isTTY) return new Promise<never>(() => undefined)
    process.stdin.resume()
    await once(process.stdin, 'data', { signal }).catch(() => undefined)
    process.stdin.pause()
    if (!signal.aborted) await client.restart().catch((error: Error) => say(`${printable(error.message)}\n`))
  }
  const ended = once(stop, 'abort', { signal: done.signal }).catch(() => undefined)
  const { restarted } = await client.watchRestarts(signal)
  onWatching()
  await Promise.race([restarted, pressed(), ended])
  done.abort()
}

/** Returns the command with which the user started this program. Reports use it in the command that repeats a check. */
function commandName(event: string | undefined): string {
  if (event === 'npx') return `npx ./application-client-${readVersion()}.tgz conformance`
  if (event) return 'npm run conformance --'
  // In the container image, users type this word after the name of the image: docker run … IMAGE conformance
  return process.argv[1]?.endsWith('bin/application.mjs') ? 'conformance' : 'node src/conformance/main.ts'
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
