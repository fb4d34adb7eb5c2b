// Opens both listeners, and sweeps the store while they are open.

import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Sandbox } from './app.ts'
import type { SandboxConfig } from './config.ts'
import { sweep } from './store/sweep.ts'

const sweepIntervalMs = 60_000

/**
 * `host` localhost means every loopback address. A port of 0 takes a free one; the resolved value tells which.
 * Rejects when a port is taken. What it opened ends with `sandbox.close()`.
 */
export async function listen(
  sandbox: Sandbox,
  { host, portalPort, apiPort }: Pick<SandboxConfig, 'host' | 'portalPort' | 'apiPort'>,
  clock: () => Date,
): Promise<{ portalPort: number; apiPort: number }> {
  const { portal, api, store } = sandbox
  await portal.listen({ host, port: portalPort })
  await api.listen({ host, port: apiPort })
  const timer = setInterval(() => {
    sweep(store, clock()).catch((error: Error) => {
      portal.log.warn({ code: 'sweep-failed', cause: error.message }, 'expired rows stay until the next sweep')
    })
  }, sweepIntervalMs)
  timer.unref()
  portal.server.once('close', () => clearInterval(timer))
  return { portalPort: portOf(portal), apiPort: portOf(api) }
}

function portOf(server: FastifyInstance): number {
  return (server.server.address() as AddressInfo).port
}
