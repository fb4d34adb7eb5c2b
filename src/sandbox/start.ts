// Starts a sandbox that buildSandbox has built: opens its listeners and starts the sweeper of the store. Also finds
// free ports for a sandbox.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Sandbox } from './app.ts'
import type { SandboxConfig } from './config.ts'
import { limitConnections } from './http/connections.ts'
import { listen } from './http/listen.ts'

/** How many times the sandbox tries to start if another program keeps taking a port that the sandbox has chosen. */
const mostTries = 5

type ListenSettings = Pick<SandboxConfig, 'host' | 'portalPort' | 'apiPort' | 'lab' | 'maxConnections'>

/** Thrown if a listener could not be opened. The message names the settings that the operator should check. */
export class CannotListen extends Error {
  readonly code: string | undefined
  /** The port that could not be opened, for example because another program uses it. */
  readonly port: number | undefined

  constructor(config: ListenSettings, cause: NodeJS.ErrnoException & { port?: number }) {
    const names = config.lab ? 'HOST, PORTAL_PORT, API_PORT, LAB_HOST or LAB_PORT' : 'HOST, PORTAL_PORT or API_PORT'
    // For a host with several addresses, Node throws an AggregateError, whose message is empty.
    super(`cannot listen on ${names} (${cause.message || cause.code})`, { cause })
    this.code = cause.code
    this.port = cause.port
  }
}

/**
 * Opens the listeners. The host `localhost` means every loopback address. The port 0 means any free port, and the
 * result contains the port that was chosen. If a listener cannot be opened, the function closes the sandbox and rejects
 * with CannotListen. `sandbox.close()` ends everything that this function has opened.
 */
export async function startSandbox(
  sandbox: Sandbox,
  config: ListenSettings,
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

/**
 * Replaces each port 0 with a free port, and calls `start`. Every token contains the address of the portal, so the
 * ports must be known before the sandbox is built. If another program takes a free port in the meantime, the function
 * tries again with other ports.
 */
export async function onFreePorts<T>(config: SandboxConfig, start: (config: SandboxConfig) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await start(await choosePorts(config))
    } catch (error) {
      const isTaken = error instanceof CannotListen && error.code === 'EADDRINUSE'
      const given = [config.portalPort, config.apiPort, config.lab?.port]
      if (!isTaken || given.includes(error.port) || tries === mostTries) throw error
    }
}

async function choosePorts(config: SandboxConfig): Promise<SandboxConfig> {
  const { lab } = config
  const results = await Promise.allSettled([
    holdPort(config.host, config.portalPort),
    holdPort(config.host, config.apiPort),
    lab && holdPort(lab.host, lab.port),
  ])
  const found = results.map(result => (result.status === 'fulfilled' ? result.value : undefined))
  // Keep each port open until all ports are chosen. Otherwise the same port could be chosen twice.
  await Promise.all(found.map(held => held?.release()))
  const failure = results.find(result => result.status === 'rejected')
  if (failure) throw new CannotListen(config, failure.reason)
  const [portalPort, apiPort, labPort] = found.map(held => held?.port) as [number, number, number]
  return {
    ...config,
    portalPort,
    apiPort,
    portalUrl: withPort(config.portalUrl, portalPort),
    apiUrl: withPort(config.apiUrl, apiPort),
    lab: lab && { ...lab, port: labPort, urls: lab.urls.map(url => withPort(url, labPort)) },
  }
}

async function holdPort(host: string, port: number): Promise<{ port: number; release(): Promise<unknown> }> {
  if (port !== 0) return { port, release: async () => undefined }
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, release: () => once(server.close(), 'close') }
}

/** Replaces the port 0 in an address with the port of its listener. */
function withPort(address: string, port: number): string {
  const url = new URL(address)
  if (url.port === '0') url.port = `${port}`
  return url.origin
}
