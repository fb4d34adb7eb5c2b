// Runs all tests, or those of the files and folders that it is given: npm test -- test/client --exclude=test/client/web
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

// Reading modules and warming up is most of what a small file takes. So up to eight of a folder share a process.
const groups = Object.values(Object.groupBy(files, path => dirname(path))).flatMap((inFolder = []) => {
  const processes = Math.ceil(inFolder.length / 8)
  return Array.from({ length: processes }, (_, i) => inFolder.filter((_, j) => j % processes === i))
})

// What a machine of one's own lacks is left out there; where everything has to run, that is a failure.
t.options.failSkip = Boolean(process.env.CI)
// All of them take longer than one may.
t.setTimeout(0)
// Which run beside each other is decided below.
t.jobs = groups.length
const env = {
  ...process.env,
  TAP_TIMEOUT: String(timeout),
  TAP_FAIL_SKIP: t.options.failSkip ? '1' : '0',
  // Most of the start of a process is the reading of the same modules.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(import.meta.dirname, '../node_modules/.cache/node'),
}
// tap's own runner has each process, and whatever that starts, load what measures coverage: a third of the processor time
// of most files. By way of env, because it adds that to whatever it starts directly, too.
const [program = '', ...parameters] = [
  ...(process.platform === 'win32' ? [] : ['env', '-u', 'NODE_OPTIONS']),
  process.execPath,
  join(import.meta.dirname, 'test-files.ts'),
]
/** How busy the processors have been since, from 0 to 1. */
function watchProcessors(): () => number {
  const spent = () => cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
  const left = () => cpus().reduce((sum, { times }) => sum + times.idle, 0)
  const [spentBefore, leftBefore] = [spent(), left()]
  return () => {
    const work = spent() - spentBefore
    return work / (work + left() - leftBefore || 1)
  }
}

// Whoever is told to stop says how far it came, and leaves nothing running.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => t.endAll())

// Of a large machine a part: they share one browser and one PostgreSQL.
const cores = Math.min(8, availableParallelism())
const running = new Set<Promise<unknown>>()
for (const group of groups) {
  // Most tests wait half of their time. So one more than there are cores, and more while those have nothing to do.
  while (running.size > cores) {
    const busy = watchProcessors()
    await Promise.race([...running, setTimeout(250)])
    if (running.size < 2 * cores + 2 && busy() < 0.9) break
  }
  const run = t.spawn(program, [...parameters, ...group], {
    name: dirname(group[0]!),
    env,
    stdio: 'inherit',
    // Each file has its own time, but a thread that is blocked notices nothing.
    timeout: 2 * timeout * 1000,
    buffered: true,
    // Where in this file it was started helps nobody.
    at: null,
    stack: '',
  })
  running.add(run)
  run.finally(() => running.delete(run))
}
