// Listens where the settings say, on every address of localhost, and says which setting to change where that fails.
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../config.ts'

/** Throws ConfigError. Nothing is left listening then once the client is closed. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  const openDoor = prepareDoors(app)
  let taken: number | undefined
  for (const address of await addressesOf(host)) {
    try {
      if (taken === undefined) await app.listen({ host: address, port })
      else await openDoor(address, taken)
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
 * A server listens on one address; further ones hand their connections over to it, so that its deadlines, its bounds and
 * its stop are theirs, too. Fastify's own second server is waited for by nobody.
 */
function prepareDoors(app: FastifyInstance) {
  const doors: Server[] = []
  app.addHook('preClose', async () => {
    for (const door of doors) door.close()
  })
  app.addHook('onClose', async () => {
    app.server.closeIdleConnections()
    await Promise.all(doors.map(door => door.listening || once(door, 'close')))
  })

  return async (address: string, port: number) => {
    const door = createServer({ allowHalfOpen: true, noDelay: true }, socket => app.server.emit('connection', socket))
    await once(door.listen(port, address), 'listening')
    doors.push(door)
    app.log.info(`Server listening at http://${address.includes(':') ? `[${address}]` : address}:${port}`)
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
