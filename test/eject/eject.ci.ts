// A starter of each size, deeper than eject.test.ts looks: nothing is found in it, it starts, and it does what its guide says.
// The whole suite of the one without options is .ci/test-starter.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commitAll, copyProject, linkPackages, type Project, passesTests } from './support/copy-project.ts'

t.setTimeout(600_000)

/** A product of one's own in place of the bare one, by the lines of the guide, and with nothing else changed. */
function beginAsTheGuideSays({ folder, read, run }: Project): void {
  for (const path of ['src/client/bare', 'test/client/bare']) rmSync(join(folder, path), { recursive: true })
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

/** `part` of its tests is run. What eject.test.ts has shown of the same files is not asked again. */
const sizes = [
  {
    options: ['--bare'],
    begin: beginAsTheGuideSays,
    check: ['validate', '--', '--checkers', '1'],
    part: [...guide, 'test/client/main.test.ts', 'test/client/sign-in/name.test.ts'],
  },
  { options: ['--sandbox'], check: ['lint'], part: [...guide, 'test/demo.test.ts'] },
  { options: ['--bare', '--sandbox'], check: ['lint'], part: [...guide, 'test/demo.test.ts'] },
]

for (const { options, begin, check, part } of sizes)
  t.test(
    `npm run eject ${options.join(' ')} leaves a client that is checked, starts, and is as its guide says`,
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
