// A stage: a platform, and an address for small clients in this process. A test judges one client after the other at
// this address.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Browser } from 'playwright-core'
import { attempt } from '../../../src/conformance/attempt.ts'
import { launchChromium } from '../../../src/conformance/browser/chromium.ts'
import type { Check } from '../../../src/conformance/check.ts'
import type { ChangedSettings } from '../../../src/conformance/client-process.ts'
import { watchClient } from '../../../src/conformance/client-watch.ts'
import { findObstacle } from '../../../src/conformance/obstacle.ts'
import { recordOutput } from '../../../src/conformance/output-record.ts'
import { startPlatform } from '../../../src/conformance/platform.ts'
import type { Result } from '../../../src/conformance/result.ts'
import { type ChecksOptions, runChecks } from '../../../src/conformance/run-checks.ts'
import { readSettings } from '../../../src/conformance/settings.ts'
import { watchStandstills } from '../../../src/conformance/standstills.ts'
import { findFreePorts } from '../../support/free-port.ts'
import { skip as noChromium } from '../../support/launch-chromium.ts'
import type { Settings } from '../clients/visit.ts'

export type Stage = Awaited<ReturnType<typeof openStage>>

export interface StageSettings {
  hasReplica?: boolean
  hasBrowser?: boolean
  /** The name of the client's host. */
  host?: string
  /** Returns a running Chromium. By default, the stage starts its own Chromium, as the command does. */
  shareChromium?: (() => Promise<Browser>) | undefined
}

/** Opens a stage. `options`: options of the conformance command, without the addresses. */
export async function openStage(
  options: string[] = [],
  { hasReplica = true, hasBrowser = true, host = 'localhost', shareChromium }: StageSettings = {},
) {
  // Chooses the ports only once, because the clients listen on them one after the other.
  const [port, replicaPort] = await findFreePorts(2)
  const [client, replica] = [`http://${host}:${port}`, `http://${host}:${replicaPort}`]
  // patienceMs is longer than the four seconds after which the small clients end a call.
  const settings = {
    ...readSettings([
      ...['--client', client],
      ...(hasReplica ? ['--replica', replica] : []),
      ...(hasBrowser && !noChromium ? ['--browser', 'chromium'] : []),
      ...options,
    ]),
    patienceMs: 12_000,
  }
  const platform = await startPlatform({ ...settings, portalPort: 0, apiPort: 0, labPort: 0 })
  const clientSettings = {
    publicUrl: client,
    loginUrl: platform.portalUrl,
    apiUrl: platform.apiUrl,
    redirectUri: platform.redirectUri,
    clientId: platform.clientId,
    clientSecret: platform.clientSecret.reveal(),
    key: randomBytes(32),
  }
  // All clients of a stage share one Chromium, because starting it takes longer than a check. Each window of a check
  // has its own cookies and cache.
  let ownChromium: Promise<Browser> | undefined
  const startChromium = () => (ownChromium ??= launchChromium(settings.browser!, process.env.PATH ?? ''))
  /** Starts two instances of a client that share only their key, calls `run`, and stops the instances. */
  async function withClient<Said>(
    build: (settings: Settings) => Server,
    checks: Check[],
    run: (parts: ChecksOptions) => Promise<Said>,
  ): Promise<Said> {
    const isForBrowser = settings.browser && checks.some(({ needs }) => needs?.includes('browser'))
    const printed = recordOutput()
    let servers: Server[] = []
    const print = (line: string) => printed.add(`${line}\n`)
    const start = async ({ CLIENT_ID, LOGIN_URL, API_URL, REDIRECT_URI, CLIENT_URL }: ChangedSettings = {}) => {
      const changed = {
        ...(CLIENT_ID && { clientId: CLIENT_ID }),
        ...(LOGIN_URL && { loginUrl: LOGIN_URL }),
        ...(API_URL && { apiUrl: API_URL }),
        ...(REDIRECT_URI && { redirectUri: REDIRECT_URI }),
        // The redirect URI contains the address of the client. startClient, too, replaces the address in all settings.
        ...(CLIENT_URL && { publicUrl: CLIENT_URL, redirectUri: platform.redirectUri.replace(client, CLIENT_URL) }),
      }
      servers = [port, replicaPort].map(at => build({ ...clientSettings, ...changed, print }).listen(at, 'localhost'))
      // Waits for both servers, because if one of them does not start, the other server must still be closed.
      const begun = await Promise.allSettled(servers.map(server => once(server, 'listening')))
      for (const one of begun) if (one.status === 'rejected') throw one.reason
    }
    const stop = async () => {
      for (const server of servers) server.closeAllConnections()
      await Promise.all(servers.map(server => server.listening && once(server.close(), 'close')))
    }
    const restart = async (changed?: ChangedSettings) => {
      await stop()
      await start(changed)
    }
    try {
      await start()
      return await run({
        settings: { ...settings, start: 'in this process' },
        platform,
        chromium: isForBrowser ? await (shareChromium ?? startChromium)() : undefined,
        clientProcess: { ...printed, isRunning: () => true, unexpectedEnds: () => [], restart, stop },
        isAnswering: async () => servers.every(server => server.listening),
      })
    } finally {
      await stop()
    }
  }

  return {
    client,

    /** Runs the checks for a client, and returns the results. */
    judge: (build: (settings: Settings) => Server, checks: Check[]): Promise<Result[]> =>
      withClient(build, checks, parts => runChecks(checks, parts)),

    /** Like judge, but first tries a plain login, as the command does. */
    judgeRun: (build: (settings: Settings) => Server, checks: Check[]): Promise<Result[]> =>
      withClient(build, checks, async parts => runChecks(checks, { ...parts, obstacle: await findObstacle(parts) })),

    /** Runs one check only once, without repeating it after a failure. */
    judgeOnce: (build: (settings: Settings) => Server, check: Check): Promise<Result> =>
      withClient(build, [check], async parts => {
        parts.platform.beginRound(parts.clientProcess?.outputEnd() ?? 0)
        const watches = { clientWatch: watchClient(parts), standstills: watchStandstills() }
        const { result } = await attempt(check, parts, watches, true)
        watches.standstills.stop()
        return result
      }),

    async close() {
      await (await ownChromium)?.close()
      await platform.close()
    },
  }
}
