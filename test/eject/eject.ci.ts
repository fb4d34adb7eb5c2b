// Checks a starter for each combination of options, in addition to eject.test.ts: lint does not find a problem, the
// starter can be started, and its guide is right. .ci/test-starter runs all tests of the starter that is made without
// options.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import {
  addRequiredSetting,
  commitAll,
  copyProject,
  linkPackages,
  type Project,
  passesTests,
} from './support/copy-project.ts'

t.setTimeout(1_800_000)

/** Replaces the page of the bare client with the example product of the guide. */
function beginAsTheGuideSays({ folder, read, run }: Project): void {
  for (const path of ['src/client/home.ts', 'src/client/home-texts.ts', 'test/client/home.test.ts'])
    rmSync(join(folder, path))
  mkdirSync(join(folder, 'src/client/notes'))
  for (const name of ['notes/notes.ts', 'notes/live.ts', 'notes/offline.ts', 'notes/texts.ts', 'settings.ts']) {
    const example = read(`test/client/example/${basename(name)}`)
    const client = dirname(name) === 'notes' ? '../' : './'
    writeFileSync(join(folder, 'src/client', name), example.replaceAll("'../../../src/client/", `'${client}`))
  }
  const [buildClient = ''] =
    /export async function buildClient[\s\S]*?\n}\n/.exec(read('test/client/example/app.ts')) ?? []
  const app = read('src/client/app.ts')
    .replace(/export async function buildClient[\s\S]*?\n}\n/, () => buildClient)
    .replace("import { home } from './home.ts'", () =>
      [
        "import { join } from 'node:path'",
        "import { livePage } from './notes/live.ts'",
        "import { notes, openStore } from './notes/notes.ts'",
        "import { offline, type Pool, saveConnection } from './notes/offline.ts'",
        "import { chooseTexts } from './notes/texts.ts'",
      ].join('\n'),
    )
  writeFileSync(join(folder, 'src/client/app.ts'), app)
  cpSync(join(folder, 'test/client/example/views'), join(folder, 'src/client/views'), { recursive: true })
  // npm install @fastify/multipart
  const manifest = JSON.parse(read('package.json'))
  manifest.dependencies['@fastify/multipart'] = manifest.devDependencies['@fastify/multipart']
  delete manifest.devDependencies['@fastify/multipart']
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  run('npm', 'run', 'settings')
  run('npm', 'run', 'format')
}

/** The test files that start the client as a process, except the tests of the pages for applications. */
const ofProcesses = [
  ...globSync('test/client/{sign-in,web,upstream,operations}/**/*.test.ts').filter(path =>
    readFileSync(path, 'utf8').includes('spawn'),
  ),
  ...['main', 'dev', 'setup'].map(name => `test/client/${name}.test.ts`),
  'test/client/operations/doctor.test.ts',
]

const guide = ['test/layout.test.ts', 'test/client/example/make-it-yours.test.ts']

/** `part` lists the test files to run. eject.test.ts runs other test files. */
const sizes = [
  {
    options: ['--bare'],
    begin: beginAsTheGuideSays,
    check: ['validate'],
    part: [...guide, 'test/client/main.test.ts', 'test/client/sign-in/name.test.ts'],
  },
  // The tests that start the client must pass even if the product requires a setting that has no value.
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
    `npm run eject ${options.join(' ')} makes a client without lint errors, which can be started and has a correct guide`,
    async t => {
      const project = copyProject(t)
      commitAll(project)
      const ejected = project.eject('--name', 'my-client', ...options)
      t.equal(ejected.status, 0, ejected.output)
      linkPackages(project)
      begin?.(project)
      const { status, output } = project.run('npm', 'run', ...check)
      t.equal(status, 0, `npm run ${check[0]} must not find a problem: ${output}`)
      passesTests(t, project, ...part)
    },
  )
