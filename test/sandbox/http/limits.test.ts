// The portal and the API close the connections of senders and readers that are too slow, and refuse ambiguous requests.
// The tests of DO-02 wait for the real deadlines of 5 s and 10 s.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import t from 'tap'
import { createServer } from '../../../src/sandbox/http/server.ts'
import { exchangeRaw, openSocket, rawRequest } from '../../support/raw-socket.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper } from '../support/call-api.ts'
import { labConfig } from '../support/call-lab.ts'

// The tests mostly wait, so they run at the same time.
t.jobs = 8

/**
 * Sends `start`, and then one `x` every 200 ms. Returns the answer, and the number of seconds until the connection was
 * closed.
 */
async function drip(listener: FastifyInstance, start: string): Promise<[answer: string, seconds: number]> {
  const socket = await openSocket(listener)
  const startedAt = performance.now()
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  socket.write(start)
  const timer = setInterval(() => socket.write('x'), 200)
  await new Promise(resolve => socket.once('close', resolve))
  clearInterval(timer)
  return [answer, (performance.now() - startedAt) / 1000]
}

t.test(
  'DO-02: if headers or a body arrive too slowly, the portal and the API close the connection, and other requests do not wait',
  async t => {
    const { api, portal } = await buildTestSandbox(t)
    const host = 'Host: 127.0.0.1'
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20000'
    const cases: [string, FastifyInstance, string, number][] = [
      ['headers to the API', api, `GET /apps/v1 HTTP/1.1\r\n${host}\r\nX-Slow: `, 5],
      ['headers to the portal', portal, `GET /account HTTP/1.1\r\n${host}\r\nX-Slow: `, 5],
      ['a body to the portal', portal, `POST /api/exchangeToken HTTP/1.1\r\n${host}\r\n${form}\r\n\r\na=`, 10],
    ]
    const drips = cases.map(async ([what, listener, start, most]) => {
      const [answer, seconds] = await drip(listener, start)
      t.match(answer, /^(HTTP\/1\.1 408 |$)/, what)
      t.ok(seconds > most - 1 && seconds < most + 4, `${what}: ${seconds} s`)
    })
    for (const listener of [api, portal])
      t.match(
        await exchangeRaw(listener, rawRequest(['GET /health/live HTTP/1.1', host, 'Connection: close'])),
        /^HTTP\/1\.1 200 /,
      )
    await Promise.all(drips)
  },
)

t.test('DO-07: if nobody reads an answer, the sandbox closes the connection after 70 seconds at most', async t => {
  const server = createServer({ logger: pino({ level: 'silent' }), toBody: () => '' })
  t.teardown(() => server.close())
  server.get('/', async () => Buffer.alloc(16 * 1024 * 1024))
  t.ok(server.server.timeout > 20_000, 'the timeout must be longer than an answer may take')
  t.ok(server.server.timeout <= 35_000, 'twice the timeout must be at most 70 seconds')
  server.server.timeout = 500
  const served = once(server.server, 'connection') as Promise<[Socket]>
  const socket = await openSocket(server)
  const closed = once((await served)[0], 'close')
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await closed
  socket.destroy()
})

t.test(
  'DO-11: if two Host headers are the reason for a refusal, the refusal names these headers, and not the body',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const ask = (listener: FastifyInstance, path: string) =>
      exchangeRaw(listener, rawRequest([`GET ${path} HTTP/1.1`, 'Host: a', 'Host: b', 'Connection: close']))
    t.match(await ask(sandbox.api, '/apps/v1'), '"message":"Send one Host header."')
    t.match(await ask(sandbox.portal, '/api/exchangeToken'), '"error_description":"Send one Host header."')
    t.match(await ask(sandbox.portal, '/api/me'), '"message":"Send one Host header."')
    t.match(await ask(sandbox.portal, '/'), 'The login portal could not read the request.')
    const refused = sandbox.logLines.filter(line => line.includes('-refused'))
    t.equal(refused.length, 4)
    for (const line of refused) t.match(line, '"reason":"host-repeated"')
  },
)

