// Runs all tests, or those in the given files and folders: npm test -- test/client --exclude=test/client/web
import { globSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'

const { include, timeout } = parse(readFileSync('.taprc', 'utf8')) as { include: string[]; timeout: number }
const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory()
const toPattern = (path: string) => (isFolder(path) ? join(path, '**/*.test.ts') : path)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { exclude: { type: 'string', multiple: true, default: [] } },
})
const given = positionals.map(toPattern)
const files = globSync(given.length > 0 ? given : include, { exclude: values.exclude.map(toPattern) }).sort()
if (files.length === 0) t.bailout(`There is no test: ${process.argv.slice(2).join(' ')}`)

// A small file spends most of its time on loading modules and warming up. So up to eight files of a folder share a process.
const groups = Object.values(Object.groupBy(files, path => dirname(path))).flatMap((inFolder = []) => {
  const processes = Math.ceil(inFolder.length / 8)
  return Array.from({ length: processes }, (_, i) => inFolder.filter((_, j) => j % processes === i))
})

// A developer's machine skips tests that need something it does not have, such as Chromium. In CI a skipped test is a failure.
t.options.failSkip = Boolean(process.env.CI)
// The timeout is for one file. All files together take longer.
t.setTimeout(0)
// The loop below decides which groups run at the same time.
t.jobs = groups.length
const env = {
  ...process.env,
  TAP_TIMEOUT: String(timeout),
  TAP_FAIL_SKIP: t.options.failSkip ? '1' : '0',
  // Without this cache, each process would spend most of its start on compiling the same modules.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(import.meta.dirname, '../node_modules/.cache/node'),
}
// tap sets NODE_OPTIONS so that each process and its child processes measure coverage, which takes a third of the CPU time
// of most files. `env` removes that variable.
const [program = '', ...parameters] = [
  ...(process.platform === 'win32' ? [] : ['env', '-u', 'NODE_OPTIONS']),
  process.execPath,
  join(import.meta.dirname, 'test-files.ts'),
]
/** Returns a function that returns how busy the processors have been since this call, from 0 to 1. */
function watchProcessors(): () => number {
  const spent = () => cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
  const left = () => cpus().reduce((sum, { times }) => sum + times.idle, 0)
  const [spentBefore, leftBefore] = [spent(), left()]
  return () => {
    const work = spent() - spentBefore
    return work / (work + left() - leftBefore || 1)
  }
}

// On a signal, tap reports the results so far and stops its processes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => t.endAll())

// At most eight, even on a large machine, because all tests share one browser and one PostgreSQL.
const cores = Math.min(8, availableParallelism())
const running = new Set<Promise<unknown>>()
for (const group of groups) {
  // Most tests wait half of their time. So one more process than cores runs at the same time, and further processes while
  // the cores are idle.
  while (running.size > cores) {
    const busy = watchProcessors()
    await Promise.race([...running, setTimeout(250)])
    if (running.size < 2 * cores + 2 && busy() < 0.9) break
  }
  const run = t.spawn(program, [...parameters, ...group], {
    name: dirname(group[0]!),
    env,
    stdio: 'inherit',
    // Each file has its own timeout, but that timer does not run while the thread is blocked.
    timeout: 2 * timeout * 1000,
    buffered: true,
    // A failure must not name the line of this file that started the process.
    at: null,
    stack: '',
  })
  running.add(run)
  run.finally(() => running.delete(run))
}
