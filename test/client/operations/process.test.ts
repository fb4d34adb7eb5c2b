// Tests the client's process: its address, its shutdown, and a log that nobody reads. These tests wait for real time to
// pass.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { askOften } from '../../support/raw-socket.ts'
import { fillDisk, hasIpv6, preload } from '../../support/start-conditions.ts'
import { timed } from '../../support/stopwatch.ts'
import { beginLogin, callbackUrl, publicUrl, signIn } from '../support/build-test-client.ts'
import { giveTokens, send, startScriptedPlatform, tokenAnswer } from '../support/scripted-platform.ts'
import { smallApi } from '../support/small-product.ts'
import { type SpawnedClient, spawnClient } from '../support/spawn-client.ts'

// The tests mostly wait for processes, so four tests run at the same time.
t.jobs = 4

/** With this script, a PRESTOP_DELAY of one minute ends as soon as the process gets SIGUSR2. */
const endDelay = `
  import { once } from 'node:events'
  import { syncBuiltinESMExports } from 'node:module'
  import timers from 'node:timers/promises'
  const { setTimeout } = timers
  timers.setTimeout = (ms, ...more) => (ms === 60_000 ? once(process, 'SIGUSR2') : setTimeout(ms, ...more))
  syncBuiltinESMExports()
`

/**
 * Sends a form without its last byte. `end` sends the last byte. `answer` resolves to all data that arrives until the
 * connection closes.
 */
