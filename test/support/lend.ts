// Starts what test files borrow, when the first of them asks, and stops it after the last.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startPostgres } from '../sandbox/support/start-postgres.ts'
import type { Lent } from './borrow.ts'
import { serveChromium } from './launch-chromium.ts'
import type { Teardown } from './teardown.ts'

const starts: Record<Lent, (t: Teardown) => Promise<string>> = {
  postgres: async t => (await startPostgres(t, { isShared: true })).url,
  chromium: async t => (await serveChromium(t)).wsEndpoint(),
}

/** `url` goes into the environment of the test files. */
export async function lend(): Promise<{ url: string; stop(): Promise<void> }> {
  const stops: (() => Promise<void>)[] = []
  const scope: Teardown = { teardown: stop => void stops.unshift(stop) }
  const started = new Map<Lent, Promise<string>>()
  const server = createServer(async (request, response) => {
    const what = request.url?.slice(1) as Lent
    try {
      if (!started.has(what)) started.set(what, starts[what](scope))
      response.end(await started.get(what))
    } catch (error) {
      response.writeHead(500).end(`${what} did not start: ${error}`)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      await Promise.allSettled(started.values())
      for (const stop of stops) await stop()
    },
  }
}
