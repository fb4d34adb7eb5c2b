// Runs tap, and lends its test files what takes long to start. npm test, or npm test -- test/client for a part.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { lenderVariable } from '../test/support/borrow.ts'
import { lend } from '../test/support/lend.ts'

const lender = await lend()
const tap = spawn('tap', process.argv.slice(2), {
  stdio: 'inherit',
  env: {
    ...process.env,
    [lenderVariable]: lender.url,
    // Every file is a process, and most of its start is the reading of the same modules.
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/node'),
  },
})
// Whoever is told to stop first lets tap stop, which says how far it came; only then does what it uses go.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))
const [code] = await once(tap, 'close')
await lender.stop()
process.exitCode = code ?? 1