async function openRequest({ url }: SpawnedClient) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\n` +
      'content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\na=',
  )
  const answer = text(socket).catch(() => 'reset')
  return { end: () => socket.write('b'), answer }
}

t.test(
  'F-26, CT-05: if a client gets SIGTERM, it is no longer ready, still answers requests, and exits with 0',
  async t => {
    const client = await spawnClient(t, { PRESTOP_DELAY: '60', NODE_OPTIONS: preload(endDelay) })
    t.equal((await client.get('/health/ready')).statusCode, 200)
    const begun = await openRequest(client)
    client.child.kill('SIGTERM')
    await client.waitForOutput('"event":"stopping"')

    const ready = await client.get('/health/ready')
    t.equal(ready.statusCode, 503)
    t.match(JSON.parse(ready.body), { status: 'draining' })
    t.equal((await client.get('/health/live')).statusCode, 200)
    t.equal((await client.get('/')).statusCode, 200, 'new requests must still get answers during the delay')

    client.child.kill('SIGUSR2')
    await refusesConnections(client)
    begun.end()
    const answer = await begun.answer
    t.match(answer, /^HTTP\/1\.1 303 /)
    t.match(answer, /\r\nconnection: close\r\n/i)
    t.same(await client.exited, [0, null])
  },
)

/** Resolves when the client refuses new connections. */
async function refusesConnections(client: SpawnedClient) {
  for (;;) {
    const isRefused = await client.get('/health/live').then(
      () => false,
      error => error.code === 'ECONNREFUSED',
    )
    if (isRefused) return
  }
}

t.test('F-26: the process stops even if a request never ends', async t => {
  const client = await spawnClient(t, {})
  const stuck = await openRequest(client)
  client.child.kill('SIGTERM')
  const [ended, took] = await timed(client.exited)
  t.same(ended, [0, null])
  t.ok(took.own < 15, `${took.own} s`)
  await stuck.answer
})

t.test('F-26: the process stops even if a call to the API has not ended', async t => {
  const scripts = { 'POST /api/exchangeToken': giveTokens({ refresh_token: 'first' }), ...smallApi }
  const platform = await startScriptedPlatform(t, scripts)
  const client = await spawnClient(t, { LOGIN_URL: platform.url, API_URL: platform.url })
  await signIn(client.browser)
  // The page first waits for the renewal, and then for the API.
  platform.answer('POST /api/exchangeToken', async (request, response) => {
    await setTimeout(4_500)
    send(response, { body: tokenAnswer(request, { refresh_token: 'second' }) })
  })
  platform.answer('GET /things', () => {})
  client.browser.cookies.delete('__Host-session')
  const page = client.browser.get('/page').catch(() => undefined)
  while (platform.received('POST /api/exchangeToken').length < 2) await setTimeout(50)
  client.child.kill('SIGTERM')
  const [ended, took] = await timed(client.exited)
  t.same(ended, [0, null])
  t.ok(took.own < 12.5, `${took.own} s`)
  await page
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`F-27: a second ${signal} ends the process immediately`, async t => {
    const client = await spawnClient(t, { PRESTOP_DELAY: '60' })
    client.child.kill(signal)
    await client.waitForOutput('"event":"stopping"')
    client.child.kill(signal)
    t.same(await client.exited, [1, null])
  })
}

/** The tests that do not stop their client share this client. */
const lasting = await spawnClient(t, {})

t.test('F-27: SIGHUP is ignored', async t => {
  lasting.child.kill('SIGHUP')
  t.equal((await lasting.get('/health/live')).statusCode, 200)
  t.equal((await lasting.get('/health/ready')).statusCode, 200)
  t.equal(lasting.child.exitCode, null)
})

const skipIpv6 = !hasIpv6 && 'this machine has no IPv6'

t.test('CT-06: the client listens on HOST, which may be an IPv6 address', { skip: skipIpv6 }, async t => {
  const client = await spawnClient(t, { HOST: '::1' })
  t.match(client.url, 'http://[::1]:')
  t.equal((await client.get('/health/live')).statusCode, 200)
})

t.test('LG-05: every log line has the time in UTC, the name of the program and its version', async t => {
  await lasting.get('/')
  await lasting.waitForOutput('"event":"request"')
  const lines = lasting.log()
  t.ok(lines.length >= 3)
  for (const line of lines) {
    t.match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.equal(line.app, 'client')
    t.match(line.version, /^\d+\.\d+\.\d+/)
  }
  t.match(lines.find(({ event }) => event === 'request')?.reqId, /^[\w-]{1,64}$/)
})

t.test('LG-07: the client keeps working if its log is closed', async t => {
  const client = await spawnClient(t, { LOG_LEVEL: 'trace' })
  client.child.stdout.destroy()
  client.child.stderr.destroy()
  for (let count = 0; count < 50; count++) t.equal((await client.get('/')).statusCode, 200)
  client.child.kill('SIGTERM')
  t.same(await client.exited, [0, null])
})

t.test('LG-07: the client keeps working if nobody reads its log', async t => {
  const client = await spawnClient(t, { LOG_LEVEL: 'trace' })
  client.child.stdout.pause()
  // A pipe holds 64 KiB, and the two log lines of a page take about 400 bytes. The client also buffers a few lines.
  t.equal((await askOften(client.url, '/nowhere', 1_000)).match(/HTTP\/1\.1 404 /g)?.length, 1_000)
  t.equal((await client.get('/')).statusCode, 200)
  client.child.kill('SIGTERM')
  t.same(await client.exited, [0, null], 'the process must end with 0')
})

t.test('F-39, LG-07: if the disk of the log is full, the client keeps working and can stop', async t => {
  const toFullDisk = ['sh', '-c', 'exec "$0" "$@" >/dev/full']
  const client = await spawnClient(t, { LOG_LEVEL: 'trace' }, { prefix: toFullDisk })
  for (let count = 0; count < 50; count++) t.equal((await client.get('/')).statusCode, 200)
  client.child.kill('SIGTERM')
  t.same(await client.exited, [0, null])
})

t.test(
  'F-39, LG-07: when the disk has space again, the client writes to its log again, even if it has lost a mebibyte of lines',
  async t => {
    const client = await spawnClient(t, { NODE_OPTIONS: preload(fillDisk) })
    client.child.kill('SIGUSR2')
    await askOften(client.url, '/exchangeToken?code=x', 4_000)
    t.ok(client.output().length < 300_000, `${client.output().length} bytes before`)
    client.child.kill('SIGUSR2')
    // The client also loses the lines that it logs before its first successful write.
    while (!client.output().includes('after-the-flood')) {
      await client.get('/nowhere', { 'x-request-id': 'after-the-flood' })
      await setTimeout(20)
    }
  },
)

t.test('LG-09: an uncaught error writes one line and ends the process', async t => {
  const client = await spawnClient(t, { NODE_OPTIONS: preload(crash) })
  client.child.kill('SIGUSR2')
  t.same(await client.exited, [1, null])
  const fatal = client.log().filter(({ level }) => level === 60)
  t.equal(fatal.length, 1)
  t.match(fatal[0], { event: 'crashed', cause: { name: 'Error', message: 'on purpose' } })
})

const crash = `process.on('SIGUSR2', () => { Promise.reject(new Error('on purpose')) })`

t.test(
  'F-29: if the process is killed between the login and the callback, another replica finishes the login',
  async t => {
    const platform = await startScriptedPlatform(t, { ...smallApi, 'POST /api/exchangeToken': giveTokens() })
    const environment = {
      LOGIN_URL: platform.url,
      API_URL: platform.url,
      COOKIE_KEYS: randomBytes(32).toString('base64url'),
    }
    const first = await spawnClient(t, environment)
    const { browser } = first
    const started = await beginLogin(browser)
    first.child.kill('SIGKILL')
    await first.exited
    browser.server = (await spawnClient(t, environment)).client
    t.equal((await browser.get(callbackUrl(started), { site: 'cross-site' })).statusCode, 200)
    t.equal((await browser.get('/page', { site: 'same-origin' })).statusCode, 200)
  },
)
