// Tests the client's process: errors that end the process when it starts, and its first log lines.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { fastify } from 'fastify'
import t, { type Test } from 'tap'
import { clientSettings } from '../../src/client/config.ts'
import { listen } from '../../src/client/operations/listen.ts'
import { productSettings } from '../../src/client/settings.ts'
import { readOutput } from '../support/read-output.ts'
import { productMain } from './support/spawn-client.ts'

const small = fileURLToPath(new URL('./support/small-main.ts', import.meta.url))
const good = {
  PORT: '0',
  LOGIN_URL: 'http://127.0.0.1:1',
  API_URL: 'http://127.0.0.1:1',
  CLIENT_ID: 'client-1',
  CLIENT_SECRET: 'a-good-client-credential',
  COOKIE_KEYS: randomBytes(32).toString('base64url'),
}

function start(t: Test, environment: Record<string, string | undefined>, program = small) {
  // The process gets only these settings, and nothing from this machine's environment except the compile cache.
  const { NODE_COMPILE_CACHE } = process.env
  const child = spawn(process.execPath, [program], {
    env: { ...good, NODE_COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const { output, closed, waitForOutput } = readOutput(child)
  return { output, waitForOutput, exitCode: closed.then(([code]) => code) }
}

t.test(
  'SE-03, CT-08: if settings are missing or wrong, the process exits and names each setting without its value',
  async t => {
    const { exitCode, output } = start(t, {
      CLIENT_ID: undefined,
      CLIENT_SECRET: 'changeme-hunter2',
      COOKIE_KEYS: `hunter2${randomBytes(9).toString('base64url')}`,
      PORT: 'hunter2',
      LOGIN_URL: 'http://portal.example',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    })
    t.equal(await exitCode, 1)
    for (const name of [
      'CLIENT_ID',
      'CLIENT_SECRET',
      'COOKIE_KEYS',
      'PORT',
      'LOGIN_URL',
      'NODE_TLS_REJECT_UNAUTHORIZED',
    ])
      t.match(output(), new RegExp(`^ +- ${name}\\b`, 'm'))
    t.notMatch(output(), 'hunter2')
    t.notMatch(output(), /^ +at /m, 'no stack')
  },
)

t.test('npm start without settings names every required setting, including the settings of the product', async t => {
  const { exitCode, output } = start(
    t,
    Object.fromEntries(Object.keys(good).map(name => [name, undefined])),
    productMain,
  )
  t.equal(await exitCode, 1)
  const needed = [...clientSettings, ...productSettings.list].filter(setting => setting.default === undefined)
  const named = [...output().matchAll(/^ +- (\w+) is missing\./gm)].map(([, name]) => name)
  t.same(named.toSorted(), needed.map(({ name }) => name).toSorted())
})

const warnings = (output: string) => output.split('\n').filter(line => line.includes('"event":"plain_http"'))

async function takePort(t: Test): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return String((server.address() as AddressInfo).port)
}

for (const setting of ['PORT', 'METRICS_PORT'] as const) {
  for (const HOST of ['127.0.0.1', 'localhost']) {
    t.test(
      `CT-08: if another program uses the port of ${setting} on ${HOST}, the process exits and names ${setting}`,
      async t => {
        const port = await takePort(t)
        const { exitCode, output } = start(t, { HOST, [setting]: port })
        t.equal(await exitCode, 1)
        t.match(output(), `\n  - ${setting}: another program uses ${port} on `)
        t.notMatch(output(), /^ +at /m, 'no stack')
      },
    )
  }
}

for (const HOST of ['no-such-host.invalid', '192.0.2.1', 'no host']) {
  t.test(`CT-08: if the client cannot listen on ${HOST}, the process exits and names HOST`, async t => {
    for (const more of [{}, { METRICS_PORT: '0' }]) {
      const { exitCode, output } = start(t, { HOST, ...more })
      t.equal(await exitCode, 1)
      t.match(output(), `\n  - HOST: the client cannot listen on ${HOST} (E`)
      t.notMatch(output(), /^ +at /m, 'no stack')
    }
  })
}

t.test(
  'if a product throws an error when it is built, the process exits and prints the stack, or the thrown string',
  async t => {
    const program = fileURLToPath(new URL('./support/failing-main.ts', import.meta.url))
    const error = start(t, {}, program)
    t.equal(await error.exitCode, 1)
    t.match(error.output(), /TypeError: a mistake\n +at .*failing-main\.ts/)
    const text = start(t, { THROWS_TEXT: 'yes' }, program)
    t.equal(await text.exitCode, 1)
    t.match(text.output(), /^a thrown text$/m)
  },
)

t.test('if an onReady hook fails, the client reports the hook’s error, and does not blame HOST', async t => {
  const app = fastify()
  t.teardown(() => app.close())
  const problem = Object.assign(new Error('the database does not answer'), { code: 'ECONNREFUSED' })
  app.addHook('onReady', async () => {
    throw problem
  })
  await t.rejects(listen(app, '127.0.0.1', 0), problem)
})

t.test('UP-10: the log warns once about internal addresses without https', async t => {
  const { output, waitForOutput } = start(t, {
    HOST: '127.0.0.1',
    API_INTERNAL_URL: 'http://api:4001',
    LOG_LEVEL: 'info',
  })
  await waitForOutput('listening')
  t.equal(warnings(output()).length, 1)
  t.match(JSON.parse(warnings(output())[0]!), { level: 40, addresses: ['http://api:4001'] })
})

const { output, waitForOutput } = start(t, {
  HOST: '127.0.0.1',
  API_INTERNAL_URL: 'https://api:4001',
  PRESTOP_DELAY: '7',
})
await waitForOutput('listening')

t.test('UP-10: the log does not warn about https addresses or loopback addresses', async t => {
  t.same(warnings(output()), [])
})

t.test('CT-08: when the process starts, it logs its settings without the secrets', async t => {
  const settings = output()
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
    .find(({ event }) => event === 'settings')
  t.match(settings?.settings, { host: '127.0.0.1', clientId: 'client-1', prestopDelayMs: 7000 })
  t.match(settings?.settings, { clientSecret: '[redacted]', cookieKeys: ['[redacted]'] })
  for (const secret of [good.CLIENT_SECRET, good.COOKIE_KEYS]) t.notMatch(output(), secret)
})
