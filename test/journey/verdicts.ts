// `node test/journey/verdicts.ts [PATTERN]` runs the suite against clients other than the reference client, and prints
// the table in docs/alternatives.md. With a pattern, the command runs only clients whose name matches.
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import { CannotRun } from '../../src/conformance/cannot-run.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { Result } from '../../src/conformance/result.ts'
import { run } from '../../src/conformance/run.ts'
import { readSettings } from '../../src/conformance/settings.ts'
import { buildFaultyClient } from '../conformance/clients/faulty-client.ts'
import { buildOtherClient, otherClientOptions } from '../conformance/clients/other-client.ts'
import type { Settings } from '../conformance/clients/visit.ts'
import { openStage } from '../conformance/support/stage.ts'
import { findFreePort } from '../support/free-port.ts'

type Client = [name: string, judge: () => Promise<Result[]>]

const hasNoPages = ['--page', '', '--create', '', '--logout', '', '--return-to', '']
const hasOnlyList = ['--create', '', '--return-to', '']
const clients: Client[] = [
  ['Sealed cookies on `node:http` (`test/conformance/clients/client.ts`)', here(buildFaultyClient, [])],
  [
    'Sessions in memory, JSON pages (`test/conformance/clients/other-client.ts`)',
    here(buildOtherClient, otherClientOptions),
  ],
  [
    '`@fastify/oauth2`, `@fastify/secure-session` (`bench/conformance/fastify-oauth2.ts`)',
    started('bench/conformance/fastify-oauth2.ts', hasOnlyList),
  ],
  [
    '`openid-client`, `iron-session` (`bench/conformance/openid-client.ts`)',
    started('bench/conformance/openid-client.ts', hasOnlyList),
  ],
  [
    'A client of forty lines, written only from the description of the platform (`test/journey/support/forty-line-client.ts`)',
    // The client runs as a process, because some checks end it.
    started('test/journey/support/forty-line-client.ts', hasNoPages),
  ],
]

const print = (line: string) => void process.stdout.write(`${line}\n`)
try {
  if (!existsSync('bench/node_modules'))
    throw new CannotRun('Two of the clients need packages that only bench/ has. Run this first: npm ci --prefix bench')
  await printTable(new RegExp(process.argv[2] ?? ''))
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stderr.write(`${error.message}\n`)
  // Exit immediately, because otherwise the checks that are still running would continue and start the client again.
  process.exit(2)
}

async function printTable(pattern: RegExp): Promise<void> {
  print('| Client | Passed | Failed | Warned | Not applicable | Undecided | Failures by group |')
  print('|---|---|---|---|---|---|---|')
  for (const [name, judge] of clients.filter(([text]) => pattern.test(text))) print(rowOf(name, await judge()))
}

function rowOf(name: string, results: Result[]): string {
  const count = (verdict: string) => results.filter(result => result.verdict === verdict).length
  const counts = ['passed', 'failed', 'warned', 'not applicable', 'undecided'].map(count)
  const failed = Map.groupBy(
    results.filter(({ verdict }) => verdict === 'failed'),
    ({ group }) => group,
  )
  const failures = [...failed].map(([group, members]) => `${group} ${members.length}`)
  return `| ${[name, ...counts, failures.join(', ') || 'nothing'].join(' | ')} |`
}

function here(build: (settings: Settings) => Server, options: string[]): Client[1] {
  return async () => {
    const stage = await openStage(options, { hasReplica: options.length === 0, hasBrowser: false })
    const results = await stage.judge(build, checks)
    await stage.close()
    return results
  }
}

/** Starts the client like `npm run conformance -- --start`. */
function started(file: string, options: string[]): Client[1] {
  return async () => {
    const client = [
      '--client',
      `http://localhost:${await findFreePort()}`,
      '--start',
      `exec '${process.execPath}' ${file}`,
    ]
    const ports = ['--portal-port', '0', '--api-port', '0', '--lab-port', '0']
    const settings = readSettings([...client, ...ports, ...options])
    // The client has a process group of its own, so Ctrl-C does not reach it.
    const stop = new AbortController()
    const end = () => stop.abort()
    process.once('SIGINT', end).once('SIGTERM', end)
    try {
      return await run(checks, settings, process.env, { stop: stop.signal })
    } finally {
      process.off('SIGINT', end).off('SIGTERM', end)
    }
  }
}
