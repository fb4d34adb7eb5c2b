// Connections as a proxy in front keeps them: idle for a while, then used again; and what it sends along.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { buildTestClient, publicUrl } from '../support/build-test-client.ts'
import { openSocket, rawGet } from '../support/raw-socket.ts'

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
