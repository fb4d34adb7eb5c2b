// A platform, and an address at which one small client after the other is judged, all in this process.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { launchChromium } from '../../../src/conformance/browser/chromium.ts'
import type { Check } from '../../../src/conformance/check.ts'
import { findObstacle } from '../../../src/conformance/obstacle.ts'
import { startPlatform } from '../../../src/conformance/platform.ts'
import { type Result, type RunParts, runChecks, runOnce } from '../../../src/conformance/run-checks.ts'
import { readSettings } from '../../../src/conformance/settings.ts'
import { findFreePort } from '../../support/free-port.ts'
import { skip as noChromium } from '../../support/launch-chromium.ts'
import type { Settings } from '../clients/visit.ts'

export type Stage = Awaited<ReturnType<typeof openStage>>

/** `options`: those of the command, beside the addresses. */
export async function openStage(options: string[] = [], { hasReplica = true, hasBrowser = true } = {}) {
  // One client after the other listens there, and nothing else may come between.
  const [port, replicaPort] = [await findFreePort(), await findFreePort()]
  const [client, replica] = [`http://localhost:${port}`, `http://localhost:${replicaPort}`]
  // The small clients give up after four seconds.
  const settings = {
    ...readSettings([
      ...['--client', client],
      ...(hasReplica ? ['--replica', replica] : []),
      ...(hasBrowser && !noChromium ? ['--browser', 'chromium'] : []),
      ...options,
    ]),
    patienceMs: 8000,
  }
  const platform = await startPlatform({ ...settings, portalPort: 0, apiPort: 0, labPort: 0 })
  const clientSettings = {
    publicUrl: client,
    loginUrl: platform.portalUrl,
    apiUrl: platform.apiUrl,
    clientId: platform.clientId,
    clientSecret: platform.clientSecret.reveal(),
    key: randomBytes(32),
  }
  /** With two instances of a client at their addresses, which know nothing of each other but their key. */
  async function withClient<Said>(
    build: (settings: Settings) => Server,
    checks: Check[],
    run: (parts: RunParts) => Promise<Said>,
  ): Promise<Said> {
    const isForBrowser = settings.browser && checks.some(({ needs }) => needs?.includes('browser'))
    const chromium = isForBrowser ? await launchChromium(settings.browser!, process.env.PATH ?? '') : undefined
    let output = ''
    let servers: Server[] = []
    const print = (line: string) => {
      output += `${line}\n`
    }
    const start = async () => {
      servers = [port, replicaPort].map(at => build({ ...clientSettings, print }).listen(at, 'localhost'))
      // Where one cannot, the other has to be known all the same: it would go on listening.
      const begun = await Promise.allSettled(servers.map(server => once(server, 'listening')))
      for (const one of begun) if (one.status === 'rejected') throw one.reason
    }
    const stop = async () => {
      for (const server of servers) server.closeAllConnections()
      await Promise.all(servers.map(server => server.listening && once(server.close(), 'close')))
    }
    const restart = async () => {
      await stop()
      await start()
    }
    try {
      await start()
      return await run({
        settings: { ...settings, start: 'in this process' },
        platform,
        chromium,
        clientProcess: { output: () => output, isRunning: () => true, unexpectedEnds: () => [], restart, stop },
        isAnswering: async () => servers.every(server => server.listening),
      })
    } finally {
      await chromium?.close()
      await stop()
    }
  }

  return {
    client,

    /** What the checks say of a client. */
    judge: (build: (settings: Settings) => Server, checks: Check[]): Promise<Result[]> =>
      withClient(build, checks, parts => runChecks(checks, parts)),

    /** The same, but run as the command runs it: it first looks whether a plain login works. */
    judgeRun: (build: (settings: Settings) => Server, checks: Check[]): Promise<Result[]> =>
      withClient(build, checks, async parts => runChecks(checks, { ...parts, obstacle: await findObstacle(parts) })),

    /** What one check says that is made once, where somebody's right to a second look is not the matter. */
    judgeOnce: (build: (settings: Settings) => Server, check: Check): Promise<Result> =>
      withClient(build, [check], parts => runOnce(check, parts, true)),

    close: () => platform.close(),
  }
}
