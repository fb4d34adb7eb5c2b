// Starts what was built: the listeners, and the sweeper of the store.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Sandbox } from './app.ts'
import type { SandboxConfig } from './config.ts'

/**
 * `host` localhost means every loopback address. A port of 0 takes a free one; the resolved value tells which.
 * Rejects when a port is taken. What it opened ends with `sandbox.close()`.
 */
export async function startSandbox(
  sandbox: Sandbox,
  config: Pick<SandboxConfig, 'host' | 'portalPort' | 'apiPort' | 'lab'>,
): Promise<{ portalPort: number; apiPort: number; labPort?: number }> {
  const { portal, api, lab } = sandbox
  const { host, portalPort, apiPort } = config
  await portal.listen({ host, port: portalPort })
  await api.listen({ host, port: apiPort })
  if (lab && config.lab) await lab.listen({ host: config.lab.host, port: config.lab.port })
  sandbox.sweeper.start()
  return { portalPort: portOf(portal), apiPort: portOf(api), ...(lab && { labPort: portOf(lab) }) }
}

function portOf(server: FastifyInstance): number {
  return (server.server.address() as AddressInfo).port
}
