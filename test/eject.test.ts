// A starter of each size: what stays and what goes, that its types are right, that it starts and signs a visitor in.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'

t.setTimeout(600_000)

type Folder = ReturnType<typeof copyProject>

/** What is in the work tree, committed or not, as if it came from a ZIP. */
function copyProject(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'starter-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
  for (const path of files.split('\0').filter(path => path && existsSync(path))) cpSync(path, join(folder, path))
  // Of tap and npm, the copy must not hear anything: it is a project like any other.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(TAP|_TAP|npm_|NODE_V8_COVERAGE|NODE_OPTIONS)/.test(name),
  )
  const run = (command: string, ...parameters: string[]) => {
    // By way of env, because tap adds to the environment of whatever a test starts directly.
    const environment = ['-i', ...inherited.map(pair => pair.join('='))]
    const { status, stdout, stderr } = spawnSync('env', [...environment, command, ...parameters], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
    })
    return { status, output: stdout + stderr }
  }
  return {
    run,
    eject: (...options: string[]) => run(process.execPath, 'scripts/eject.ts', ...options),
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    has: (path: string) => existsSync(join(folder, path)),
    folder,
  }
}

function commitAll({ run }: Folder): void {
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.test']
  run('git', 'init', '--quiet')
  run('git', 'add', '--all')
  run('git', ...author, 'commit', '--quiet', '--message', 'as it was')
}

/** What the starter's own lock file lists, and nothing else; installing it anew takes longer than all that follows. */
function linkPackages({ folder, read }: Folder): void {
  const { packages } = JSON.parse(read('package-lock.json'))
  for (const path of ['node_modules/.bin', ...Object.keys(packages)].filter(path =>
    /^node_modules\/[^/]+(\/[^/]+)?$/.test(path),
  )) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    if (existsSync(path)) symlinkSync(resolve(path), join(folder, path))
  }
}

const ofApplications = ['src/client/applications', 'views/client/applications', 'test/client/applications']
const ofSandbox = [
  'src/sandbox',
  'src/conformance',
  'views/sandbox',
  'test/sandbox',
  'test/conformance',
  'src/demo.ts',
  'test/demo.test.ts',
]
const ofBoth = ['test/journey', 'test/browser']
const ofBare = ['src/client/bare', 'test/client/bare']
const always = ['docs/make-it-yours.md', 'docs/security-model.md', 'docs/operations.md']
const never = ['bench', 'compose.yaml', 'scripts/eject.ts', 'scripts/starter', 'docs/container.md', 'CHANGELOG.md']

/** A product of one's own in place of the bare one, by the lines of the guide, and with nothing else changed. */
function beginAsTheGuideSays({ folder, read, run }: Folder): void {
  for (const path of ofBare) rmSync(join(folder, path), { recursive: true })
  const example = read('test/client/example/notes.ts').replaceAll("'../../../src/client/", "'../")
  mkdirSync(join(folder, 'src/client/notes'))
  writeFileSync(
    join(folder, 'src/client/notes/product.ts'),
    `${example}\nexport const product = createProduct('notes.db')\n`,
  )
  writeFileSync(join(folder, 'src/client/app.ts'), read('src/client/app.ts').replace('./bare/', './notes/'))
  run('npm', 'run', 'format')
}

const guide = ['test/layout.test.ts', 'test/client/example/make-it-yours.test.ts']

/** `part` of its tests is run: each starts it as a process, and signs in. The others are this project's own, which run here. */
const sizes = [
  {
    options: [],
    stays: [...ofApplications],
    goes: [...ofSandbox, ...ofBoth, ...ofBare],
    part: [...guide, 'test/client/main.test.ts', 'test/client/sign-in/exchange.test.ts'],
  },
  {
    options: ['--bare'],
    stays: ofBare,
    goes: [...ofSandbox, ...ofBoth, ...ofApplications],
    begin: beginAsTheGuideSays,
    part: [...guide, 'test/client/main.test.ts', 'test/client/sign-in/name.test.ts'],
  },
  {
    options: ['--sandbox'],
    stays: [...ofSandbox, ...ofBoth, ...ofApplications, 'docs/backup.md'],
    goes: ofBare,
    part: [...guide, 'test/demo.test.ts', 'test/journey/renewal.test.ts'],
  },
  {
    options: ['--bare', '--sandbox'],
    stays: [...ofSandbox, ...ofBare],
    goes: [...ofApplications, ...ofBoth],
    part: [...guide, 'test/demo.test.ts', 'test/client/bare/home.test.ts'],
  },
]

