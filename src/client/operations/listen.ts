// Listens where the settings say, on every address of localhost, and says which setting to change where that fails.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../config.ts'

/** Throws ConfigError. Nothing is left listening then once the client is closed. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  const listenAlso = prepareListeners(app)
  let taken: number | undefined
  for (const address of await addressesOf(host)) {
    try {
      if (taken === undefined) await app.listen({ host: address, port })
      else await listenAlso(address, taken)
      taken ??= (app.server.address() as AddressInfo).port
    } catch (error) {
      // Hosts files name ::1 on machines without it, too.
      if (host !== 'localhost' || codeOf(error) !== 'EADDRNOTAVAIL') throw explain(error, 'PORT', address, port)
    }
  }
  if (taken === undefined) throw explain(undefined, 'PORT', host, port)
}

/** What to change in the settings, for the port of this name that cannot be listened on. */
export function explain(error: unknown, setting: 'PORT' | 'METRICS_PORT', host: string, port: number): ConfigError {
  const code = codeOf(error) ?? 'it has no address here'
  const reasons: Record<string, string> = {
    EADDRINUSE: `${setting}: another program has taken ${port} on ${host}. Stop that one, or set another ${setting}.`,
    EACCES: `${setting}: this process may not listen on ${port}. Set one from 1024 on.`,
  }
  return new ConfigError([
    reasons[code] ?? `HOST: nothing can listen on ${host} (${code}). Name an address of this machine.`,
  ])
}

async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const all = await lookup(host, { all: true }).catch(() => [])
  return [...new Set(all.map(({ address }) => address))]
}

/**
 * A server listens on one address. Listeners on the others hand their connections over to it, and so share its deadlines,
 * bounds and stop. Fastify would start a second server by itself, and stop without waiting for what that one answers.
 */
function prepareListeners(app: FastifyInstance) {
  const listeners: Server[] = []
  app.addHook('preClose', async () => {
    for (const listener of listeners) listener.close()
  })
  app.addHook('onClose', async () => {
    app.server.closeIdleConnections()
    await Promise.all(listeners.map(listener => listener.listening || once(listener, 'close')))
  })

  return async (address: string, port: number) => {
    const handOver = (socket: Socket) => app.server.emit('connection', socket)
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, handOver)
    await once(listener.listen(port, address), 'listening')
    listeners.push(listener)
    app.log.info(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:${port}`)
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
