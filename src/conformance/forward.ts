// Forwards the address of the client to another host. The suite needs this if it runs in a container and the client
// runs outside.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { addressOf } from './http-address.ts'

/** Listens at the host and port of `url`, and forwards each connection to `at` (`host:port`). */
export async function forwardTo(url: string, at: string): Promise<{ close(): Promise<void> }> {
  const [host = '', toPort = ''] = at.split(':')
  const open = new Set<Socket>()
  const server = createServer(socket => {
    const other = connect({ host, port: Number(toPort) })
    for (const [one, two] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(one)
      one.on('error', () => two.destroy())
      one.on('close', () => {
        open.delete(one)
        two.destroy()
      })
      one.pipe(two)
    }
  })
  server.listen(addressOf(url))
  await once(server, 'listening')
  return {
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
