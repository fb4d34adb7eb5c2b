// Tests the sandbox as a process: its first log lines, and how it stops. These tests wait in real time.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { preload } from '../support/start-conditions.ts'
import { buildTestSandbox, makeSqliteUrl, seeded } from './support/build-test-sandbox.ts'
import { callAsDeveloper } from './support/call-api.ts'
import { startInVain, startSandbox } from './support/start-sandbox.ts'

// Several tests use this sandbox, and the last of them stops it.
const databaseUrl = await makeSqliteUrl(t)
const sandbox = await startSandbox(t, { databaseUrl, settings: { PRESTOP_DELAY: '2', API_URL: 'https://api.test' } })

t.test('CT-08: when the sandbox starts, it logs its settings without secrets and without e-mail addresses', async t => {
  const { settings } = JSON.parse(sandbox.logLines[0]!)
  t.strictSame(settings, {
    host: '127.0.0.1',
    portalPort: 0,
    apiPort: 0,
    portalUrl: 'http://127.0.0.1:4000',
    apiUrl: 'https://api.test',
    trustedProxies: [],
    maxConnections: 1000,
    accessTokenSeconds: 86_400,
    codeSeconds: 60,
    databaseUrl: '[redacted]',
    seed: {
      clientId: seeded.clientId,
      clientSecret: '[redacted]',
      redirectUris: [seeded.redirectUri],
      userEmail: '[redacted]',
      userPassword: '[redacted]',
    },
    prestopDelayMs: 2000,
    logLevel: 'info',
  })
  const log = sandbox.logLines.join('')
  for (const secret of [seeded.clientSecret, seeded.password, seeded.email, databaseUrl]) t.notOk(log.includes(secret))
})

t.test(
  'CT-08: if the sandbox cannot listen on its host or port, it does not start, and the message names the wrong setting',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.teardown(() => taken.close())
    const { port } = taken.address() as AddressInfo
    const reasons: [Record<string, string>, RegExp][] = [
      [{ HOST: 'nowhere.invalid' }, /^The sandbox did not start: cannot listen on HOST, .*ENOTFOUND.*\n$/],
      [{ HOST: '192.0.2.1' }, /^The sandbox did not start: cannot listen on HOST, .*EADDRNOTAVAIL.*\n$/],
      [{ PORTAL_PORT: `${port}` }, /^The sandbox did not start: .* PORTAL_PORT .*EADDRINUSE.*\n$/],
      [{ API_PORT: `${port}` }, /^The sandbox did not start: .* API_PORT .*EADDRINUSE.*\n$/],
      [{ LAB_PORT: `${port}` }, /^The sandbox did not start: .* LAB_PORT .*EADDRINUSE.*\n$/],
    ]
    for (const [settings, reason] of reasons) {
      const { code, stderr } = await startInVain(t, { databaseUrl, settings })
      t.equal(code, 1)
      t.match(stderr, reason)
    }
  },
)

t.test('the sandbox keeps running after SIGHUP, the signal of a closed terminal', async t => {
  const { pid, portal } = sandbox
  process.kill(pid, 'SIGHUP')
  for (let asked = 0; asked < 20; asked += 1) t.equal((await portal.inject('/health/live')).statusCode, 200)
})

t.test(
  'CT-05: after SIGTERM the sandbox reports that it is not ready, still answers requests, and exits with code 0',
  async t => {
    const { portal, api } = sandbox
    for (const listener of [portal, api]) t.equal((await listener.inject('/health/ready')).statusCode, 200)
    const code = sandbox.stop()
    while ((await portal.inject('/health/ready')).statusCode === 200);
    for (const listener of [portal, api]) {
      const ready = await listener.inject('/health/ready')
      t.equal(ready.statusCode, 503)
      t.strictSame(ready.json(), { status: 'stopping' })
      t.equal((await listener.inject('/health/live')).statusCode, 200)
    }
    t.equal((await portal.inject('/account')).statusCode, 200, 'new requests must still get answers during the delay')
    t.equal((await api.inject('/')).statusCode, 200)
    t.equal(await code, 0)
    const log = sandbox.logLines.join('')
    t.match(log, /"route":"\/account"/)
    t.notMatch(log, '/health/', 'health checks must not be logged at info')
  },
)

t.test(
  'CT-05: 8 seconds after SIGTERM the sandbox closes the connections of endless requests, and the process ends by itself',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const { accessToken } = await makeLargeApplication(t, databaseUrl)
    const sandbox = await startSandbox(t, { databaseUrl })
    const { portalPort, apiPort } = sandbox
    const list = `GET /apps/v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\n\r\n`
    const reader = await openAndSend(apiPort, list)
    await once(reader, 'readable')
    // These requests come last, because the sandbox closes their connections after a few seconds.
    const post = 'POST /api/exchangeToken HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
    const halfHead = await openAndSend(portalPort, post)
    const halfBody = await openAndSend(portalPort, `${post}Content-Length: 100\r\n\r\n{`)
    // When this request is answered, the sandbox has read the bytes that were sent earlier.
    t.equal((await sandbox.portal.inject('/health/live')).statusCode, 200)
    const startedAt = performance.now()
    const code = sandbox.stop()
    const uploads = [halfHead, halfBody].map(async socket => {
      await once(socket.resume(), 'close')
      return performance.now() - startedAt
    })
    t.equal(await code, 0)
    const stoppedIn = performance.now() - startedAt
    t.ok(stoppedIn < 10_000, `the process must end within 10 s, before a supervisor kills it: ${stoppedIn} ms`)
    for (const cutIn of [...(await Promise.all(uploads)), stoppedIn])
      t.ok(cutIn > 7900, `open requests must have 8 seconds before their connections are closed: ${cutIn} ms`)
    t.match(sandbox.logLines.at(-1), 'the sandbox has stopped')
  },
)

t.test('CT-05: after a second stop signal the sandbox process ends immediately', async t => {
  for (const [first, second] of [
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
  ] as const) {
    const settings = { PRESTOP_DELAY: '3600' }
    const { pid, portal, ended } = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), settings })
    process.kill(pid, first)
    while ((await portal.inject('/health/ready')).statusCode === 200);
    process.kill(pid, second)
    t.strictSame(await ended, { code: 1, stderr: '' }, `${first}, ${second}`)
  }
})

t.test('if an error is not caught, the sandbox writes one log line, and the process ends with exit code 1', async t => {
  const throwOnSignal = "process.on('SIGUSR2', () => { throw new Error('nobody caught this') })"
  const nodeOptions = preload(throwOnSignal)
  const { pid, ended, logLines } = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), nodeOptions })
  process.kill(pid, 'SIGUSR2')
  t.strictSame(await ended, { code: 1, stderr: '' })
  t.match(JSON.parse(logLines.at(-1)!), { level: 60, code: 'crashed', cause: { message: 'nobody caught this' } })
})

/**
 * Opens a connection and sends the text. Resolves when the operating system has accepted the text. The socket does not
 * read the answer.
 */
async function openAndSend(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  await new Promise<unknown>(resolve => socket.write(text, resolve))
  return socket
}

/**
 * Makes an application with a description of 16 MiB, so that the list is far larger than the buffers of two sockets.
 */
async function makeLargeApplication(t: Test, databaseUrl: string): Promise<{ accessToken: string }> {
  const sandbox = await buildTestSandbox(t, { databaseUrl, at: new Date() })
  const description = 'x'.repeat(16 * 1024 * 1024)
  await sandbox.store.write(db => db.updateTable('applications').set({ description }).execute())
  return callAsDeveloper(sandbox)
}
