// Starts the client in its own process, for tests of signals, the log and the environment.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { type Dispatcher, request } from 'undici'
import { findFreePort } from '../../support/free-port.ts'
import { readOutput } from '../../support/read-output.ts'
import { readSetCookie } from '../../support/read-set-cookie.ts'
import { TestBrowser } from '../../support/test-browser.ts'
import { clientId, clientSecret, publicUrl } from './build-test-client.ts'
import { productEnvironment } from './product-environment.ts'
import { isPseudo } from './pseudo-texts.ts'

/** The program that starts the client with its own product. */
export const productMain = fileURLToPath(new URL('../../../src/client/main.ts', import.meta.url))
const pseudoTexts = new URL('./pseudo-texts.ts', import.meta.url).href
const tellAddresses = new URL('./tell-addresses.ts', import.meta.url).href
const smallMain = fileURLToPath(new URL('./small-main.ts', import.meta.url))

export type SpawnedClient = Awaited<ReturnType<typeof spawnClient>>

type Options = {
  /**
   * A command that starts the client, such as `underLimit(100)`. With a prefix, the client runs without the
   * NODE_OPTIONS of tap, as in production.
   */
  prefix?: string[]
  /** The program to run. The default is the client with the small product. */
  program?: string
}

/** A prefix that gives the client the heap that Node chooses in a container of 256 MiB. */
export const smallHeap = [
  'NODE_OPTIONS=--max-old-space-size=128 --max-semi-space-size=1',
  `NODE_COMPILE_CACHE=${process.env.NODE_COMPILE_CACHE ?? ''}`,
]

/**
 * Starts the client, and resolves when it listens. The client gets the given settings, and nothing from this machine's
 * environment.
 */
export async function spawnClient(
  t: Test,
  environment: Record<string, string>,
  { prefix, program = smallMain }: Options = {},
) {
  const asInProduction = prefix ? ['-u', 'NODE_OPTIONS', `PATH=${process.env.PATH}`, ...prefix] : []
  const imports = ['--import', tellAddresses, ...(isPseudo ? ['--import', pseudoTexts] : [])]
  // For port 0, the system chooses a port that is free on the first address of localhost. Another program may use this
  // port on the second address.
  const port = environment.HOST === 'localhost' ? await findFreePort() : 0
  const child = spawn('/usr/bin/env', [...asInProduction, process.execPath, ...imports, program], {
    env: {
      ...(isPseudo && { PSEUDO_TEXTS: '1' }),
      HOST: '127.0.0.1',
      PORT: `${port}`,
      PUBLIC_URL: publicUrl,
      LOGIN_URL: 'http://127.0.0.1:1',
      API_URL: 'http://127.0.0.1:1',
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      COOKIE_KEYS: randomBytes(32).toString('base64url'),
      // With the compile cache, the client starts faster. A client with a limit on file descriptors has no descriptor
      // left for the cache.
      ...(!prefix && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
      ...(program === productMain && productEnvironment),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<null, Readable, Readable>
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>
  const { output, closed, waitForOutput } = readOutput(child)
  const addresses = (child.stdio[3] as Readable).setEncoding('utf8')
  let lines = ''
  addresses.on('data', text => (lines += text))
  // If METRICS_PORT is set, the first address is the address of the metrics.
  const own = environment.METRICS_PORT === undefined ? 0 : 1
  const failed = closed.then(() => {
    throw new Error(`The client did not start:\n${output()}`)
  })
  // Prevents an unhandled rejection when the client ends later.
  failed.catch(() => undefined)
  while (lines.split('\n').length < own + 2) await Promise.race([once(addresses, 'data'), failed])
  const [metricsUrl, url] = [lines.split('\n')[0]!, lines.split('\n')[own]!]
  const inject = (options: InjectOptions) =>
    send(url, options).catch(async cause => {
      // The exit code and the output show why a connection failed. A process that crashes closes its connections a
      // moment before it ends.
      await Promise.race([exited, wait(1000, undefined, { ref: false })])
      const state = child.exitCode ?? child.signalCode ?? 'still running'
      throw new Error(`${options.url} failed: ${cause}. The client: ${state}. It printed:\n${output()}`, { cause })
    })
  return {
    child,
    url,
    /** The address of the metrics, if METRICS_PORT is set. */
    metricsUrl,
    /** A TestBrowser can use this object instead of a client in the same process. */
    client: { inject } as unknown as FastifyInstance,
    browser: new TestBrowser({ inject } as unknown as FastifyInstance, publicUrl, () => new Date()),
    exited,
    output,
    /**
     * Sends a GET without Sec-Fetch headers, like curl. `fetch` would add headers which say that the request is not a
     * navigation.
     */
    async get(path: string, headers: Record<string, string> = {}) {
      const { statusCode, headers: answered, body } = await request(url + path, { headers })
      return { statusCode, headers: answered, body: await body.text() }
    },
    /** Returns every line of the log, as an object. */
    log: () =>
      output()
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line) as Record<string, unknown>),
    waitForOutput,
  }
}

/** Sends a request like Fastify's `inject`, but over a new connection. */
async function send(origin: string, { method = 'GET', url, headers, payload }: InjectOptions) {
  const answer = await request(origin + url, {
    method: method as Dispatcher.HttpMethod,
    headers: headers as Record<string, string>,
    body: typeof payload === 'string' ? payload : null,
    reset: true,
  })
  const cookies = [answer.headers['set-cookie'] ?? []].flat().map(readSetCookie)
  return { statusCode: answer.statusCode, headers: answer.headers, cookies, body: await answer.body.text() }
}

/** Resolves when the client listens on this address. spawnClient waits only for the first address. */
export const waitUntilListening = (client: SpawnedClient, address: string) =>
  client.waitForOutput(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:`)