t.test('DO-11: a request with an ambiguous length, an ambiguous host or a broken header is refused', async t => {
  const { api, portal } = await buildTestSandbox(t)
  const begin = ['POST /api/exchangeToken HTTP/1.1', 'Host: 127.0.0.1', 'Connection: close']
  const good = ['GET /health/live HTTP/1.1', 'Host: 127.0.0.1', 'Connection: close']
  for (const listener of [api, portal]) t.match(await exchangeRaw(listener, rawRequest(good)), /^HTTP\/1\.1 200 /)
  const shapes: Record<string, string[]> = {
    'a Content-Length and chunks': [...begin, 'Content-Length: 4', 'Transfer-Encoding: chunked'],
    'two Content-Length headers': [...begin, 'Content-Length: 4', 'Content-Length: 5'],
    'a Content-Length that is not a number': [...begin, 'Content-Length: +4'],
    'an unknown coding': [...begin, 'Transfer-Encoding: chunked, x'],
    'a folded line': [...begin, 'X: a', ' b'],
    'a space before the colon': [...begin, 'Content-Length : 4'],
    'no Host header': ['GET /health/live HTTP/1.1', 'Connection: close'],
    'two Host headers': [...good, 'host: 127.0.0.2'],
    'the same Host header twice': [...good, 'HOST: 127.0.0.1'],
    'a bare line feed': [...begin, 'X: a\nY: b'],
    'NUL in a header': [...begin, 'X: a\0b'],
  }
  for (const listener of [api, portal])
    for (const [name, lines] of Object.entries(shapes)) {
      // If you send a body, also send Transfer-Encoding. Without this header the sandbox would read the body as a
      // second request, and refuse it.
      const body = lines.some(line => line.startsWith('Transfer-Encoding')) ? '0\r\n\r\n' : ''
      t.match(await exchangeRaw(listener, rawRequest(lines, body)), /^HTTP\/1\.1 (400|501) /, name)
    }
})

/** Sends the text over an open connection, and resolves to the next bytes that the sandbox sends. */
async function ask(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  return String((await once(socket, 'data'))[0])
}

