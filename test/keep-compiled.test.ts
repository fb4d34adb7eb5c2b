// When the client starts, it stores its compiled code, so that it starts faster the next time. The client also starts
// if the code cannot be stored.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'

const keepCompiled = resolve('scripts/keep-compiled.ts')

// The command is started through env, because tap changes the environment of programs that a test starts directly.
const nodeParameters = ['-i', process.execPath, '--import', keepCompiled, 'main.ts']

function start(cwd: string): string {
  return execFileSync('env', nodeParameters, { cwd, encoding: 'utf8' })
}

function listKept(folder: string) {
  const entries = globSync('node_modules/.cache/compiled/**/*', { cwd: folder, withFileTypes: true })
  return entries.filter(entry => entry.isFile())
}

t.test('npm start stores its compiled code next to the packages', async t => {
  t.match(JSON.parse(readFileSync('package.json', 'utf8')).scripts.start, 'scripts/keep-compiled.ts src/')
  const folder = t.testdir({ 'main.ts': "const text: string = 'one'\nconsole.log(text)\n" })
  t.equal(start(folder), 'one\n')
  const { length } = listKept(folder)
  t.ok(length > 0)
  t.equal(start(folder), 'one\n')
  t.equal(listKept(folder).length, length, 'the client must not store more code when it starts a second time')
})

t.test(
  'if a process is killed a few seconds after it has started, it has already stored the compiled code',
  { timeout: 20_000 },
  async t => {
    const folder = t.testdir({ 'main.ts': 'setInterval(() => {}, 1000 as number)\n' })
    const running = spawn('env', nodeParameters, { cwd: folder, stdio: 'ignore' })
    t.teardown(() => running.kill('SIGKILL'))
    while (listKept(folder).length === 0) await new Promise(resolve => setTimeout(resolve, 100))
    running.kill('SIGKILL')
    await once(running, 'exit')
    t.ok(listKept(folder).length > 0)
  },
)

t.test('the client starts even if the compiled code cannot be stored', async t => {
  const folder = t.testdir({ 'main.ts': "console.log('one' as string)\n", node_modules: 'no folder' })
  t.equal(start(folder), 'one\n')
  t.equal(readFileSync(join(folder, 'node_modules'), 'utf8'), 'no folder')
})
