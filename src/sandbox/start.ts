// Starts what was built: the listeners, and the sweeper of the store.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Sandbox } from './app.ts'
import type { SandboxConfig } from './config.ts'
import { limitConnections } from './http/connections.ts'
import { listen } from './http/listen.ts'

type Doors = Pick<SandboxConfig, 'host' | 'portalPort' | 'apiPort' | 'lab' | 'maxConnections'>

/** A listener could not be opened. Its message names the settings to look at. */
export class CannotListen extends Error {
  readonly code: string | undefined
  /** The one that is taken, where that is the reason. */
  readonly port: number | undefined

  constructor(config: Doors, cause: NodeJS.ErrnoException & { port?: number }) {
    const names = config.lab ? 'HOST, PORTAL_PORT, API_PORT, LAB_HOST or LAB_PORT' : 'HOST, PORTAL_PORT or API_PORT'
    // An AggregateError (a host with several addresses) has no message of its own.
    super(`${names} cannot be listened on (${cause.message || cause.code})`, { cause })
    this.code = cause.code
    this.port = cause.port
  }
}

/**
 * `host` localhost means every loopback address. A port of 0 takes a free one; the resolved value tells which.
 * Rejects with CannotListen, and the sandbox is closed then. What it opened ends with `sandbox.close()`.
 */
export async function startSandbox(
  sandbox: Sandbox,
  config: Doors,
): Promise<{ portalPort: number; apiPort: number; labPort?: number }> {
  const { portal, api, lab } = sandbox
  const { host, portalPort, apiPort } = config
  const limit = limitConnections(config.maxConnections, portal.log)
  for (const listener of [portal, api, lab]) if (listener) limit(listener.server)
  try {
    await listen(portal, host, portalPort)
    await listen(api, host, apiPort)
    if (lab && config.lab) await listen(lab, config.lab.host, config.lab.port)
  } catch (error) {
    await sandbox.close()
    throw new CannotListen(config, error as Error)
  }
  sandbox.sweeper.start()
  return { portalPort: portOf(portal), apiPort: portOf(api), ...(lab && { labPort: portOf(lab) }) }
}

function portOf(server: FastifyInstance): number {
  return (server.server.address() as AddressInfo).port
}
