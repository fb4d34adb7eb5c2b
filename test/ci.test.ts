// What runs the tests: it says how they went, and cannot end well where some failed, were left out, or never ran.
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'

/** A folder with these files; those that begin with #! can be run. */
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

type Ended = { code: number; output: string }

/** By way of env, because tap adds to the environment of whatever a test starts directly. */
function run(cwd: string, environment: Record<string, string>, ...command: string[]): Promise<Ended> {
  const { PATH, HOME, NODE_COMPILE_CACHE = '' } = process.env
  const pairs = Object.entries({ PATH, HOME, NODE_COMPILE_CACHE, ...environment })
  return new Promise(end =>
    execFile('env', ['-i', ...pairs.map(pair => pair.join('=')), ...command], { cwd }, (error, stdout) =>
      end({ code: error ? Number(error.code) : 0, output: stdout }),
    ),
  )
}

const fileOf = (lines: string) => `import t from 'tap'\n${lines}\n`

/** The script of `npm test`. It runs small tests of this file. */
function runTests(t: Test, files: Record<string, string>, environment: Record<string, string>, ...given: string[]) {
  const folder = makeFolder(t, { ...files, 'package.json': '{ "type": "module" }' })
  cpSync('.taprc', join(folder, '.taprc'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  return run(folder, environment, process.execPath, resolve('scripts/lend.ts'), resolve('scripts/test.ts'), ...given)
}

const passing = fileOf("t.pass('one')\nt.pass('two')")

t.test('npm test with a folder runs the tests in it and its subfolders, and nothing else', async t => {
  const files = {
    'test/here/a.test.ts': passing,
    'test/here/deeper/b.test.ts': passing,
    'test/here/support/c.ts': fileOf("t.fail('no test')"),
    'test/here/e.ci.ts': fileOf("t.fail('not asked for, and by name alone')"),
    'test/elsewhere/d.test.ts': fileOf("t.fail('not asked for')"),
  }
  const { code, output } = await runTests(t, files, {}, 'test/here')
  t.match(output, '# { total: 4, pass: 4 }')
  t.equal(code, 0)
  const byName = await runTests(t, { ...files, 'test/here/e.ci.ts': passing }, {}, 'test/**/*.ci.ts')
  t.match(byName.output, '# { total: 2, pass: 2 }')
  const without = ['--exclude=test/here/deeper', '--exclude=test/elsewhere/d.test.ts']
  t.match((await runTests(t, files, {}, ...without)).output, '# { total: 2, pass: 2 }')
})

t.test(
  'up to eight files of a folder share a process, and each finds closed what the one before has opened',
  async t => {
    const file = fileOf(`
    t.comment('process ' + process.pid)
    t.equal(globalThis.opened, undefined, 'nothing is open')
    t.same(process.argv.slice(2), [], 'there are no parameters')
    globalThis.opened = true
    t.teardown(() => { delete globalThis.opened })
    t.test('later', async t => t.ok(globalThis.opened))`)
    const names = Array.from({ length: 9 }, (_, i) => `test/${i}.test.ts`)
    const { code, output } = await runTests(t, Object.fromEntries(names.map(name => [name, file])), {})
    t.equal(code, 0)
    t.match(output, '# { total: 27, pass: 27 }')
    t.equal(new Set(output.match(/# process \d+/g)).size, 2)
  },
)

t.test('npm test ends with an error, and names the file, whatever keeps its tests from passing', async t => {
  const files = {
    'test/fails.test.ts': fileOf("t.fail('on purpose')"),
    'test/leaves.test.ts': fileOf('process.exit(3)'),
    'test/throws.test.ts': fileOf("throw new Error('before any test')"),
    'test/throws-later.test.ts': fileOf("t.pass('one')\nsetTimeout(() => { throw new Error('nobody catches this') })"),
    'test/rejects.test.ts': fileOf("t.pass('one')\nPromise.reject(new Error('nobody waits for this'))"),
    'test/throws-within.test.ts': fileOf(
      "t.test('one', () => new Promise(() => setTimeout(() => { throw new Error('on its own') })))",
    ),
    'test/takes-long.test.ts': fileOf(
      "t.setTimeout(200)\nt.test('one', () => new Promise(end => setTimeout(end, 20_000)))",
    ),
  }
  const runs = Object.entries(files).map(async ([name, text]) => {
    const { code, output } = await runTests(t, { [name]: text, 'test/a.test.ts': passing }, {})
    t.not(code, 0)
    t.match(output, new RegExp(`^    not ok \\d+ - ${name}|^        fileName: ${name}`, 'm'))
    t.match(output, /^ {4}ok \d+ - test\/a\.test\.ts/m)
  })
  await Promise.all(runs)
})

t.test(
  'npm test names the file whose process was killed, and fails where a file ends it or leaves something open',
  async t => {
    const killed = { 'test/a.test.ts': passing, 'test/killed.test.ts': fileOf("process.kill(process.pid, 'SIGKILL')") }
    const open = {
      'test/open.test.ts': fileOf("t.pass('one')\nsetInterval(() => {}, 1000)"),
      'test/z.test.ts': passing,
    }
    const left = {
      'test/a.test.ts': fileOf("t.pass('one')\nt.on('end', () => process.exit(0))"),
      'test/b.test.ts': passing,
    }
    const [kill, wait, leave] = await Promise.all([killed, open, left].map(files => runTests(t, files, {})))
    for (const ended of [kill, wait, leave]) t.not(ended?.code, 0)
    t.match(
      kill?.output,
      /^ {4}ok 1 - test\/a\.test\.ts[\s\S]*^ {4}# Subtest: test\/killed\.test\.ts[\s\S]*signal: SIGKILL/m,
    )
    t.match(
      wait?.output,
      /^ {4}ok 2 - test\/z\.test\.ts[\s\S]*^ {4}not ok 3 - these files close what they open[\s\S]*Timeout/m,
    )
  },
)

t.test('a skipped test is a failure in CI, but not elsewhere', async t => {
  const files = {
    'test/a.test.ts': fileOf("t.pass('one')\nt.test('needs more', { skip: 'not here' }, async () => {})"),
    'test/b.test.ts': '// Nothing yet.',
  }
  t.equal((await runTests(t, files, {})).code, 0)
  const { code, output } = await runTests(t, files, { CI: 'true' })
  t.not(code, 0)
  t.match(output, /# \{ total: 4, pass: 2, fail: 2/)
})

type Wrote = [text: string, code: number]

/** .ci/run, where these parts of the tests write these lines and end with these codes. */
function runCi(t: Test, project: Wrote, deeper: Wrote, compose: Wrote, starter: Wrote, texts: Wrote) {
  const script = ([text, code]: Wrote) => `#!/bin/sh\necho 'ok 1'\necho '${text}'\nexit ${code}\n`
  const folder = makeFolder(t, {
    'bin/npm': `#!/bin/sh
      case "$*" in
        test) exec ./tests ;;
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

const good = '# { total: 12, pass: 12 }'

const noTexts: Wrote = ['# { total: 0, pass: 0 }', 0]

t.test('.ci/run adds up all parts of the tests, in its last line', async t => {
  for (const [project, deeper, compose, starter, lastLine, code, texts = noTexts] of [
    [[good, 0], ['# { total: 5, pass: 5 }', 0], [good, 0], ['# { total: 3, pass: 3 }', 0], '32 passed, 0 failed', 0],
    [['# { total: 12, pass: 10, fail: 2 }', 1], [good, 0], [good, 0], [good, 0], '46 passed, 2 failed', 1],
    [[good, 0], ['# { total: 3, pass: 2, fail: 1 }', 1], [good, 0], [good, 0], '38 passed, 1 failed', 1],
    [[good, 0], [good, 0], ['# { total: 3, pass: 2, fail: 1 }', 1], [good, 0], '38 passed, 1 failed', 1],
    [[good, 0], [good, 0], [good, 0], ['# { total: 3, pass: 2, fail: 1 }', 1], '38 passed, 1 failed', 1],
    [['killed', 137], [good, 0], [good, 0], [good, 0], '36 passed, 1 failed', 1],
    [[good, 0], ['killed', 137], [good, 0], [good, 0], '36 passed, 1 failed', 1],
    [[good, 0], [good, 0], ['killed', 137], [good, 0], '36 passed, 1 failed', 1],
    [[good, 0], [good, 0], [good, 0], ['npm error', 0], '36 passed, 1 failed', 1],
    [[good, 7], [good, 0], [good, 0], [good, 0], '48 passed, 0 failed', 7],
    [[good, 0], [good, 7], [good, 0], [good, 0], '48 passed, 0 failed', 7],
    [[good, 0], [good, 0], [good, 7], [good, 0], '48 passed, 0 failed', 7],
    [[good, 0], [good, 0], [good, 0], [good, 0], '50 passed, 1 failed', 1, ['# { total: 3, pass: 2, fail: 1 }', 1]],
  ] as [Wrote, Wrote, Wrote, Wrote, string, number, Wrote?][]) {
    const ended = await runCi(t, project, deeper, compose, starter, texts)
    t.equal(ended.output.trimEnd().split('\n').at(-1), lastLine)
    t.equal(ended.code, code, lastLine)
  }
})

t.test('.ci/run names the packages that are missing where it may not install them', async t => {
  const folder = makeFolder(t, { 'bin/sudo': '#!/bin/sh\nexit 1\n', 'bin/id': '#!/bin/sh\necho 1000\n' })
  for (const tool of ['bash', 'dirname']) symlinkSync(`/usr/bin/${tool}`, join(folder, 'bin', tool))
  cpSync('.ci/run', join(folder, '.ci/run'))
  const { code, output } = await run(folder, { PATH: `${folder}/bin` }, 'bash', '-c', 'exec .ci/run 2>&1')
  t.equal(code, 1)
  t.match(output, /^Install these first: apt-get install .*chromium.*firefox-esr webkit2gtk-driver xvfb/)
})
