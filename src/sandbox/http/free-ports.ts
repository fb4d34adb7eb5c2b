// Finds free ports for those that are set to 0 before anything is built: the addresses that everybody is told follow them.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { SandboxConfig } from '../config.ts'
import { CannotListen } from '../start.ts'

const mostTries = 5

/**
 * Runs `start` with the settings as they are once each port is known. Between looking and listening another program may
 * take a port; then it is tried again with others.
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
  const found = await Promise.all([
    hold(config.host, config.portalPort),
    hold(config.host, config.apiPort),
    lab && hold(lab.host, lab.port),
  ]).catch(error => {
    throw new CannotListen(config, error)
  })
  // Held until all are known, so that no two are the same.
  await Promise.all(found.map(held => held?.release()))
  const [portalPort, apiPort, labPort] = found.map(held => held?.port) as [number, number, number]
  return {
    ...config,
    portalPort,
    apiPort,
    portalUrl: follow(config.portalUrl, portalPort),
    apiUrl: follow(config.apiUrl, apiPort),
    lab: lab && { ...lab, port: labPort, urls: lab.urls.map(url => follow(url, labPort)) },
  }
}

async function hold(host: string, port: number): Promise<{ port: number; release(): Promise<unknown> }> {
  if (port !== 0) return { port, release: async () => undefined }
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, release: () => once(server.close(), 'close') }
}

/** An address that names a port of 0 is that of the listener. */
function follow(address: string, port: number): string {
  const url = new URL(address)
  if (url.port === '0') url.port = `${port}`
  return url.origin
}
