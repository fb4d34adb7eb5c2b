// Starts a sandbox in the process of a test or of the conformance suite. The sandbox has free ports, a database in
// memory, one user, one client, and faults on demand.
import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as afterEvents, setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { buildSandbox, type Sandbox } from './app.ts'
import type { SandboxConfig } from './config.ts'
import { describeOrdered } from './lab/faults/orders.ts'
import type { FaultOrder } from './lab/faults/read-order.ts'
import type { LabStep } from './lab/record/recorded.ts'
import { createPasswords } from './people/hash-passwords.ts'
import { onFreePorts, startSandbox } from './start.ts'
import { makeSecret } from './tokens/opaque-token.ts'
import { Secret } from './values/secret.ts'

export interface SandboxOptions {
  /** The addresses at which the client receives codes. */
  redirectUris?: string[]
  clientId?: string | undefined
  clientSecret?: string | undefined
  email?: string
  password?: string
  /** Returns the sandbox's time. A test moves this time forward to make tokens expire. */
  clock?: () => Date
  /** Called when a request has been answered. */
  onStep?: (step: LabStep) => void
  /** Other settings, such as ports, addresses, or `codeSeconds`. */
  config?: Partial<Omit<SandboxConfig, 'seed' | 'lab'>> & { labPort?: number }
}

/** An order for a fault: the fault's name, or an object that can contain more fields. */
export type FaultRequest = string | FaultOrder

export type RunningSandbox = Awaited<ReturnType<typeof createSandbox>>

/** Resolves when all listeners answer. Close the sandbox at the end of the test. */
export async function createSandbox(options: SandboxOptions = {}) {
  const { redirectUris = ['http://localhost:3000/exchangeToken'], clock = () => new Date(), onStep } = options
  const client = { id: options.clientId ?? randomUUID(), secret: options.clientSecret ?? makeSecret(), redirectUris }
  const user = {
    email: options.email ?? 'developer@example.test',
    password: options.password ?? randomBytes(12).toString('base64url'),
  }
  const { labPort = 0, ...config } = options.config ?? {}
  const wanted: SandboxConfig = {
    host: '127.0.0.1',
    portalPort: 0,
    apiPort: 0,
    portalUrl: `http://127.0.0.1:${config.portalPort ?? 0}`,
    apiUrl: `http://127.0.0.1:${config.apiPort ?? 0}`,
    trustedProxies: [],
    maxConnections: 1000,
    accessTokenSeconds: 86_400,
    codeSeconds: 60,
    databaseUrl: new Secret('sqlite::memory:'),
    prestopDelayMs: 0,
    logLevel: 'silent',
    ...config,
    seed: {
      clientId: client.id,
      clientSecret: new Secret(client.secret),
      redirectUris,
      userEmail: user.email,
      userPassword: new Secret(user.password),
    },
    lab: { host: '127.0.0.1', port: labPort, urls: [`http://127.0.0.1:${labPort}`], token: undefined },
  }
  // A weak hash is enough for a password that exists only during the test.
  const passwords = createPasswords({ memory: 8, passes: 1, parallelism: 1 })
  const steps: LabStep[] = []
  const { sandbox, addresses } = await onFreePorts(wanted, async config => {
    const sandbox = await buildSandbox(config, {
      clock,
      passwords,
      logger: pino({ level: config.logLevel }),
      onStep(step) {
        steps.push(step)
        onStep?.(step)
      },
    })
    await startSandbox(sandbox, config)
    const { portalUrl, apiUrl, lab } = config
    return { sandbox, addresses: { portalUrl, apiUrl, labUrl: lab?.urls[0] ?? '' } }
  })
  const faults = sandbox.faults!
  const openRequests = trackOpenRequests(sandbox)

  /**
   * Resolves when all requests so far are recorded. The function waits for open requests, but at most `longestMs`
   * milliseconds. If `longestMs` is left out, the function waits at most 200 milliseconds, and ignores requests that
   * have been open for more than a second.
   */
  async function untilNoted(longestMs?: number): Promise<void> {
    const end = performance.now() + (longestMs ?? 200)
    const isAwaited = (begunAt: number) => longestMs !== undefined || performance.now() - begunAt < hangingMs
    while (openRequests().some(isAwaited) && performance.now() < end) await wait(5)
    // The sandbox records a step only after it has sent the answer, so give the event loop time for this.
    await afterEvents()
    await afterEvents()
  }

  return {
    ...addresses,
    client,
    user,
    /** The environment variables that the client needs. */
    env: {
      LOGIN_URL: addresses.portalUrl,
      API_URL: addresses.apiUrl,
      CLIENT_ID: client.id,
      CLIENT_SECRET: client.secret,
      REDIRECT_URI: redirectUris[0] ?? '',
    },

    faults: {
      /** Orders a fault. Throws an error that names every wrong field. */
      order: (fault: FaultRequest) => describeOrdered(faults.order(typeof fault === 'string' ? { fault } : fault)),
      list: () => faults.list().map(describeOrdered),
      /** Removes the fault with this id, or all faults. */
      remove: (id?: string): number => faults.remove(one => id === undefined || one.id === id),
    },

    /**
     * Returns every request to the portal and the API so far, in the order in which they were answered. A refused
     * request contains the reason for its refusal.
     */
    async requests(): Promise<LabStep[]> {
      await untilNoted()
      return [...steps]
    },

    /**
     * Signs the user in, and stores the user's consent for the client. `url` is the address to which the client has
     * sent the browser. Returns the address to which the portal then redirects the browser.
     */
    async signIn(url: string | URL, { email = user.email } = {}): Promise<string> {
      const answer = await sandbox.lab!.inject({
        method: 'POST',
        url: '/lab/v1/sign-in',
        headers: { host: new URL(addresses.labUrl).host },
        payload: { email, url: String(url) },
      })
      if (answer.statusCode !== 200) throw new Error(`The portal does not sign the user in: ${answer.body}`)
      return answer.json<{ redirectUrl: string }>().redirectUrl
    },

    untilNoted,
    passwords,
    /** The three servers and the store. Tests can call them without a network. */
    servers: sandbox,

    async close(): Promise<void> {
      for (const { server } of [sandbox.portal, sandbox.api]) server.closeAllConnections()
      await sandbox.close()
    },
  }
}

/** A request that has been open for longer than this is probably kept open by a fault. */
const hangingMs = 1000

/** Returns a function that lists the start times of the open requests to the portal and the API. */
function trackOpenRequests({ portal, api }: Sandbox): () => number[] {
  const open = new Map<object, number>()
  for (const { server } of [portal, api])
    server.on('request', (_request, response) => {
      open.set(response, performance.now())
      response.once('close', () => open.delete(response))
    })
  return () => [...open.values()]
}
