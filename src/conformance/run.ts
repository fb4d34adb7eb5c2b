// Runs the suite: starts the platform and, with --start, the client, runs the checks, and stops both programs.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchChromium, NoChromium } from './browser/chromium.ts'
import { CannotRun, wasStopped } from './cannot-run.ts'
import type { Check } from './check.ts'
import { watchRestarts } from './client-restarts.ts'
import { type ClientUnderTest, openClient } from './client-under-test.ts'
import { forwardTo } from './forward.ts'
import { findObstacle } from './obstacle.ts'
import type { Platform } from './platform.ts'
import type { Result } from './result.ts'
import { type ChecksOptions, runChecks } from './run-checks.ts'
import type { Settings } from './settings.ts'

export interface RunOptions {
  /** Called with the settings that the client needs, keyed by their names. */
  onSettings?: (values: Record<string, string>) => void
  onWaiting?: () => void
  onResult?: (result: Result) => void
  /** Aborts the run and stops everything that it started. */
  stop?: AbortSignal
  /**
   * Called after each round. Returns the checks that run again, or undefined to end the run. The new results replace
   * the earlier results of these checks.
   */
  nextRound?: (results: Result[], client: RunningClient) => Promise<Check[] | undefined>
}

/**
 * Functions that the command uses between two rounds of --watch, to wait for a restart of the client or to restart it.
 */
export interface RunningClient {
  /**
   * Begins to watch the client. Afterwards, `restarted` resolves when somebody has restarted the client, or when the
   * signal aborts.
   */
  watchRestarts(signal: AbortSignal): Promise<{ restarted: Promise<void> }>
  /** Restarts the client if it was started with --start. */
  restart(): Promise<void>
}

/** `environment`: variables that the started client gets in addition to its settings. Throws CannotRun. */
export async function run(
  checks: Check[],
  given: Settings,
  environment: Record<string, string | undefined> = {},
  { onSettings, onWaiting, onResult, stop, nextRound }: RunOptions = {},
): Promise<Result[]> {
  // Starts the browser first, because this step fails if Chromium or the package playwright-core is not installed.
  const chromium = given.browser === undefined ? undefined : await startChromium(given.browser, environment.PATH)
  const settings = given.startsReplica ? { ...given, replica: await chooseAddress(given.client) } : given
  // Imports the sandbox only now, because it loads slowly. With --help, --list or a wrong option, the command does not
  // need it.
  const { startPlatform } = await import('./platform.ts')
  const start = () => startPlatform(settings)
  const platform = await start()
    // Another run of the suite may have taken the same port at the same time.
    .catch((error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? start() : Promise.reject(error)))
    .catch(async (error: Error) => {
      await chromium?.close()
      throw new CannotRun(`The platform did not start: ${error.message}`)
    })
  // The suite restarts the client about thirty times. With this cache, a client in Node starts in half the time. Other
  // clients ignore the variable.
  const compiled = mkdtempSync(join(tmpdir(), 'conformance-'))
  let forward: Awaited<ReturnType<typeof forwardTo>> | undefined
  let client: ClientUnderTest | undefined
  try {
    if (settings.clientAt !== undefined) forward = await openForward(settings.client, settings.clientAt)
    const values = clientSettings(settings, platform)
    onSettings?.(values)
    // Without PYTHONUNBUFFERED, a program in Python writes to a pipe only after it has printed some kilobytes.
    const defaults = { NODE_COMPILE_CACHE: compiled, PYTHONUNBUFFERED: '1' }
    client = await openClient({ settings, values, environment: { ...defaults, ...environment }, stop, onWaiting })
    const parts = { settings, platform, chromium, ...client, ...(onResult && { onResult }) }
    return await runRounds(checks, parts, { stop, nextRound })
  } finally {
    await chromium?.close()
    await client?.stop()
    await forward?.close()
    await platform.close()
    rmSync(compiled, { recursive: true, force: true })
  }
}

/** Runs the checks, and then the checks that `nextRound` returns, until it returns undefined or the run is stopped. */
async function runRounds(
  checks: Check[],
  parts: ChecksOptions,
  { stop, nextRound }: Pick<RunOptions, 'stop' | 'nextRound'>,
): Promise<Result[]> {
  const { settings, clientProcess, replicaProcess, isAnswering } = parts
  const stopped = new Promise<never>((_, reject) => {
    const end = () => reject(new CannotRun(wasStopped))
    if (stop?.aborted) end()
    else stop?.addEventListener('abort', end)
  })
  // Prevents an unhandled rejection while no code waits for this promise.
  stopped.catch(() => undefined)
  const runRound = async (round: Check[], outputStart?: number) => {
    const obstacle = await findObstacle({ ...parts, outputStart })
    return runChecks(round, { ...parts, obstacle, outputStart })
  }
  const client: RunningClient = {
    watchRestarts: watchRestarts(settings.client, isAnswering).begin,
    restart: async () => {
      // One after the other, because the command may build the client in its folder.
      await clientProcess?.restart()
      await replicaProcess?.restart()
    },
  }
  let results = await Promise.race([runRound(checks), stopped])
  for (;;) {
    // The next round includes what the client prints when it starts again.
    const outputStart = clientProcess?.outputEnd()
    const next = await nextRound?.(results, client)
    if (!next) return results
    const again = await Promise.race([runRound(next, outputStart), stopped])
    const byId = new Map(again.map(result => [result.id, result]))
    results = results.map(result => byId.get(result.id) ?? result)
  }
}

function openForward(client: string, clientAt: string) {
  return forwardTo(client, clientAt).catch((error: Error) => {
    throw new CannotRun(`With --client-at, the suite must listen at ${client}: ${error.message}`)
  })
}

function startChromium(wanted: string, path = '') {
  return launchChromium(wanted, path).catch((error: Error) => {
    throw error instanceof NoChromium ? new CannotRun(error.message) : error
  })
}

function clientSettings(settings: Settings, platform: Platform): Record<string, string> {
  return {
    LOGIN_URL: platform.portalUrl,
    API_URL: platform.apiUrl,
    CLIENT_ID: platform.clientId,
    CLIENT_SECRET: platform.clientSecret.reveal(),
    REDIRECT_URI: platform.redirectUri,
    CLIENT_URL: settings.client,
  }
}

/** Chooses an address for a second instance of the client: the same host, with a free port. */
async function chooseAddress(client: string): Promise<string> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return Object.assign(new URL(client), { port: String(port) }).origin
}
