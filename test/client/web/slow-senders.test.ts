// Who sends a request too slowly is cut off. These tests wait for the real deadlines: 10 s for headers, 15 s for all.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { buildTestClient, publicUrl } from '../support/build-test-client.ts'
import { exchangeRaw, openSocket, rawGet } from '../support/raw-socket.ts'
import { timed } from '../support/stopwatch.ts'

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
