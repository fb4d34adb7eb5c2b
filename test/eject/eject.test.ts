// Makes a starter with each combination of options, and checks its files, its types, its documents and its login.
// eject.ci.ts checks more.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { commitAll, copyProject, linkPackages, openFolder, type Project, passesTests } from './support/copy-project.ts'

t.setTimeout(600_000)

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
const ofBare = ['src/client/home.ts', 'test/client/home.test.ts']
const always = [
  '.github/workflows/ci.yaml',
  '.github/dependabot.yml',
  'compose.yaml',
  'test/client/browser.test.ts',
  'docs/design/client.md',
  'docs/make-it-yours.md',
  'docs/reference/platform.md',
  'docs/security-model.md',
  'docs/operations.md',
]
const never = [
  'bench',
  'compose.scale.yaml',
  'scripts/eject.ts',
  'scripts/starter',
  'docs/container.md',
  'CHANGELOG.md',
  'test/conformance/clients/faulty-clients.ci.ts',
  'test/conformance/clients/right-clients.ci.ts',
]

/**
 * `stays` are paths that the starter must have, and `goes` are paths that it must not have. `login` is a test file of
 * the starter that signs a visitor in, and `stop` is a test file that stops the client.
 */
const sizes = [
  {
    options: [],
    stays: ofApplications,
    goes: [...ofSandbox, ...ofBoth, ...ofBare],
    login: 'test/client/sign-in/exchange.test.ts',
    stop: 'test/client/operations/localhost.test.ts',
  },
  {
    options: ['--bare'],
    stays: ofBare,
    goes: [...ofSandbox, ...ofBoth, ...ofApplications],
    login: 'test/client/home.test.ts',
    stop: 'test/client/operations/localhost.test.ts',
  },
  {
    options: ['--sandbox'],
    stays: [...ofSandbox, ...ofBoth, ...ofApplications, 'docs/backup.md'],
    goes: ofBare,
    login: 'test/journey/renewal.test.ts',
  },
  {
    options: ['--bare', '--sandbox'],
    stays: [...ofSandbox.filter(path => path !== 'test/demo.test.ts'), ...ofBare],
    goes: [...ofApplications, ...ofBoth, 'test/demo.test.ts'],
    login: 'test/client/home.test.ts',
  },
]

// A cache for tsc, so that tsc checks only the files that differ from the previous starter.
const checkedTypes = openFolder(t)

