// Makes the archive with "npm pack", and runs its commands in an empty folder. npm installs the packages that the
// archive needs, if possible from its own cache.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { findFreePort } from './support/free-port.ts'
import { readOutput } from './support/read-output.ts'

t.setTimeout(900_000)

// The folder is outside the repository. Otherwise npm would treat the repository as the project, because the repository
// contains node_modules.
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'archive-')))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const environment = { ...process.env, LAB_PORT: undefined }
const archive = String(
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { env: environment }),
).trim()

function start(...options: string[]) {
  const child = spawn('npx', ['--yes', '--prefer-offline', `./${archive}`, ...options], {
    cwd: folder,
    env: { ...environment, PORTAL_PORT: '0', API_PORT: '0' },
    detached: true,
  })
  t.teardown(() => {
    // The process group contains npx and the program. The signal goes to the whole group, because npx does not always
    // forward signals.
    if (child.exitCode === null && child.signalCode === null && child.pid) process.kill(-child.pid, 'SIGKILL')
  })
  return readOutput(child)
}

t.test('the archive contains the conformance suite and the sandbox, and no file of the client', async t => {
  const names = String(execFileSync('tar', ['-tzf', join(folder, archive)]))
  for (const path of ['bin/application.mjs', 'src/conformance/main.ts', 'src/sandbox/main.ts', 'views/sandbox/'])
    t.ok(names.includes(`package/${path}`), path)
  t.notMatch(names, /src\/client|\/test\/|\.env/)
})

t.test('the conformance suite in the archive can be started in an empty folder, and checks a client', async t => {
  const port = await findFreePort()
  const client = `${process.execPath} ${resolve('test/conformance/clients/main.ts')}`
  const { closed, output } = start(
    ...['conformance', '--client', `http://localhost:${port}`, '--only', '^login-works$', '--start', client],
  )
  const [code] = await closed
  t.equal(code, 0, output())
  t.match(output(), /1 passed, 0 failed/)
})

t.test('if a check fails, the conformance suite in the archive prints a command that repeats the check', async t => {
  const port = await findFreePort()
  const client = `${process.execPath} -e "require('http').createServer((_, r) => r.end()).listen(${port})"`
  const { closed, output } = start(
    ...['conformance', '--client', `http://localhost:${port}`, '--only', '^start-leads-to-portal$', '--start', client],
  )
  const [code] = await closed
  t.equal(code, 1, output())
  t.match(output(), `npx ./${archive} conformance --client`)
})

t.test(
  'if playwright-core is missing, the conformance suite with the option --browser says how to install it',
  async t => {
    const { closed, output } = start('conformance', '--client', 'http://localhost:1', '--browser', 'chromium')
    const [code] = await closed
    t.equal(code, 2, output())
    t.match(output(), 'Install it in the folder where you run the command: npm install --no-save playwright-core')
  },
)

t.test('the sandbox in the archive starts in an empty folder and stores its data in this folder', async t => {
  await start('sandbox').waitForOutput('the sandbox is ready')
  t.ok(readdirSync(folder).includes('data'), 'the database is in data/')
})

t.test('if the archive is run without a program name, it lists its programs', async t => {
  const { closed, output } = start()
  const [code] = await closed
  t.equal(code, 2)
  t.match(output(), 'Name a program: conformance or sandbox.')
})
