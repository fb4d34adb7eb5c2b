// More about a starter of each size than eject.test.ts checks: lint finds nothing, it starts, and its guide is right.
// .ci/test-starter runs all tests of the starter without options.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  addRequiredSetting,
  commitAll,
  copyProject,
  linkPackages,
  type Project,
  passesTests,
} from './support/copy-project.ts'

t.setTimeout(600_000)

/** Replaces the page of the bare client by the example of the guide, and changes nothing else. */
function beginAsTheGuideSays({ folder, read, run }: Project): void {
  for (const path of ['src/client/home.ts', 'test/client/home.test.ts']) rmSync(join(folder, path))
  for (const name of ['notes.ts', 'settings.ts']) {
    const text = read(`test/client/example/${name}`).replaceAll("'../../../src/client/", "'./")
    writeFileSync(join(folder, 'src/client', name), text)
  }
  const [buildClient = ''] =
    /export async function buildClient[\s\S]*?\n}\n/.exec(read('test/client/example/app.ts')) ?? []
  const app = read('src/client/app.ts')
    .replace(/export async function buildClient[\s\S]*?\n}\n/, () => buildClient)
    .replace("import { home } from './home.ts'", "import { notes, openStore } from './notes.ts'")
  writeFileSync(join(folder, 'src/client/app.ts'), app)
  run('npm', 'run', 'settings')
  run('npm', 'run', 'format')
}

/** The tests that start the client as a process, except those of the applications. */
const ofProcesses = [
  ...globSync('test/client/{sign-in,web,upstream,operations}/**/*.test.ts').filter(path =>
    readFileSync(path, 'utf8').includes('spawn'),
  ),
  ...['main', 'dev', 'setup'].map(name => `test/client/${name}.test.ts`),
  'test/client/operations/doctor.test.ts',
]

const guide = ['test/layout.test.ts', 'test/client/example/make-it-yours.test.ts']

/** `part` are the test files that are run. eject.test.ts runs others. */
const sizes = [
  {
    options: ['--bare'],
    begin: beginAsTheGuideSays,
    check: ['validate'],
    part: [...guide, 'test/client/main.test.ts', 'test/client/sign-in/name.test.ts'],
  },
  // A required setting of the product breaks no test that starts a process, and needs no value there.
  { options: [], begin: addRequiredSetting, check: ['types'], part: ['test/layout.test.ts', ...ofProcesses] },
  {
    options: ['--sandbox'],
    begin: (project: Project) => addRequiredSetting(project, 'a value'),
    check: ['lint'],
    part: [...guide, 'test/demo.test.ts'],
  },
  { options: ['--bare', '--sandbox'], check: ['lint'], part: guide },
]

for (const { options, begin, check, part } of sizes)
  t.test(
    `npm run eject ${options.join(' ')} makes a client without lint errors that starts, and whose guide is right`,
    async t => {
      const project = copyProject(t)
      commitAll(project)
      const ejected = project.eject('--name', 'my-client', ...options)
      t.equal(ejected.status, 0, ejected.output)
      linkPackages(project)
      begin?.(project)
      const { status, output } = project.run('npm', 'run', ...check)
      t.equal(status, 0, `npm run ${check[0]} finds nothing: ${output}`)
      passesTests(t, project, ...part)
    },
  )
