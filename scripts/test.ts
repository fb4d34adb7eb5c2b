// Runs all tests, or only the tests in the given files and folders: npm test -- test/client --exclude=test/client/web
// With --one-at-a-time, each file runs alone.
import { appendFileSync, globSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import t from 'tap'
import { parse } from 'yaml'

const { include, timeout } = parse(readFileSync('.taprc', 'utf8')) as { include: string[]; timeout: number }
const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory()
const toPattern = (path: string) => (isFolder(path) ? join(path, '**/*.test.ts') : path)
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    exclude: { type: 'string', multiple: true, default: [] },
    /** Runs each file alone, so that no other test makes it slow. */
    'one-at-a-time': { type: 'boolean', default: false },
  },
})
const given = positionals.map(toPattern)
for (const path of given) if (globSync(path).length === 0) t.bailout(`There is no test: ${path}`)
const files = globSync(given.length > 0 ? given : include, { exclude: values.exclude.map(toPattern) }).sort()
if (files.length === 0) t.bailout(`There is no test: ${process.argv.slice(2).join(' ')}`)

// A small file spends most of its time on loading modules and warming up. So up to eight files of a folder share a
// process.
const filesPerProcess = values['one-at-a-time'] ? 1 : 8
const groups = Object.values(Object.groupBy(files, path => dirname(path))).flatMap((inFolder = []) => {
  const processes = Math.ceil(inFolder.length / filesPerProcess)
  return Array.from({ length: processes }, (_, i) => inFolder.filter((_, j) => j % processes === i))
})

// Most tests spend more than half of their time waiting, so more processes run than there are processors. But at most
// eight run, because all tests share one browser and one PostgreSQL.
t.jobs = values['one-at-a-time'] ? 1 : Math.min(8, 3 * availableParallelism())
// If a developer's machine lacks something that a test needs, such as Chromium, the test is skipped. In CI, a skipped
// test is a failure.
t.options.failSkip = Boolean(process.env.CI)
// tap's timeout is meant for one file. All files together take longer.
t.setTimeout(0)
// After a process has failed, this script writes the names of its files to FAILED_FILES, and .ci/run runs these files
// again. The processes do not get FAILED_FILES, because some tests start this script for another project.
const { FAILED_FILES: failedFiles, ...environment } = process.env
const env = {
  ...environment,
  TAP_TIMEOUT: String(timeout),
  TAP_FAIL_SKIP: t.options.failSkip ? '1' : '0',
  // Without this cache, each process would spend most of its start on compiling the same modules.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(import.meta.dirname, '../node_modules/.cache/node'),
}
// t.spawn sets NODE_OPTIONS, so that the process and its child processes measure coverage. For most files, measuring
// coverage takes a third of the CPU time. The command `env` therefore removes the variable.
const command = ['-u', 'NODE_OPTIONS', process.execPath, join(import.meta.dirname, 'run-files.ts')]
for (const group of groups) {
  const ended = t.spawn('env', [...command, ...group], {
    name: dirname(group[0]!),
    env,
    stdio: 'inherit',
    // This is the limit for one file, because run-files.ts resets the timer for each file.
    timeout: timeout * 1000,
    buffered: true,
    // Without this option, a report would name the line of this file that started the process, which does not help.
    at: null,
    stack: '',
  })
  void ended.then(results => {
    if (failedFiles && !results?.ok) appendFileSync(failedFiles, `${group.join(' ')}\n`)
  })
}

// On a signal, tap reports the results so far, and stops the processes that it has started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => t.endAll())
