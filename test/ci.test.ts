// Tests the programs that run the tests. These programs must report the result, and must fail if tests failed, were
// skipped or did not run.
import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'

/** Makes a folder with these files. A file that begins with #! becomes executable. */
function makeFolder(t: Test, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'ci-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    if (text.startsWith('#!')) chmodSync(join(folder, path), 0o755)
  }
  return folder
}

type Ended = { code: number; output: string; errors: string }

/**
 * The command is started through env, because tap changes the environment of programs that a test starts directly. Do not
 * run `bash -c`: because Node gives bash a socket as its standard input, bash would first run the .bashrc of this machine.
 */
function run(cwd: string, environment: Record<string, string>, ...command: string[]): Promise<Ended> {
  const { PATH, HOME, NODE_COMPILE_CACHE = '' } = process.env
  const pairs = Object.entries({ PATH, HOME, NODE_COMPILE_CACHE, ...environment })
  return new Promise(end =>
    execFile('env', ['-i', ...pairs.map(pair => pair.join('=')), ...command], { cwd }, (error, stdout, stderr) =>
      end({ code: error ? Number(error.code) : 0, output: stdout, errors: stderr }),
    ),
  )
}

const fileOf = (lines: string) => `import t from 'tap'\n${lines}\n`

/** Runs the script of `npm test` in a folder with these files. */
function runTests(t: Test, files: Record<string, string>, environment: Record<string, string>, ...given: string[]) {
  const folder = makeFolder(t, { ...files, 'package.json': '{ "type": "module" }' })
  cpSync('.taprc', join(folder, '.taprc'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const scripts = [resolve('scripts/with-servers.ts'), resolve('scripts/test.ts')]
  return run(folder, environment, process.execPath, ...scripts, ...given)
}

const passing = fileOf("t.pass('one')\nt.pass('two')")

t.test('npm test runs the tests in the given folders, except files whose name ends in .ci.ts', async t => {
  const files = {
    'test/here/a.test.ts': passing,
    'test/here/deeper/b.test.ts': passing,
    'test/here/support/c.ts': fileOf("t.fail('this is not a test file')"),
    'test/here/e.ci.ts': fileOf("t.fail('this file runs only if it is named')"),
    'test/elsewhere/d.test.ts': fileOf("t.fail('this folder was not given')"),
  }
  const { code, output } = await runTests(t, files, {}, 'test/here')
  t.match(output, '# { total: 6, pass: 6 }', 'two assertions for each file, and one for loading it')
  t.equal(code, 0)
  const parameters = ['test/**/*.ci.ts', 'test/here', '--exclude=test/here/deeper']
  const named = await runTests(t, { ...files, 'test/here/e.ci.ts': passing }, {}, ...parameters)
  t.match(named.output, '# { total: 6, pass: 6 }')
})

t.test(
  'up to eight test files of a folder run in one process, and every file starts with the default options of tap',
  async t => {
    const file = fileOf(`
    t.comment('process ' + process.pid)
    t.match({ jobs: t.jobs, timeout: t.options.timeout }, { jobs: 1, timeout: 720_000 })
    t.match(process.argv, { length: 2, 1: import.meta.filename })
    t.jobs = 4
    t.setTimeout(1000)
    t.test('first', async () => { globalThis.isRunning = true })
    t.test('last', async () => { globalThis.isRunning = false })
    t.notOk(globalThis.isRunning, 'the tests of the previous file must have ended')`)
    const names = Array.from({ length: 9 }, (_, i) => `test/${i}.test.ts`)
    const { code, output } = await runTests(t, Object.fromEntries(names.map(name => [name, file])), {})
    t.equal(code, 0)
    t.equal(new Set(output.match(/# process \d+/g)).size, 2)
    for (const name of names) t.match(output, new RegExp(`# ${name} took \\d+ ms`))
  },
)

t.test('if a test file fails in any way, the run fails and its output names the file', async t => {
  const failures = {
    fails: "t.fail('on purpose')",
    leaves: 'process.exit(3)',
    'leaves-well': "t.test('one', async () => process.exit(0))",
    'is-killed': "process.kill(process.pid, 'SIGKILL')",
    throws: "throw new Error('before any test')",
    'throws-later': "t.pass('one')\nsetTimeout(() => { throw new Error('nobody catches this') })",
    rejects: "t.pass('one')\nPromise.reject(new Error('nobody waits for this'))",
    'throws-within': "t.test('one', () => new Promise(() => setTimeout(() => { throw new Error('on its own') })))",
    'takes-long': "t.setTimeout(200)\nt.test('one', () => new Promise(end => setTimeout(end, 20_000)))",
  }
  const files = Object.entries(failures).flatMap(([folder, lines]) => [
    [`test/${folder}/a.test.ts`, passing],
    [`test/${folder}/b.test.ts`, fileOf(lines)],
  ])
  const { code, output } = await runTests(t, Object.fromEntries(files), {})
  t.not(code, 0)
  for (const folder of Object.keys(failures)) {
    const part = output.split(/^(?=# Subtest)/m).find(text => text.startsWith(`# Subtest: test/${folder}\n`)) ?? ''
    t.match(part, new RegExp(`^not ok \\d+ - test/${folder} #`, 'm'))
    t.match(part, new RegExp(`^    ok \\d+ - test/${folder}/a\\.test\\.ts`, 'm'))
    t.match(part, `# npm test -- test/${folder}/b.test.ts`)
  }
})

t.test(
  'if a process of npm test fails, npm test writes the names of its files to a list, and can run these files one at a time',
  async t => {
    const files = { 'test/a.test.ts': passing, 'test/b.test.ts': fileOf("t.fail('on purpose')") }
    const list = join(t.testdir(), 'failed')
    await runTests(t, { ...files, 'test/here/c.test.ts': passing }, { FAILED_FILES: list })
    t.equal(readFileSync(list, 'utf8'), 'test/a.test.ts test/b.test.ts\n')
    rmSync(list)
    const parameters = ['--one-at-a-time', 'test/a.test.ts', 'test/b.test.ts']
    const { output } = await runTests(t, files, { FAILED_FILES: list }, ...parameters)
    t.equal(readFileSync(list, 'utf8'), 'test/b.test.ts\n')
    t.match(output, '# { total: 5, pass: 4, fail: 1 }')
  },
)

t.test('if a test file throws an error while it is loaded, the files after it still run', async t => {
  const files = { 'test/a.test.ts': fileOf("throw new Error('before any test')"), 'test/b.test.ts': passing }
  const { code, output } = await runTests(t, files, {})
  t.not(code, 0)
  t.match(output, /^ {4}not ok 1 - test\/a\.test\.ts/m)
  t.match(output, '# { total: 5, pass: 3, fail: 1, skip: 1 }')
})

t.test('a skipped test or a file without tests is a failure in CI, but not on other machines', async t => {
  const files = {
    'test/a.test.ts': fileOf("t.pass('one')\nt.test('needs more', { skip: 'not here' }, async () => {})"),
    'test/b.test.ts': '// Nothing yet.',
  }
  t.equal((await runTests(t, files, {})).code, 0)
  const { code, output } = await runTests(t, files, { CI: 'true' })
  t.not(code, 0)
  t.match(output, /# \{ total: 5, pass: 3, fail: 2/)
})

type Wrote = [text: string, code: number]

const good: Wrote = ['# { total: 12, pass: 12 }', 0]

/** The output and exit codes of the programs that .ci/run runs. */
type Programs = {
  /** `npm test` */
  project?: Wrote
  /** `npm run test:texts` */
  texts?: Wrote
  /** The slow tests, without the compose files. */
  deeper?: Wrote
  compose?: Wrote
  /** The tests of a starter. */
  starter?: Wrote
  /** The names of the files that fail in `npm test`. Each line is for one process. */
  failed?: string[]
  /** The second run of these files. */
  again?: Wrote
}

/** Runs .ci/run with fake programs. By default, each program passes 12 tests, except that `texts` runs no test. */
function runCi(
  t: Test,
  {
    project = good,
    texts = ['# { total: 0, pass: 0 }', 0],
    deeper = good,
    compose = good,
    starter = good,
    failed = [],
    again = ['', 0],
  }: Programs,
) {
  const script = ([text, code]: Wrote) => `#!/bin/sh\necho 'ok 1'\necho '${text}'\nexit ${code}\n`
  const folder = makeFolder(t, {
    'bin/npm': `#!/bin/sh
      case "$*" in
        test) cat ./failed >>"$FAILED_FILES"; exec ./tests ;;
        'test -- --one-at-a-time a.test.ts b.test.ts') exec ./again ;;
        'run test:texts') exec ./texts ;;
        'test -- test/**/*.ci.ts --exclude=test/container/compose.ci.ts') exec ./deeper ;;
        'test -- test/container/compose.ci.ts') exec ./compose ;;
      esac`,
    ...Object.fromEntries(['firefox-esr', 'WebKitWebDriver', 'Xvfb'].map(name => [`bin/${name}`, '#!/bin/sh\n'])),
    'bin/chromium': '#!/bin/sh\n',
    'bin/chromium-headless-shell': '#!/bin/sh\n',
    'bin/buildah': '#!/bin/sh\n',
    'bin/debootstrap': '#!/bin/sh\n',
    'bin/dockerd': '#!/bin/sh\n',
    failed: failed.map(line => `${line}\n`).join(''),
    again: script(again),
    tests: script(project),
    texts: script(texts),
    deeper: script(deeper),
    compose: script(compose),
    '.ci/make-base-image': '#!/bin/sh\n',
    '.ci/install-compose': '#!/bin/sh\n',
    '.ci/with-docker': '#!/bin/sh\nexec "$@"\n',
    '.ci/test-starter': script(starter),
  })
  cpSync('.ci/run', join(folder, '.ci/run'))
  return run(folder, { PATH: `${folder}/bin:${process.env.PATH}` }, '.ci/run')
}

t.test('the last line of .ci/run contains the total of all test runs', async t => {
  const oneFails: Wrote = ['# { total: 3, pass: 2, fail: 1 }', 1]
  const killed: Wrote = ['killed', 137]
  const failedLate: Wrote = ['# { total: 12, pass: 12 }', 7]
  for (const [programs, lastLine, code] of [
    [{ deeper: ['# { total: 5, pass: 5 }', 0], starter: ['# { total: 3, pass: 3 }', 0] }, '32 passed, 0 failed', 0],
    [{ project: ['# { total: 12, pass: 10, fail: 2 }', 1] }, '46 passed, 2 failed', 1],
    [{ deeper: oneFails }, '38 passed, 1 failed', 1],
    [{ compose: oneFails }, '38 passed, 1 failed', 1],
    [{ starter: oneFails }, '38 passed, 1 failed', 1],
    [{ texts: oneFails }, '50 passed, 1 failed', 1],
    [{ project: killed }, '36 passed, 1 failed', 1],
    [{ deeper: killed }, '36 passed, 1 failed', 1],
    [{ compose: killed }, '36 passed, 1 failed', 1],
    [{ starter: ['npm error', 0] }, '36 passed, 1 failed', 1],
    [{ project: failedLate }, '48 passed, 0 failed', 7],
    [{ deeper: failedLate }, '48 passed, 0 failed', 7],
    [{ compose: failedLate }, '48 passed, 0 failed', 7],
  ] as [Programs, string, number][]) {
    const ended = await runCi(t, programs)
    t.equal(ended.output.trimEnd().split('\n').at(-1), lastLine)
    t.equal(ended.code, code, lastLine)
  }
})

t.test('.ci/run runs failed test files a second time, and only the second result counts', async t => {
  const project: Wrote = ['# { total: 12, pass: 10, fail: 2 }', 1]
  const lost: Wrote = ['killed', 137]
  const failed = ['a.test.ts b.test.ts']
  const many = Array.from({ length: 6 }, () => 'a.test.ts b.test.ts')
  const allPass: Wrote = ['# { total: 5, pass: 5 }', 0]
  const oneFails: Wrote = ['# { total: 5, pass: 4, fail: 1 }', 1]
  for (const { what, isRepeated = true, lastLine, code, ...programs } of [
    { what: 'they pass', project, failed, again: allPass, lastLine: '46 passed, 0 failed', code: 0 },
    { what: 'one fails again', project, failed, again: oneFails, lastLine: '46 passed, 1 failed', code: 1 },
    { what: 'the second run is killed', project, failed, again: lost, lastLine: '46 passed, 1 failed', code: 1 },
    {
      what: 'six processes failed, so nothing runs again',
      project,
      failed: many,
      again: good,
      isRepeated: false,
      lastLine: '46 passed, 2 failed',
      code: 1,
    },
    {
      what: 'tests may not have run, so nothing runs again',
      project: lost,
      failed,
      again: good,
      isRepeated: false,
      lastLine: '36 passed, 1 failed',
      code: 1,
    },
  ]) {
    const ended = await runCi(t, programs)
    t.equal(ended.output.trimEnd().split('\n').at(-1), lastLine, what)
    t.equal(ended.code, code, what)
    t.equal(/^Ran a second time: a\.test\.ts b\.test\.ts$/m.test(ended.output), isRepeated, what)
  }
})

t.test('.ci/run prints all failures again just before its last line', async t => {
  const failed = await runCi(t, { project: ['not ok 2 - the answer is late\n# { total: 2, pass: 1, fail: 1 }', 1] })
  t.match(failed.output, /\nWhat failed:\nnot ok 2 - the answer is late\n.*\n37 passed, 1 failed\n$/s)
  const passed = await runCi(t, {})
  t.notMatch(passed.output, 'What failed')
})

t.test('if .ci/run is not allowed to install packages, it prints which packages are missing', async t => {
  const folder = makeFolder(t, { 'bin/sudo': '#!/bin/sh\nexit 1\n', 'bin/id': '#!/bin/sh\necho 1000\n' })
  for (const tool of ['bash', 'dirname']) symlinkSync(`/usr/bin/${tool}`, join(folder, 'bin', tool))
  cpSync('.ci/run', join(folder, '.ci/run'))
  const { code, errors } = await run(folder, { PATH: `${folder}/bin` }, '.ci/run')
  t.equal(code, 1)
  t.match(errors, /^Install these first: apt-get install .*chromium.*curl.*firefox-esr webkit2gtk-driver xvfb/)
})

for (const [what, dockerd] of [
  ['ends', "echo 'the reason'"],
  ['does not answer', "echo 'the reason'; exec /bin/sleep 600"],
] as const)
  t.test(
    `if the Docker that .ci/with-docker starts ${what}, it prints the log and does not run the command`,
    async t => {
      const folder = makeFolder(t, {
        'bin/docker': '#!/bin/sh\nexit 1\n',
        'bin/dockerd': `#!/bin/sh\n${dockerd}\n`,
        'bin/sleep': '#!/bin/sh\n',
        // With this answer, the script does not change the network settings of this machine.
        'bin/cat': '#!/bin/sh\necho 1\n',
      })
      cpSync('.ci/with-docker', join(folder, 'with-docker'))
      const environment = { PATH: `${folder}/bin:${process.env.PATH}` }
      const { code, errors } = await run(folder, environment, './with-docker', 'touch', 'ran')
      t.equal(code, 1)
      t.match(errors, 'Docker did not start:\nthe reason\n')
      t.notOk(existsSync(join(folder, 'ran')))
    },
  )
