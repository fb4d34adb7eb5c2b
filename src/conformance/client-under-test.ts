// Starts the client under test and its second instance, or waits for a client that somebody else starts.
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { CannotRun, wasStopped } from './cannot-run.ts'
import { type ClientProcess, startClient } from './client-process.ts'
import { addressOf } from './http-address.ts'
import { recordOutput } from './output-record.ts'
import { sendRaw } from './raw-request.ts'
import type { Settings } from './settings.ts'

export interface ClientUnderTest {
  /** The process of the client. Undefined without --start. */
  clientProcess: ClientProcess | undefined
  /** The process of the second instance. Undefined without `--replica start`. */
  replicaProcess: ClientProcess | undefined
  /** Whether the client answers with a status that means that it is ready. */
  isAnswering(): Promise<boolean>
  /** Whether the client sends any answer. */
  isAlive(): Promise<boolean>
  /** Stops the processes that the suite has started. */
  stop(): Promise<void>
}

export interface StartOptions {
  settings: Settings
  /** The settings of the client, by their names: `LOGIN_URL`, `API_URL` and so on. */
  values: Record<string, string>
  /** Variables that a started client gets in addition to its settings. */
  environment: Record<string, string | undefined>
  /** Ends the wait for the client. */
  stop: AbortSignal | undefined
  /** Called before the suite waits for a client that somebody else starts. */
  onWaiting: (() => void) | undefined
}

/** Starts the client, or waits for it if there is no --start. Resolves when the client answers. Throws CannotRun. */
export function openClient(options: StartOptions): Promise<ClientUnderTest> {
  const { start } = options.settings
  return start === undefined ? awaitClient(options) : startInstances(start, options)
}

async function awaitClient({ settings, stop, onWaiting }: StartOptions): Promise<ClientUnderTest> {
  const loginUrl = settings.client + settings.login
  const { isAnswering, isAlive, whySilent } = askLoginPath(loginUrl)
  onWaiting?.()
  if (!(await waitUntil(isAnswering, settings.waitMs, stop))) {
    const why = whySilent() || `No client answered at ${loginUrl} in ${settings.waitMs / 1000} seconds.`
    throw new CannotRun(stop?.aborted ? wasStopped : why)
  }
  return { clientProcess: undefined, replicaProcess: undefined, isAnswering, isAlive, stop: async () => undefined }
}

async function startInstances(command: string, options: StartOptions): Promise<ClientUnderTest> {
  const { settings, stop } = options
  const { client, replica, startsReplica } = settings
  const { isAnswering, isAlive } = askLoginPath(client + settings.login)
  if (await isAnswering())
    throw new CannotRun(`Another program already answers at ${client}, before the suite has started the client.`)
  const environmentForPort = makeEnvironments(options)
  const record = recordOutput()

  const startInstance = async (origin: string, hint?: string): Promise<ClientProcess> => {
    const { ask, isAnswering, whySilent } = askLoginPath(origin + settings.login)
    let slowestFirstLoginMs = 0
    const waitForClient = (isRunning: () => boolean) => {
      slowestFirstLoginMs = 0
      const isReady = async () => {
        const { status, durationMs } = await ask()
        slowestFirstLoginMs = Math.max(slowestFirstLoginMs, durationMs)
        return status < notReady
      }
      return waitUntil(isReady, settings.waitMs, stop, isRunning)
    }
    const environment = environmentForPort(addressOf(origin).port)
    const started = await startClient(command, environment, waitForClient, { record, isAnswering }).catch(
      (error: Error) => {
        const why = [whySilent(), hint, error.message].filter(Boolean).join('\n')
        throw new CannotRun(stop?.aborted ? wasStopped : why)
      },
    )
    return Object.assign(started, { slowestFirstLoginMs: () => slowestFirstLoginMs })
  }

  const clientProcess = await startInstance(client)
  let replicaProcess: ClientProcess | undefined
  if (startsReplica) {
    const hint = `The second instance of the client does not answer at ${replica}. With --replica start, the client must listen on the port in the environment variable PORT, or in another variable that --env NAME={PORT} names.`
    replicaProcess = await startInstance(replica!, hint).catch(async (error: Error) => {
      await clientProcess.stop()
      throw error
    })
  }
  return {
    clientProcess,
    replicaProcess,
    isAnswering,
    isAlive,
    stop: async () => void (await Promise.all([clientProcess.stop(), replicaProcess?.stop()])),
  }
}

/** Asks again and again. Returns false after `longestMs`, when the signal aborts, or when the client is not running. */
async function waitUntil(
  isReady: () => Promise<boolean>,
  longestMs: number,
  stop: AbortSignal | undefined,
  isRunning = () => true,
): Promise<boolean> {
  const end = performance.now() + longestMs
  while (performance.now() < end && isRunning() && !stop?.aborted) {
    if (await isReady()) return true
    await wait(25)
  }
  return false
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

/**
 * Makes the environment variables for each instance of the client. The returned function takes the port of an instance.
 * The variables are those of this environment, and the client's settings, under the names that the client of this
 * project uses and under the names in --env. All instances get the same random values, so that they have the same keys.
 */
function makeEnvironments({
  settings: { client, env },
  values,
  environment,
}: StartOptions): (port: number) => Record<string, string | undefined> {
  const random = () => randomBytes(32).toString('base64url')
  const cookieKeys = environment.COOKIE_KEYS || random()
  const withRandom = env.map(([name, value]) => [name, value.replaceAll('{RANDOM}', random)] as const)
  return port => {
    const known: Record<string, string> = { ...values, PORT: String(port) }
    const fill = (text: string) => text.replace(/\{([A-Z_]+)\}/g, (whole, name: string) => known[name] ?? whole)
    return {
      ...environment,
      ...known,
      PUBLIC_URL: client,
      COOKIE_KEYS: cookieKeys,
      ...Object.fromEntries(withRandom.map(([name, value]) => [name, fill(value)])),
    }
  }
}
