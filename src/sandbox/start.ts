// Starts what was built: both listeners, and the sweeper of the store.
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
  { host, portalPort, apiPort }: Pick<SandboxConfig, 'host' | 'portalPort' | 'apiPort'>,
): Promise<{ portalPort: number; apiPort: number }> {
  const { portal, api } = sandbox
  await portal.listen({ host, port: portalPort })
  await api.listen({ host, port: apiPort })
  sandbox.sweeper.start()
  return { portalPort: portOf(portal), apiPort: portOf(api) }
}

function portOf(server: FastifyInstance): number {
  return (server.server.address() as AddressInfo).port
}
