// Connections as a proxy keeps them, idle for a while and then used again; and who sends too slowly, who is cut off at the real deadlines.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { buildTestClient, publicUrl } from '../support/build-test-client.ts'
import { exchangeRaw, openSocket, rawGet } from '../support/raw-socket.ts'
import { timed } from '../support/stopwatch.ts'

// Each waits most of the time.
t.jobs = 4

const health = rawGet('/health/live', { connection: 'keep-alive' })

/** Sends a request, and gives the whole answer; the connection stays. */
async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString('latin1')
}

t.test('F-45: a connection is kept for 72 idle seconds, longer than a proxy keeps it', async t => {
  const { client } = await buildTestClient(t)
  const socket = await openSocket(client)
  const answer = await ask(socket, health)
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.match(answer, /\r\nkeep-alive: timeout=72\r\n/i)
  t.equal(client.server.keepAliveTimeout, 72_000)
  socket.destroy()
})

t.test('F-45: a kept connection that was idle for longer than an answer may take is used again', async t => {
  const { client } = await buildTestClient(t)
  await client.listen({ host: '127.0.0.1', port: 0 })
  client.server.timeout = 500
  const socket = await openSocket(client)
  for (let count = 0; count < 3; count++) {
    t.match(await ask(socket, health), /^HTTP\/1\.1 200 /)
    await setTimeout(1_200)
  }
  t.notOk(socket.destroyed)
  socket.destroy()
})

t.test('F-45: a sender who waits for 100 Continue is told to go on', async t => {
  const { client } = await buildTestClient(t)
  const socket = await openSocket(client)
  const head =
    `POST /logout HTTP/1.1\r\nhost: localhost:3000\r\norigin: ${publicUrl}\r\nexpect: 100-continue\r\n` +
    'content-type: application/x-www-form-urlencoded\r\ncontent-length: 3\r\n\r\n'
  t.equal(await ask(socket, head), 'HTTP/1.1 100 Continue\r\n\r\n')
  t.match(await ask(socket, 'a=b'), /^HTTP\/1\.1 303 /)
  socket.destroy()
})

/** Sends `start` at once, and then an `x` every 200 ms; gives the answer when the connection is closed. */
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

t.test('DO-02: headers or a body that drip are cut off with 408, and nobody else waits', async t => {
  const { client } = await buildTestClient(t)
  // With the interval of the checks.
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
})
