import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'

/** Its other tests are the client's own, which run here; .ci/test-starter runs all of them. */
const part = ['test/client/main.test.ts', 'test/client/sign-in/exchange.test.ts']

t.test('npm run eject leaves a starter of its own, which is checked, starts, and signs a visitor in', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'starter-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  // Of tap and npm, the copy must not hear anything: it is a project like any other.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(TAP|_TAP|npm_|NODE_V8_COVERAGE|NODE_OPTIONS)/.test(name),
  )
  const run = (command: string, ...parameters: string[]) =>
    // By way of env, because tap adds to the environment of whatever a test starts directly.
    execFileSync('env', ['-i', ...inherited.map(pair => pair.join('=')), command, ...parameters], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 256 * 1024 * 1024,
    })
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')

  // What is in the work tree, committed or not, as a clean repository.
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
  for (const path of files.split('\0').filter(path => path && existsSync(path))) cpSync(path, join(folder, path))
  run('git', 'init', '--quiet')
  run('git', 'add', '--all')
  run(
    'git',
    '-c',
    'user.name=test',
    '-c',
    'user.email=test@example.test',
    'commit',
    '--quiet',
    '--message',
    'as it was',
  )

  t.match(run(process.execPath, 'scripts/eject.ts', '--name', 'my-client'), 'my-client is ready')
  const { name, dependencies, scripts } = JSON.parse(read('package.json'))
  t.equal(name, 'my-client')
  t.notMatch(Object.keys(dependencies).join(), /kysely|pg|swagger|jose/, 'nothing of the sandbox is installed')
  for (const script of ['demo', 'sandbox', 'eject']) t.notOk(script in scripts, `npm run ${script} is gone`)
  for (const path of ['src/sandbox', 'views/sandbox', 'test/journey', 'src/demo.ts'])
    t.notOk(existsSync(join(folder, path)), `${path} is gone`)
  t.match(read('README.md'), '# my-client')
  t.match(read('Dockerfile'), 'FROM runtime AS client')
  t.notMatch(read('Dockerfile'), 'AS sandbox')

  // What the starter's own lock file lists, and nothing else; installing it anew takes longer than all that follows.
  const { packages } = JSON.parse(read('package-lock.json'))
  for (const path of ['node_modules/.bin', ...Object.keys(packages)].filter(path =>
    /^node_modules\/[^/]+(\/[^/]+)?$/.test(path),
  )) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    symlinkSync(resolve(path), join(folder, path))
  }
  t.doesNotThrow(() => run('npm', 'run', 'validate'), 'npm run validate finds nothing')
  const counts = run('node_modules/.bin/tap', '--disable-coverage', ...part).match(/# \{ total: (\d+), pass: (\d+) \}/)
  t.ok(Number(counts?.[1]) > 100, `${counts?.[1]} tests`)
  t.equal(counts?.[1], counts?.[2], 'all of them pass')
})

t.test('npm run eject asks for a name before it touches anything', async t => {
  t.throws(
    () => execFileSync(process.execPath, ['scripts/eject.ts', '--name', 'Not A Name'], { stdio: 'pipe' }),
    /Give it a name/,
  )
})

t.test('npm run eject outside git removes nothing, and says what to do', async t => {
  const folder = t.testdir({ src: { sandbox: { 'app.ts': '' } } })
  const eject = (environment: NodeJS.ProcessEnv, ...more: string[]) =>
    spawnSync(process.execPath, [resolve('scripts/eject.ts'), '--name', 'my-client', ...more], {
      cwd: folder,
      encoding: 'utf8',
      // The folder of the test lies in the repository.
      env: { PATH: process.env.PATH, GIT_CEILING_DIRECTORIES: dirname(folder), ...environment },
    })
  for (const [environment, reason] of [
    [{}, 'fatal: not a git repository'],
    [{ PATH: '' }, 'git is not installed'],
  ] as const) {
    const { status, stderr } = eject(environment)
    t.equal(status, 1)
    t.match(stderr, reason)
    t.match(stderr, 'git init && git add --all && git commit')
    t.match(stderr, 'add --force')
    t.notMatch(stderr, /^ +at /m, 'no stack')
    t.ok(existsSync(join(folder, 'src/sandbox')))
  }
  eject({}, '--force')
  t.notOk(existsSync(join(folder, 'src/sandbox')), 'with --force it goes on')
})
