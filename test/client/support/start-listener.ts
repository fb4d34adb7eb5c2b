// Opens a port to which the program under test must not connect.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Test } from 'tap'

/** Opens the port, and counts the connections to it. */
export async function startListener(t: Test) {
  const listener = { connections: 0, url: '' }
  const server = createServer(socket => {
    listener.connections++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  listener.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return listener
}
