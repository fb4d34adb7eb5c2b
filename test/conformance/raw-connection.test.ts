// Tests that the suite can send raw bytes to every host name that a client may have.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { sendAndReset, sendBytes } from '../../src/conformance/raw-connection.ts'

t.test('raw bytes reach a client whose host name ends with .localhost', async t => {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const origin = `http://app.localhost:${(server.address() as AddressInfo).port}`
  t.match(await sendBytes(origin, { head: 'GET / HTTP/1.1\r\n\r\n' }), {
    exchange: { response: { status: 204 } },
    isClosed: false,
  })
  const connected = once(server, 'connection')
  await sendAndReset(origin, 'GET', 50)
  await t.resolves(connected)
})
