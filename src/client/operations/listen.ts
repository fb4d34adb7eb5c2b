// Listens on the address in the setting HOST. For localhost, the client listens on every loopback address. If listening
// fails, the error says which setting to change.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../config.ts'

/**
 * Throws ConfigError if the client cannot listen. Throws the error of an onReady hook unchanged. After an error, close
 * the client, because the client may already be listening on some addresses.
 */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  const listenAlso = prepareListeners(app)
  // An error of an onReady hook is not about HOST or PORT.
  await app.ready()
  let boundPort: number | undefined
  for (const address of await addressesOf(host)) {
    try {
      if (boundPort === undefined) await app.listen({ host: address, port })
      else await listenAlso(address, boundPort)
      boundPort ??= (app.server.address() as AddressInfo).port
    } catch (error) {
      // On some machines without IPv6, the hosts file still lists ::1 for localhost.
      if (host !== 'localhost' || codeOf(error) !== 'EADDRNOTAVAIL') throw explain(error, 'PORT', address, port)
    }
  }
  if (boundPort === undefined) throw explain(undefined, 'PORT', host, port)
}

/** Makes an error for a port on which the client cannot listen. The error says which setting to change. */
export function explain(error: unknown, setting: 'PORT' | 'METRICS_PORT', host: string, port: number): ConfigError {
  const code = codeOf(error) ?? 'it has no address on this machine'
  const reasons: Record<string, string> = {
    EADDRINUSE: `${setting}: another program uses ${port} on ${host}. Stop that program, or set another ${setting}.`,
    EACCES: `${setting}: this process may not listen on ${port}. Set a port of 1024 or higher.`,
  }
  const reason = reasons[code] ?? `HOST: the client cannot listen on ${host} (${code}). Set an address of this machine.`
  return new ConfigError([reason], { cause: error })
}

async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const all = await lookup(host, { all: true }).catch(() => [])
  return [...new Set(all.map(({ address }) => address))]
}

/**
 * A Node server listens on one address. Each further address gets a plain TCP listener. This listener passes its
 * connections to the client's HTTP server with the 'connection' event, as Node's documentation describes. So the
 * deadlines, the limits and the shutdown of one server apply to all addresses.
 *
 * Fastify itself would start a second HTTP server for the second address, and Fastify's `close()` does not wait for the
 * second server. The onClose hooks, which can close a product's database, would run while the second server still
 * answers requests (https://github.com/fastify/fastify/issues/7043).
 */
function prepareListeners(app: FastifyInstance) {
  const listeners: Server[] = []
  let closed: Promise<unknown> | undefined
  // First, all listeners stop accepting connections. Then `close()` stops the HTTP server, and closes the idle
  // connections of all addresses.
  app.addHook('preClose', async () => {
    closed = Promise.all(listeners.map(listener => new Promise(resolve => listener.close(resolve))))
  })
  // Fastify runs the onClose hooks in reverse order. This hook is added last, so it runs first. At the shutdown, the
  // onClose hooks of a product therefore wait until the client has answered all open requests.
  app.addHook('onClose', async () => {
    await closed
  })

  return async (address: string, port: number) => {
    const handOver = (socket: Socket) => app.server.emit('connection', socket)
    // Node's own HTTP server uses the same two options.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, handOver)
    await once(listener.listen(port, address), 'listening')
    listeners.push(listener)
    app.log.info(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:${port}`)
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
