// Runs the suite: starts the platform and, with --start, the client, runs the checks, and stops both programs.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { launchChromium, NoChromium } from './browser/chromium.ts'
import type { Check } from './check.ts'
import { type ClientProcess, startClient } from './client-process.ts'
import { watchRestarts } from './client-restarts.ts'
import { forwardTo } from './forward.ts'
import { addressOf } from './http-address.ts'
import { findObstacle } from './obstacle.ts'
import { recordOutput } from './output-record.ts'
import type { Platform } from './platform.ts'
import { sendRaw } from './raw-request.ts'
import type { Result } from './result.ts'
import { runChecks } from './run-checks.ts'
import type { Settings } from './settings.ts'

/** Thrown if the run could not begin. The message says why. */
export class CannotRun extends Error {}

const wasStopped = 'The run was stopped.'

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
  let clientProcess: ClientProcess | undefined
  let replicaProcess: ClientProcess | undefined
  const stopped = new Promise<never>((_, reject) =>
    stop?.addEventListener('abort', () => reject(new CannotRun(wasStopped))),
  )
  // Prevents an unhandled rejection while no code waits for this promise.
  stopped.catch(() => undefined)
  try {
    if (settings.clientAt !== undefined)
      forward = await forwardTo(settings.client, settings.clientAt).catch((error: Error) => {
        throw new CannotRun(`With --client-at, the suite must listen at ${settings.client}: ${error.message}`)
      })
    const values = clientSettings(settings, platform)
    onSettings?.(values)
    const loginUrl = settings.client + settings.login
    const { ask, isAnswering, isAlive, whySilent } = askLoginPath(loginUrl)
    /** Asks again and again, until the client answers, has ended or has taken too long. */
    const untilReady = async (isReady: () => Promise<boolean>, isRunning: () => boolean) => {
      const end = performance.now() + settings.waitMs
      while (performance.now() < end && isRunning() && !stop?.aborted) {
        if (await isReady()) return true
        await wait(25)
      }
      return false
    }
    let slowestFirstLoginMs = 0
    const waitForClient = (isRunning: () => boolean) => {
      slowestFirstLoginMs = 0
      return untilReady(async () => {
        const { status, durationMs } = await ask()
        slowestFirstLoginMs = Math.max(slowestFirstLoginMs, durationMs)
        return status < notReady
      }, isRunning)
    }
    if (settings.start) {
      if (await isAnswering())
        throw new CannotRun(
          `Another program already answers at ${settings.client}, before the suite has started the client.`,
        )
      // Without PYTHONUNBUFFERED, a program in Python writes to a pipe only after it has printed some kilobytes.
      const defaults = { NODE_COMPILE_CACHE: compiled, PYTHONUNBUFFERED: '1' }
      const environmentForPort = makeEnvironments(values, settings, environment)
      const environmentAt = (url: string) => ({
        ...defaults,
        ...environment,
        ...environmentForPort(addressOf(url).port),
      })
      const record = recordOutput()
      const started = await startClient(settings.start, environmentAt(settings.client), waitForClient, {
        record,
        isAnswering,
      }).catch((error: Error) => {
        throw new CannotRun(stop?.aborted ? wasStopped : [whySilent(), error.message].filter(Boolean).join('\n'))
      })
      clientProcess = Object.assign(started, { slowestFirstLoginMs: () => slowestFirstLoginMs })
      if (settings.startsReplica) {
        const replica = settings.replica!
        const atReplica = askLoginPath(replica + settings.login)
        const waitForReplica = (isRunning: () => boolean) => untilReady(atReplica.isAnswering, isRunning)
        replicaProcess = await startClient(settings.start, environmentAt(replica), waitForReplica, {
          record,
          isAnswering: atReplica.isAnswering,
        }).catch((error: Error) => {
          const why = `The second instance of the client does not answer at ${replica}. With --replica start, the client must listen on the port in the environment variable PORT, or in another variable that --env NAME={PORT} names.`
          throw new CannotRun(
            stop?.aborted ? wasStopped : [atReplica.whySilent(), why, error.message].filter(Boolean).join('\n'),
          )
        })
      }
    } else {
      onWaiting?.()
      if (!(await waitForClient(() => true)))
        throw new CannotRun(
          stop?.aborted
            ? wasStopped
            : whySilent() || `No client answered at ${loginUrl} in ${settings.waitMs / 1000} seconds.`,
        )
    }
    const processes = { clientProcess, replicaProcess }
    const parts = { settings, platform, chromium, ...processes, isAnswering, isAlive, ...(onResult && { onResult }) }
    const runRound = (round: Check[], outputStart?: number) => {
      const running = findObstacle(parts).then(obstacle => runChecks(round, { ...parts, obstacle, outputStart }))
      return Promise.race([running, stopped])
    }
    const client: RunningClient = {
      watchRestarts: watchRestarts(settings.client, isAnswering).begin,
      restart: async () => {
        // One after the other, because the command may build the client in its folder.
        await clientProcess?.restart()
        await replicaProcess?.restart()
      },
    }
    let results = await runRound(checks)
    for (;;) {
      // The next round includes what the client prints when it starts again.
      const outputStart = clientProcess?.outputEnd()
      const next = await nextRound?.(results, client)
      if (!next) return results
      const again = new Map((await runRound(next, outputStart)).map(result => [result.id, result]))
      results = results.map(result => again.get(result.id) ?? result)
    }
  } finally {
    await chromium?.close()
    await Promise.all([clientProcess?.stop(), replicaProcess?.stop()])
    await forward?.close()
    await platform.close()
    rmSync(compiled, { recursive: true, force: true })
  }
}

