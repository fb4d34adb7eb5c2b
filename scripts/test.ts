// Runs tap on all tests, or on the files and folders that it is given: npm test -- test/client
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory()
// In a folder tap itself looks for JavaScript only.
const given = process.argv.slice(2).map(path => (isFolder(path) ? join(path, '**/*.test.ts') : path))
// What a machine of one's own lacks is left out there; where everything has to run, that is a failure.
const strictness = process.env.CI ? ['--fail-skip'] : []
// tap leaves one core idle; most of these tests wait half of their time.
const parallel = `--jobs=${Math.min(8, availableParallelism() + 1)}`
const tap = spawn('tap', [parallel, ...strictness, ...given], {
  stdio: 'inherit',
  // Every file is a process, and most of its start is the reading of the same modules.
  env: { ...process.env, NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/node') },
})
// Whoever is told to stop lets tap stop first, which says how far it came.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal))
const [code] = await once(tap, 'close')
process.exitCode = code ?? 1
