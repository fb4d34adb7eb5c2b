// A starter of each size: what stays and what goes, that its types and documents are right, and that it signs a visitor in.
// eject.ci.ts looks deeper.
import t from 'tap'
import { commitAll, copyProject, linkPackages, passesTests } from './support/copy-project.ts'

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
const ofBare = ['src/client/bare', 'test/client/bare']
const always = ['docs/make-it-yours.md', 'docs/security-model.md', 'docs/operations.md']
const never = [
  'bench',
  'compose.yaml',
  'scripts/eject.ts',
  'scripts/starter',
  'docs/container.md',
  'CHANGELOG.md',
  'test/conformance/clients/right-clients.ci.ts',
]

/** Each `login` is a file of its tests that signs in, `stop` one that stops it. */
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
    login: 'test/client/bare/home.test.ts',
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
    stays: [...ofSandbox, ...ofBare],
    goes: [...ofApplications, ...ofBoth],
    login: 'test/client/bare/home.test.ts',
  },
]

for (const { options, stays, goes, login, stop } of sizes)
  t.test(
    `npm run eject ${options.join(' ')} leaves a client whose types are right, and that signs a visitor in`,
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
      t.notMatch(read('.env.example'), /127\.0\.0\.1|:400\d/, 'the settings name no address of the sandbox')
      t.match(read('.ci/run'), 'npm run validate')
      t.notMatch(read('.ci/run'), /starter|chromium/)

      linkPackages(project)
      // A second thread would look at much that the first has seen. Collecting garbage costs more than the half gigabyte that it saves.
      const { status, output } = run('env', 'GOGC=off', 'node', '--run', 'types', '--', '--singleThreaded')
      t.equal(status, 0, `node --run types finds nothing: ${output}`)
      passesTests(t, project, 'test/layout.test.ts', login, ...(stop ? [stop] : []))
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