function startChromium(wanted: string, path = '') {
  return launchChromium(wanted, path).catch((error: Error) => {
    throw error instanceof NoChromium ? new CannotRun(error.message) : error
  })
}

/** A status of 502 or more means that the client is not ready yet. */
const notReady = 502

/** The time limit for one answer from the client, in milliseconds. Visitors do not wait longer. */
const longestAnswerMs = 5000

/**
 * Returns functions that ask the login path of the client for an answer. These functions throw CannotRun if further
 * attempts cannot succeed.
 */
function askLoginPath(url: string) {
  let isSlow = false
  /** If there is no answer, the status is 502, as from a proxy in front of the client. */
  const ask = async () => {
    const { response, durationMs } = await sendRaw(url, {
      timeoutMs: longestAnswerMs,
      headers: { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    })
    if ('status' in response) return { status: response.status, durationMs }
    const why = whyNoTls(url, response.error)
    if (why !== undefined) throw new CannotRun(why)
    if (durationMs >= longestAnswerMs) isSlow = true
    return { status: 502, durationMs }
  }
  return {
    ask,
    isAnswering: async () => (await ask()).status < notReady,
    /**
     * A proxy answers 502 or 504 if the client behind it is not running. Any other status comes from the client itself,
     * even if the client is busy.
     */
    isAlive: async () => ![502, 504].includes((await ask()).status),
    /** Returns a sentence if the client was too slow to answer, and otherwise an empty string. */
    whySilent: () =>
      isSlow
        ? `The client is too slow: it did not answer ${url} within ${longestAnswerMs / 1000} seconds. Find out what the client waits for, for example a DNS answer or a connection to another server.`
        : '',
  }
}

/**
 * Returns why this TLS connection can never work, and how to fix the problem. Returns undefined if another attempt may
 * work.
 */
function whyNoTls(url: string, error: string): string | undefined {
  const { origin, hostname } = new URL(url)
  if (!url.startsWith('https:')) return undefined
  if (/wrong version number|packet length too long/i.test(error))
    return `${origin} does not speak https. If the client uses plain http, run the command with --client ${origin.replace('https:', 'http:')}`
  // All messages of OpenSSL about certificates contain this word.
  if (!error.includes('certificate')) return undefined
  const trust =
    'To trust it, set this variable to a file that contains the certificate or the certificate of its authority: NODE_EXTRA_CA_CERTS=certificate.pem'
  if (/self-signed/i.test(error))
    return `The certificate of ${origin} is not trusted (${error}): it is self-signed. ${trust}`
  if (/altnames/i.test(error))
    return `The certificate of ${origin} is for another name (${error}). Use the name in the certificate for --client, or make a certificate for ${hostname}.`
  if (/expired|not yet valid/i.test(error))
    return `The certificate of ${origin} cannot be used now (${error}). Make a new certificate, and check the clock of this machine.`
  return `The certificate of ${origin} is not trusted (${error}). ${trust}`
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

/**
 * Makes the environment variables for each instance of the client. The returned function takes the port of an instance.
 * The variables are the client's settings, under the names that the client of this project uses, and under the names in
 * --env. All instances get the same random values, so that they have the same keys.
 */
function makeEnvironments(
  values: Record<string, string>,
  { client, env }: Settings,
  environment: Record<string, string | undefined>,
): (port: number) => Record<string, string> {
  const random = () => randomBytes(32).toString('base64url')
  const cookieKeys = environment.COOKIE_KEYS || random()
  const withRandom = env.map(([name, value]) => [name, value.replaceAll('{RANDOM}', random)] as const)
  return port => {
    const known: Record<string, string> = { ...values, PORT: String(port) }
    const fill = (text: string) => text.replace(/\{([A-Z_]+)\}/g, (whole, name: string) => known[name] ?? whole)
    return {
      ...known,
      PUBLIC_URL: client,
      COOKIE_KEYS: cookieKeys,
      ...Object.fromEntries(withRandom.map(([name, value]) => [name, fill(value)])),
    }
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
