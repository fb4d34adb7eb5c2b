// Makes a server listen on every address of localhost.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Call this right after creating the server: once a server is ready, Fastify no longer accepts hooks. */
export function prepareToListen(server: FastifyInstance): void {
  const furtherListeners: Server[] = []
  server.decorate('furtherListeners', furtherListeners)
  let closed: Promise<unknown> | undefined

  // First all listeners stop accepting connections. Then `server.close()` ends the HTTP server and all its idle
  // connections.
  server.addHook('preClose', async () => {
    closed = Promise.all(furtherListeners.map(listener => new Promise(resolve => listener.close(resolve))))
  })
  server.addHook('onClose', async () => {
    await closed
  })
}

/**
 * A Node server listens on one address. For each further address of localhost, this function opens a plain TCP
 * listener. This listener passes its connections to the HTTP server with the 'connection' event, as Node's
 * documentation describes. All addresses therefore share the deadlines, limits and shutdown of the HTTP server. Fastify
 * itself would start a second HTTP server for the second address. Fastify's `close()` does not wait for this second
 * server, so the sandbox would close the database while requests are still open
 * (https://github.com/fastify/fastify/issues/7043).
 */
export async function listen(server: FastifyInstance, host: string, port: number): Promise<void> {
  const addresses = host === 'localhost' ? await lookup(host, { all: true }) : [{ address: host }]
  let taken: number | undefined
  let unavailable: unknown
  for (const address of new Set(addresses.map(({ address }) => address))) {
    try {
      if (taken === undefined) await server.listen({ host: address, port })
      else await listenFurther(server, address, taken)
      taken ??= (server.server.address() as AddressInfo).port
    } catch (error) {
      // A hosts file can list ::1 for localhost even if the machine has no IPv6.
      if (host !== 'localhost' || (error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') throw error
      unavailable = error
    }
  }
  if (taken === undefined) throw unavailable
}

async function listenFurther(server: FastifyInstance, address: string, port: number): Promise<void> {
  const handOver = (socket: Socket) => server.server.emit('connection', socket)
  // These are the options that Node's HTTP server uses.
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, handOver)
  await once(listener.listen(port, address), 'listening')
  server.getDecorator<Server[]>('furtherListeners').push(listener)
  server.log.info(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:${port}`)
}