for (const { options, stays, goes, login, stop } of sizes)
  t.test(
    `npm run eject ${options.join(' ')} makes a client that passes the type check and signs a visitor in`,
    async t => {
      const project = copyProject(t)
      const { run, read, has } = project
      commitAll(project)
      const ejected = project.eject('--name', 'my-client', ...options)
      t.equal(ejected.status, 0, ejected.output)
      t.match(ejected.output, 'my-client is ready')
      for (const path of [...always, ...stays]) t.ok(has(path), `${path} must exist`)
      for (const path of [...never, ...goes]) {
        t.notOk(has(path), `${path} must not exist`)
      }
      const { name, dependencies, devDependencies, scripts } = JSON.parse(read('package.json'))
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
      for (const script of ['start', 'dev', 'doctor', 'setup', 'test', 'types', 'validate'])
        t.ok(script in scripts, `npm run ${script}`)
      for (const script of ['eject', 'bench', 'screenshots'])
        t.notOk(script in scripts, `npm run ${script} must not exist`)
      for (const dependency of ['kysely', 'pg', 'jose', '@fastify/swagger', 'yaml'])
        t.equal(dependency in dependencies, hasSandbox, dependency)
      t.equal('yaml' in devDependencies, !hasSandbox, 'the test runner of every starter needs the package yaml')
      t.match(read('README.md'), '# my-client')
      t.notMatch(read('docs/make-it-yours.md'), 'npm run eject')
      t.equal(/^## The sandbox/m.test(read('docs/operations.md')), hasSandbox)
      t.match(read('Dockerfile'), 'FROM runtime AS client')
      t.match(read('Dockerfile'), 'image.title="my-client"')
      t.notMatch(read('Dockerfile'), /sandbox|application|two images/i)
      t.notMatch(read('.env.example'), /127\.0\.0\.1|:400\d/, 'the settings must not contain an address of the sandbox')
      t.match(read('compose.yaml'), 'image: my-client')
      if (has('test/client/home.test.ts')) t.notMatch(read('test/client/home.test.ts'), 'npm run eject')
      t.match(read('.ci/run'), 'npm run validate')
      t.notMatch(read('.ci/run'), /starter|chromium/)

      linkPackages(project)
      const ownTypes = join(project.folder, 'node_modules/.cache/types')
      cpSync(checkedTypes, ownTypes, { recursive: true })
      // By default, tsc uses four checkers. With one checker, tsc needs only two thirds of the CPU time.
      const tsconfig = JSON.parse(read('tsconfig.json'))
      Object.assign(tsconfig.compilerOptions, { checkers: 1 })
      writeFileSync(join(project.folder, 'tsconfig.json'), JSON.stringify(tsconfig))
      // Without garbage collection, tsc is faster, but needs half a gigabyte more memory.
      const { status, output } = run('env', 'GOGC=off', 'node', '--run', 'types')
      t.equal(status, 0, `node --run types must not find a problem: ${output}`)
      cpSync(ownTypes, checkedTypes, { recursive: true })
      passesTests(t, project, 'test/layout.test.ts', 'test/client/browser.test.ts', login, ...(stop ? [stop] : []))
    },
  )

t.test('if the name is missing or an option is unknown, npm run eject prints an error and changes nothing', async t => {
  const { eject, has } = copyProject(t)
  for (const options of [[], ['--name', 'Not A Name'], ['--name', 'my-client', '--tiny']]) {
    const { status, output } = eject(...options)
    t.equal(status, 1)
    t.match(output, 'Give your client a name: npm run eject -- --name my-client [--bare] [--sandbox]')
    t.notMatch(output, /^ +at /m, 'the output must not contain a stack trace')
    t.ok(has('src/sandbox'))
  }
})

t.test(
  'in a git repository, npm run eject changes nothing if npm is missing or if there are uncommitted changes',
  async t => {
    const project = copyProject(t)
    commitAll(project)
    const before = listFiles(join(project.folder, 'src'))
    const withoutNpm = ejectWith(project, { PATH: toolsWithoutNpm(t, project) })
    t.equal(withoutNpm.status, 1)
    t.match(withoutNpm.output, 'npm cannot be run')
    t.same(listFiles(join(project.folder, 'src')), before)
    t.equal(project.run('git', 'status', '--porcelain').output, '')

    project.run('touch', 'src/sandbox/new.ts')
    project.run('git', 'config', 'status.showUntrackedFiles', 'no')
    const { status, output } = project.eject('--name', 'my-client')
    t.equal(status, 1)
    t.match(output, 'Commit the changes first')
    t.ok(project.has('src/sandbox'))
  },
)

for (const isInGit of [true, false])
  t.test(
    `${isInGit ? 'in' : 'without'} a git repository, npm run eject keeps all files that it removes or changes, and says where they are`,
    async t => {
      const project = copyProject(t)
      const { eject, read, has, folder } = project
      if (isInGit) commitAll(project)
      // Git ignores this file.
      writeFileSync(join(folder, 'src/sandbox/client.env'), 'CLIENT_SECRET=mine')
      const before = [
        'README.md',
        'package.json',
        'src/sandbox/app.ts',
        'src/sandbox/client.env',
        'docs/operations.md',
      ].map(path => [path, read(path)] as const)
      const { status, output } = eject('--name', 'my-client')
      t.equal(status, 0, output)
      t.match(output, 'the files are now in data/left-behind')
      t.notOk(has('src/sandbox'))
      for (const [path, text] of before) t.equal(read(`data/left-behind/${path}`), text, path)
      t.same(readdirSync(join(folder, 'data')), ['left-behind'], 'the folder must contain nothing else')
    },
  )

/**
 * The reasons why the command cannot finish. `breakIt` causes the problem, and returns environment variables for the
 * command. `says` is the message of the command.
 */
const obstacles: {
  what: string
  breakIt: (project: Project, bin: string) => Record<string, string>
  says: string | RegExp
  options?: string[]
}[] = [
  { what: 'npm is missing', breakIt: (_project, bin) => ({ PATH: bin }), says: 'npm cannot be run' },
  {
    what: 'npm cannot write the lock file',
    breakIt: (_project, bin) => {
      writeFileSync(join(bin, 'npm'), '#!/bin/sh\n[ "$1" = --version ]\n', { mode: 0o755 })
      return { PATH: bin }
    },
    says: /install --package-lock-only[\s\S]*Nothing was changed/,
  },
  {
    what: 'data/left-behind already exists',
    breakIt: ({ folder }) => {
      mkdirSync(join(folder, 'data/left-behind'), { recursive: true })
      return {}
    },
    says: 'data/left-behind already exists',
  },
  {
    what: 'the lock file cannot be read',
    breakIt: ({ folder }) => {
      writeFileSync(join(folder, 'package-lock.json'), '{')
      return {}
    },
    says: /JSON[\s\S]*Nothing was changed/,
  },
  {
    what: 'a file of the project is missing',
    breakIt: ({ folder }) => {
      rmSync(join(folder, 'Dockerfile'))
      return {}
    },
    says: /Dockerfile[\s\S]*Nothing was changed/,
  },
  {
    what: 'a line that --bare replaces is not in app.ts',
    breakIt: ({ folder, read }) => {
      const app = 'src/client/app.ts'
      writeFileSync(join(folder, app), read(app).replace("name: 'Applications',", "name: 'Ours',"))
      return {}
    },
    says: /app\.ts must contain this exactly once, .*: name: 'Applications',\nNothing was changed/,
    options: ['--bare'],
  },
  {
    what: 'data is a file',
    breakIt: ({ folder }) => {
      writeFileSync(join(folder, 'data'), '')
      return {}
    },
    says: /data[\s\S]*Nothing was changed/,
  },
  {
    // This happens if the disk is full. On Windows it also happens if another program uses the folder.
    what: 'a rename fails in the middle',
    breakIt: ({ folder }) => breakRenames(folder, 20),
    says: /EBUSY[\s\S]*Nothing was changed/,
  },
]

t.test(
  'if npm run eject cannot finish, it changes nothing and says why, and it works after the cause is removed',
  async t => {
    const project = copyProject(t)
    const { folder } = project
    const whole = listFiles(folder)
    for (const { what, breakIt, says, options = [] } of obstacles) {
      const variables = breakIt(project, toolsWithoutNpm(t, project))
      const before = listFiles(folder)
      const { status, output } = ejectWith(project, variables, ...options)
      t.equal(status, 1, what)
      t.match(output, says)
      t.notMatch(output, /^ +at /m, 'the output must not contain a stack trace')
      t.same(listFiles(folder), before, 'the command must not change any file')

      for (const path of Object.keys(before).filter(path => !(path in whole)))
        rmSync(join(folder, path), { recursive: true, force: true })
      for (const [path, text] of Object.entries(whole))
        if (before[path] !== text) writeFileSync(join(folder, path), text)
    }
    const { status, output } = project.eject('--name', 'my-client')
    t.equal(status, 0, output)
    t.notOk(project.has('src/sandbox'))
  },
)

t.test(
  'if npm run eject cannot undo all moves, it deletes no files, and lists where to find those that it could not move back',
  async t => {
    const project = copyProject(t)
    const { folder, read, has } = project
    const kept = new Set(Object.values(listFiles(folder)))
    // The first move back is the move with the number 21.
    const { status, output } = ejectWith(project, breakRenames(folder, 20, 25))
    t.equal(status, 1)
    t.notMatch(output, 'Nothing was changed')
    const [, from = '', to = ''] = /Move them yourself:\n {2}(data\/left-behind\/\S+) to (\S+)\n$/.exec(output) ?? []
    t.ok(has(from), output)
    t.notOk(has(to))
    for (const text of Object.values(listFiles(folder))) kept.delete(text)
    t.same([...kept], [], 'every file must still exist')
    t.match(read('package.json'), '"name": "application-client"')
  },
)

t.test('npm run eject does not change .env, node_modules and data', async t => {
  const project = copyProject(t)
  const { folder, read, has } = project
  commitAll(project)
  for (const [path, text] of Object.entries({
    '.env': 'CLIENT_ID=mine',
    'data/sandbox.db': 'rows',
    'node_modules/a/b': 'c',
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const { status, output } = project.eject('--name', 'my-client')
  t.equal(status, 0, output)
  t.equal(read('.env'), 'CLIENT_ID=mine')
  t.equal(read('node_modules/a/b'), 'c')
  t.same(readdirSync(join(folder, 'data')), ['left-behind', 'sandbox.db'])
  t.equal(read('data/sandbox.db'), 'rows')
  t.match(project.run('git', 'status', '--porcelain').output, /^ D src\/sandbox\//m)
  t.equal(project.run('git', 'checkout', '--', 'src').status, 0)
  t.ok(has('src/sandbox'), 'git must restore the removed files')
})

t.test('on Windows, npm run eject starts npm.cmd in a shell', async t => {
  const project = copyProject(t)
  const bin = toolsWithoutNpm(t, project)
  const npm = project.run('which', 'npm').output.trim()
  symlinkSync(process.execPath, join(bin, 'node'))
  writeFileSync(join(bin, 'npm.cmd'), `#!/bin/sh\nexec ${npm} "$@"\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'windows.mjs'), "Object.defineProperty(process, 'platform', { value: 'win32' })\n")
  const windows = `--import=${join(bin, 'windows.mjs')}`
  const { status, output } = ejectWith(project, { PATH: bin, comspec: '/bin/sh', NODE_OPTIONS: windows })
  t.equal(status, 0, output)
  t.equal(JSON.parse(project.read('package-lock.json')).name, 'my-client')
})

/** Returns environment variables with which the renames with these numbers fail. The first rename has the number 1. */
function breakRenames(folder: string, ...numbers: number[]): Record<string, string> {
  const script = join(folder, 'data.mjs')
  writeFileSync(
    script,
    `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { renameSync } = fs
let count = 0
fs.renameSync = (from, to) => {
  if ([${numbers}].includes(++count)) throw new Error('EBUSY: ' + from)
  renameSync(from, to)
}
syncBuiltinESMExports()
`,
  )
  return { NODE_OPTIONS: `--import=${script}` }
}

/** Makes a folder for PATH. It contains every program that eject calls, except npm. */
function toolsWithoutNpm(t: Test, { run }: Project): string {
  const bin = mkdtempSync(join(tmpdir(), 'tools-'))
  t.teardown(() => rmSync(bin, { recursive: true }))
  for (const tool of ['sh', 'git']) symlinkSync(run('which', tool).output.trim(), join(bin, tool))
  return bin
}

function ejectWith({ run }: Project, variables: Record<string, string>, ...options: string[]) {
  const pairs = Object.entries(variables).map(pair => pair.join('='))
  return run('env', ...pairs, process.execPath, 'scripts/eject.ts', '--name', 'my-client', ...options)
}

/** Returns the content of a folder, keyed by path: the text of each file, or a note that the path is a folder. */
function listFiles(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    entries.map(entry => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path), entry.isFile() ? readFileSync(path, 'latin1') : 'a folder']
    }),
  )
}
