// A program that npm has started must end when npm ends, because a supervisor can send its signal only to npm.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { productEnvironment } from './client/support/product-environment.ts'
import { findFreePorts, isFree } from './support/free-port.ts'
import { readOutput } from './support/read-output.ts'

t.setTimeout(600_000)

/** Makes a folder with its own `data` folder. All other files are those of the project. */
function makeFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'signals-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['package.json', 'check-node.mjs']) cpSync(name, join(folder, name))
  for (const name of ['src', 'views', 'scripts', 'node_modules']) symlinkSync(resolve(name), join(folder, name))
  return folder
}

const elsewhere = { LOGIN_URL: 'http://127.0.0.1:1', API_URL: 'http://127.0.0.1:1' }
const credentials = { CLIENT_ID: 'client-1', CLIENT_SECRET: 'a-good-client-credential' }
const scripts = [
  {
    script: 'start',
    settings: {
      ...productEnvironment,
      ...elsewhere,
      ...credentials,
      COOKIE_KEYS: randomBytes(32).toString('base64url'),
    },
    isUp: 'listening',
    lastWords: 'stopping',
  },
  { script: 'sandbox', settings: {}, isUp: 'the sandbox is ready', lastWords: 'the sandbox has stopped' },
  { script: 'demo', settings: productEnvironment, isUp: 'Lab: ', lastWords: '' },
]

for (const { script, settings, isUp, lastWords } of scripts.filter(
  ({ script }) => script === 'start' || existsSync('src/sandbox'),
))
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    t.test(`if npm gets ${signal}, the program of "npm run ${script}" stops cleanly and frees its ports`, async t => {
      const ports = await findFreePorts(4)
      const [port, portalPort, apiPort, labPort] = ports.map(String)
      // The command is started through env, because tap changes the environment of programs that a test starts
      // directly.
      const npm = spawn('env', ['-u', 'NODE_OPTIONS', 'npm', 'run', script], {
        cwd: makeFolder(t),
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
          PORT: port,
          PORTAL_PORT: portalPort,
          API_PORT: apiPort,
          LAB_PORT: labPort,
          ...settings,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        // npm gets its own process group, so that the test can end programs that are still running after npm has ended.
        detached: true,
      })
      t.teardown(() => {
        try {
          process.kill(-npm.pid!, 'SIGKILL')
        } catch {}
      })
      const exited = once(npm, 'exit')
      const { output, closed, waitForOutput } = readOutput(npm)
      await waitForOutput(isUp)
      npm.kill(signal)
      t.strictSame(await exited, [0, null], 'the program must stop by itself')
      for (const port of ports) t.ok(await isFree(port), `${port} is free`)
      await closed
      t.ok(output().includes(lastWords), 'the output must contain the last line of the program')
    })
