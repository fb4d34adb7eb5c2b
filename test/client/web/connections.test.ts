// Tests connections that a proxy keeps open, and senders that are too slow. These tests wait for real deadlines.

import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { webTexts } from '../../../src/client/web/texts.ts'
import { exchangeRaw, openSocket, rawGet } from '../../support/raw-socket.ts'
import { timed } from '../../support/stopwatch.ts'
import { buildTestClient, publicUrl } from '../support/build-test-client.ts'

// The tests wait most of the time, so several of them run at the same time.
t.jobs = 4

const health = rawGet('/health/live', { connection: 'keep-alive' })

/** Sends a request and returns the whole answer. The connection stays open. */
async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString('latin1')
}

t.test('F-45: the client keeps an idle connection for 72 seconds, longer than a proxy keeps it', async t => {
  const { client } = await buildTestClient(t)
  const socket = await openSocket(client)
  const answer = await ask(socket, health)
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.match(answer, /\r\nkeep-alive: timeout=72\r\n/i)
  t.equal(client.server.keepAliveTimeout, 72_000)
  socket.destroy()
})

t.test(
  'F-45: a connection can be used again, even if it was idle for longer than the time limit for an answer',
  async t => {
    const { client } = await buildTestClient(t)
    await client.listen({ host: '127.0.0.1', port: 0 })
    client.server.timeout = 2000
    const socket = await openSocket(client)
    for (let count = 0; count < 2; count++) {
      t.match(await ask(socket, health), /^HTTP\/1\.1 200 /)
      await setTimeout(4000)
    }
    t.notOk(socket.destroyed)
    socket.destroy()
  },
)

t.test('F-45: if a sender waits for a 100 Continue answer, the client sends this answer', async t => {
  const { client } = await buildTestClient(t)
  const socket = await openSocket(client)
  const head =
    `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\nexpect: 100-continue\r\n` +
    'content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\n'
  t.equal(await ask(socket, head), 'HTTP/1.1 100 Continue\r\n\r\n')
  t.match(await ask(socket, 'a=b'), /^HTTP\/1\.1 303 /)
  socket.destroy()
})

/** Sends `start`, and then an `x` every 200 ms until the connection is closed. Returns the answer. */
async function drip(socket: Socket, start: string): Promise<string> {
  const answer = text(socket).catch(() => '')
  socket.write(start)
  const timer = setInterval(() => socket.write('x'), 200)
  await once(socket, 'close')
  clearInterval(timer)
  return answer
}

const form =
  `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\n` +
  'content-type: application/x-www-form-urlencoded\r\n'

t.test(
  'DO-02: if headers or a body arrive very slowly, the client answers with 408, and other requests do not wait',
  async t => {
    const { client } = await buildTestClient(t)
    // The seconds include the interval at which Node checks its deadlines.
    const cases = [
      ['headers', 'GET / HTTP/1.1\r\nhost: localhost:3000\r\nx-slow: ', 10],
      ['a body', `${form}content-length: 20000\r\n\r\na=`, 15],
      ['chunks', `${form}transfer-encoding: chunked\r\n\r\n4000\r\n`, 15],
    ] as const
    const drips = cases.map(async ([what, start, most]) => {
      const [answer, took] = await timed(drip(await openSocket(client), start))
      t.match(answer, /^HTTP\/1\.1 408 /, what)
      t.match(answer, /\r\nx-content-type-options: nosniff\r\n/i, what)
      t.ok(took.wall > most - 1 && took.own < most + 3, `${what}: ${took.own} s`)
    })
    t.match(await exchangeRaw(client, rawGet('/')), /^HTTP\/1\.1 200 /)
    await Promise.all(drips)
  },
)

/**
 * Sends `start`. When the client has ended its side of the connection, this function keeps its own side open, and sends
 * an `x` every 100 ms for at most 5 seconds.
 */
async function ignoreTheEnd(client: FastifyInstance, start: string) {
  const { port } = client.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  let answer = ''
  socket.on('data', bytes => (answer += bytes))
  socket.write(start)
  await once(socket, 'end')
  const timer = setInterval(() => socket.write('x'), 100)
  const tooLong = setTimeout(5_000, 'it is still open after 5 seconds', { ref: false })
  // `once` of node:events would reject if the connection is reset.
  const cut = new Promise<string>(resolve => socket.once('close', () => resolve('closed')))
  const [closed, took] = await timed(Promise.race([cut, tooLong]))
  clearInterval(timer)
  socket.destroy()
  return { answer, closed, took }
}

t.test(
  'DO-02: after a 408, 400 or 431 answer, the client closes the connection, even if the sender keeps sending',
  async t => {
    const { client } = await buildTestClient(t)
    await client.listen({ host: '127.0.0.1', port: 0 })
    const cases = [
      [400, 'no request\r\n\r\n'],
      [431, `GET / HTTP/1.1\r\nhost: localhost:3000\r\nx-large: ${'x'.repeat(17_000)}`],
      [408, 'GET / HTTP/1.1\r\nhost: localhost:3000\r\nx-slow: '],
      [408, `${form}content-length: 20000\r\n\r\na=`],
    ] as const
    for (const [status, start] of cases) {
      if (status === 408) Object.assign(client.server, { headersTimeout: 200, requestTimeout: 200 })
      const { answer, closed, took } = await ignoreTheEnd(client, start)
      t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
      t.equal(closed, 'closed', `${status}`)
      t.ok(took.own < 2.5, `${status}: ${took.own} s after the end`)
    }
  },
)

t.test(
  'DO-02: if the body of a request arrives after a 408 answer, the client does not carry out the request',
  async t => {
    const handled: string[] = []
    const observeRequests = (app: FastifyInstance) =>
      void app.addHook('preHandler', async ({ url }) => {
        handled.push(url)
      })
    const { client } = await buildTestClient(t, { observeRequests })
    await client.listen({ host: '127.0.0.1', port: 0 })
    client.server.requestTimeout = 200
    client.server.headersTimeout = 200
    const socket = await openSocket(client)
    const answer = text(socket).catch(() => '')
    socket.write(`${form}content-length: 3\r\n\r\na=`)
    await once(socket, 'data')
    socket.write(`b${health}`)
    t.match(await answer, /^HTTP\/1\.1 408 /)
    t.match(await exchangeRaw(client, rawGet('/')), /^HTTP\/1\.1 200 /)
    t.same(handled, ['/'], 'the client must handle neither the form nor the request after it')
  },
)

t.test('DO-03: a sender that keeps sending gets the complete 431 answer before the connection is reset', async t => {
  const { client } = await buildTestClient(t)
  const accepted = once(client.server, 'connection') as Promise<[Socket]>
  const socket = await openSocket(client)
  const [served] = await accepted
  const answered = once(served, 'finish')
  socket.write(`GET / HTTP/1.1\r\nhost: localhost:3000\r\nx-large: ${'x'.repeat(17_000)}`)
  await answered
  // If the client had closed the connection already, these bytes would cause a reset.
  for (let count = 0; count < 3; count++) await new Promise(resolve => socket.write('x'.repeat(1_000), resolve))
  const seen: string[] = []
  for (const event of ['data', 'end', 'error'])
    socket.on(event, what => seen.push(event === 'data' ? `${what}` : event))
  await new Promise(resolve => socket.once('close', resolve))
  t.match(seen.join(''), /^HTTP\/1\.1 431 /)
  t.ok(seen.join('').endsWith(`${webTexts.errors.byStatus[431]}end`))
})