for (const { options, stays, goes, begin, part } of sizes)
  t.test(
    `npm run eject ${options.join(' ')} leaves a client that is checked, starts, and signs a visitor in`,
    async t => {
      const project = copyProject(t)
      const { run, read, has } = project
      commitAll(project)
      const ejected = project.eject('--name', 'my-client', ...options)
      t.equal(ejected.status, 0, ejected.output)
      t.match(ejected.output, 'my-client is ready')
      for (const path of [...always, ...stays]) t.ok(has(path), `${path} is there`)
      for (const path of [...never, ...goes]) {
        t.notOk(has(path), `${path} is gone`)
      }
      const { name, dependencies, scripts } = JSON.parse(read('package.json'))
      t.equal(name, 'my-client')
      const hasSandbox = options.includes('--sandbox')
      for (const script of [
        'demo',
        'conformance',
        'sandbox',
        'sandbox:register',
        'sandbox:seed',
        'sandbox:backup',
        'sandbox:rotate-keys',
      ])
        t.equal(script in scripts, hasSandbox, `npm run ${script}`)
      for (const script of ['start', 'doctor', 'setup', 'test', 'validate'])
        t.ok(script in scripts, `npm run ${script}`)
      for (const script of ['eject', 'bench', 'screenshots']) t.notOk(script in scripts, `npm run ${script} is gone`)
      for (const dependency of ['kysely', 'pg', 'jose', '@fastify/swagger'])
        t.equal(dependency in dependencies, hasSandbox, dependency)
      t.match(read('README.md'), '# my-client')
      t.notMatch(read('docs/make-it-yours.md'), 'npm run eject')
      t.equal(/^## The sandbox/m.test(read('docs/operations.md')), hasSandbox)
      t.match(read('Dockerfile'), 'FROM runtime AS client')
      t.match(read('Dockerfile'), 'image.title="my-client"')
      t.notMatch(read('Dockerfile'), /sandbox|application|two images/i)
      t.match(read('.ci/run'), 'npm run validate')
      t.notMatch(read('.ci/run'), /starter|chromium/)

      linkPackages(project)
      begin?.(project)
      // Each further checker would look at much that another one has seen.
      const validated = run('npm', 'run', 'validate', '--', '--checkers', '1')
      t.equal(validated.status, 0, `npm run validate finds nothing: ${validated.output}`)
      const tested = run(process.execPath, 'scripts/test.ts', ...part)
      const [, total, passed] = tested.output.match(/# \{ total: (\d+), pass: (\d+) \}/) ?? []
      t.ok(Number(total) > 100, `${total} tests`)
      t.equal(passed, total, 'all of them pass')
      if (passed !== total || !total) t.comment(tested.output.slice(-3000))
    },
  )

t.test('npm run eject asks for a name, and knows its options, before it touches anything', async t => {
  const { eject, has } = copyProject(t)
  for (const options of [[], ['--name', 'Not A Name'], ['--name', 'my-client', '--tiny']]) {
    const { status, output } = eject(...options)
    t.equal(status, 1)
    t.match(output, 'Give it a name: npm run eject -- --name my-client [--bare] [--sandbox]')
    t.notMatch(output, /^ +at /m, 'no stack')
    t.ok(has('src/sandbox'))
  }
})

t.test('npm run eject removes nothing while there are changes that git could not bring back', async t => {
  const project = copyProject(t)
  commitAll(project)
  project.run('touch', 'src/new.ts')
  const { status, output } = project.eject('--name', 'my-client')
  t.equal(status, 1)
  t.match(output, 'Commit them first')
  t.ok(project.has('src/sandbox'))
})

t.test('npm run eject outside git keeps a copy of all that goes or changes, and says where', async t => {
  const { eject, read, has } = copyProject(t)
  const before = ['README.md', 'package.json', 'src/sandbox/app.ts', 'docs/operations.md'].map(
    path => [path, read(path)] as const,
  )
  const { status, output } = eject('--name', 'my-client')
  t.equal(status, 0, output)
  t.match(output, 'to be brought back from data/left-behind')
  t.notOk(has('src/sandbox'))
  for (const [path, text] of before) t.equal(read(`data/left-behind/${path}`), text, path)
})