t.test(
  'F-45: the sandbox keeps an idle connection for 72 seconds, longer than a proxy does, and accepts more requests on the connection',
  async t => {
    const { api, portal } = await buildTestSandbox(t)
    await Promise.all(
      [api, portal].map(async listener => {
        t.equal(listener.server.keepAliveTimeout, 72_000)
        await listener.listen({ host: '127.0.0.1', port: 0 })
        // Set the time limit for answers to three seconds. The connection below is idle for longer, and must stay open.
        listener.server.timeout = 3000
        const socket = await openSocket(listener)
        for (let count = 0; count < 2; count += 1) {
          const answer = await ask(socket, 'GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
          t.match(answer, /^HTTP\/1\.1 200 /)
          t.match(answer, /\r\nKeep-Alive: timeout=72\r\n/i)
          await setTimeout(5000)
        }
        t.notOk(socket.destroyed)
        socket.destroy()
      }),
    )
    t.match(
      readFileSync('docs/operations.md', 'utf8'),
      'closes idle connections after 72 seconds',
      'the document must name this time',
    )
  },
)

t.test('F-45: if a sender waits for the status 100 Continue, the sandbox sends this status', async t => {
  const { portal } = await buildTestSandbox(t)
  const socket = await openSocket(portal)
  const head = 'POST /api/exchangeToken HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n'
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\n'
  t.equal(await ask(socket, head + form), 'HTTP/1.1 100 Continue\r\n\r\n')
  t.match(await ask(socket, 'a=b'), /^HTTP\/1\.1 400 .*"invalid_request"/s)
  socket.destroy()
})

/** From now on, each request must arrive within 200 ms. */
function beImpatient({ server }: FastifyInstance): void {
  Object.assign(server, { headersTimeout: 200, requestTimeout: 200 })
}

/**
 * Sends `start`, and after the answer one `x` every 100 ms. The sender never closes its own side of the connection.
 * Returns the answer, and the number of seconds until the connection is reset.
 */
async function ignoreTheEnd(listener: FastifyInstance, start: string): Promise<[answer: string, seconds: number]> {
  const { port } = listener.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
  let answer = ''
  socket.on('data', piece => {
    answer += piece
  })
  socket.write(start)
  await once(socket, 'end')
  const endedAt = performance.now()
  const timer = setInterval(() => socket.write('x'), 100)
  await Promise.race([new Promise(resolve => socket.once('close', resolve)), setTimeout(5000, 0, { ref: false })])
  clearInterval(timer)
  socket.destroy()
  return [answer, (performance.now() - endedAt) / 1000]
}

t.test(
  'DO-02: after a 400, 408 or 431 answer, the sandbox closes the connection, even if the sender keeps sending',
  async t => {
    const { api, portal, lab } = await buildTestSandbox(t, { lab: labConfig })
    const host = 'Host: 127.0.0.1'
    const unreadable = [
      [400, `GET / HTTP/1.1\r\n${host}\r\nno header\r\n\r\n`],
      [431, `GET / HTTP/1.1\r\n${host}\r\nX-Large: ${'x'.repeat(17_000)}`],
    ] as const
    const post = `POST /api/exchangeToken HTTP/1.1\r\n${host}\r\nContent-Type: application/json\r\nContent-Length: 99`
    const slow = [
      [408, `GET / HTTP/1.1\r\n${host}\r\nX-Slow: `],
      [408, `${post}\r\n\r\n{`],
    ] as const
    for (const [name, listener] of Object.entries({ api, portal, lab })) {
      const attempt = async ([status, start]: readonly [number, string]) => {
        const [answer, seconds] = await ignoreTheEnd(listener!, start)
        t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), name)
        t.ok(seconds < 3, `${name}, ${status}: ${seconds} s after the end`)
      }
      await listener!.listen({ host: '127.0.0.1', port: 0 })
      await Promise.all(unreadable.map(attempt))
      beImpatient(listener!)
      await Promise.all(slow.map(attempt))
    }
  },
)

t.test('DO-02: if the body of a request arrives only after a 408 answer, the request is not carried out', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, userId, call } = await callAsDeveloper(sandbox)
  const groups = async () => (await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)).json().ItemList.length
  const before = await groups()
  const body = JSON.stringify({
    context: 'https://standards.oftrust.net/v2/Context/Identity/Group/',
    type: 'Group',
    data: { name: 'Too late' },
  })
  const head =
    `POST /identities/v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${accessToken}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const inTime = await openSocket(sandbox.api)
  t.match(await ask(inTime, head + body), /^HTTP\/1\.1 201 /)
  inTime.destroy()
  t.equal(await groups(), before + 1, 'the same request must create a group if it arrives in time')

  beImpatient(sandbox.api)
  const late = await openSocket(sandbox.api)
  t.match(await ask(late, head + body.slice(0, 10)), /^HTTP\/1\.1 408 /)
  late.write(body.slice(10))
  await new Promise(resolve => late.once('close', resolve))
  t.equal(await groups(), before + 1)
})

t.test('DO-03: a sender that keeps sending gets the complete 431 answer before the connection is reset', async t => {
  const { api } = await buildTestSandbox(t)
  const accepted = once(api.server, 'connection') as Promise<[Socket]>
  const socket = await openSocket(api)
  const [served] = await accepted
  const answered = once(served, 'finish')
  socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: ${'x'.repeat(17_000)}`)
  await answered
  // If the sandbox had already closed the connection, these bytes would cause a reset.
  for (let count = 0; count < 3; count += 1) await new Promise(resolve => socket.write('x'.repeat(1000), resolve))
  const seen: string[] = []
  for (const event of ['data', 'end', 'error'])
    socket.on(event, what => seen.push(event === 'data' ? `${what}` : event))
  await new Promise(resolve => socket.once('close', resolve))
  t.match(seen.join(''), /^HTTP\/1\.1 431 .*\}end$/s)
})
