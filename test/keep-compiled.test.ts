// What one start has compiled, the next one finds; and where nothing can be kept it starts all the same.
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const keepCompiled = resolve('scripts/keep-compiled.ts')

function start(cwd: string): string {
  // By way of env, because tap adds to the environment of whatever a test starts directly.
  const node = ['-i', process.execPath, '--import', keepCompiled, 'main.ts']
  return execFileSync('env', node, { cwd, encoding: 'utf8' })
}

t.test('what npm start compiles is kept beside the packages', async t => {
  t.match(JSON.parse(readFileSync('package.json', 'utf8')).scripts.start, 'scripts/keep-compiled.ts src/')
  const folder = t.testdir({ 'main.ts': "const text: string = 'one'\nconsole.log(text)\n" })
  const kept = () =>
    globSync('node_modules/.cache/compiled/**/*', { cwd: folder, withFileTypes: true }).filter(e => e.isFile())
  t.equal(start(folder), 'one\n')
  const { length } = kept()
  t.ok(length > 0)
  t.equal(start(folder), 'one\n')
  t.equal(kept().length, length, 'and found again')
})

t.test('where nothing can be kept the client starts all the same', async t => {
  const folder = t.testdir({ 'main.ts': "console.log('one' as string)\n", node_modules: 'no folder' })
  t.equal(start(folder), 'one\n')
  t.equal(readFileSync(join(folder, 'node_modules'), 'utf8'), 'no folder')
})
