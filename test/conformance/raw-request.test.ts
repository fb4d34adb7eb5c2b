// Tests that the suite sends a long body, except if the server has already refused it.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { sendRaw } from '../../src/conformance/raw-request.ts'

const body = 'a'.repeat(5_000_000)

/** Starts a server that calls `serve` for each connection. Returns its address. */
async function listen(t: Test, serve: (socket: Socket) => void): Promise<string> {
  const server = createServer(socket => serve(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

t.test('if a server refuses a long body, the suite receives the refusal, and does not send the body', async t => {
  const url = await listen(t, socket => {
    socket.once('data', () => {
      // A system resets a connection that is closed before all data was read. The answer can then be lost.
      socket.on('data', () => socket.resetAndDestroy())
      setTimeout(() => socket.end('HTTP/1.1 413 Content Too Large\r\ncontent-length: 8\r\n\r\ntoo long'), 20)
    })
  })
  t.match((await sendRaw(url, { method: 'POST', body })).response, { status: 413, body: 'too long' })
})

t.test('a server that waits for a long body receives the whole body', async t => {
  const url = await listen(t, socket => {
    let received = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk
      if (received.endsWith(`\r\n\r\n${body}`)) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  t.match((await sendRaw(url, { method: 'POST', body })).response, { status: 200, body: 'ok' })
})

t.test('if a server sends an answer without an end, the suite stops reading it', async t => {
  const part = Buffer.alloc(1_000_000, 'x')
  const url = await listen(t, socket => {
    const sendPart = (error?: Error | null) => {
      if (!error) socket.write(part, sendPart)
    }
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n', sendPart))
  })
  t.match((await sendRaw(url, { timeoutMs: 5000 })).response, { error: /larger than/, loss: undefined })
})
