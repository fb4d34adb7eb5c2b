// Starts the client and the sandbox on free ports, on two different sites.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { buildClient, type ServerOptions } from '../../../src/client/app.ts'
import { readConfig as readClientConfig } from '../../../src/client/config.ts'
import { productSettings } from '../../../src/client/settings.ts'
import { keepCertificate, listenWithTls, trust } from '../../../src/demo-https.ts'
import { buildSandbox } from '../../../src/sandbox/app.ts'
import { readConfig as readSandboxConfig } from '../../../src/sandbox/config.ts'
import { startSandbox } from '../../../src/sandbox/start.ts'
import { productEnvironment } from '../../client/support/product-environment.ts'
import { quickPasswords } from '../../sandbox/support/quick-passwords.ts'
import { findFreePort, findFreePorts } from '../../support/free-port.ts'
import type { Teardown } from '../../support/teardown.ts'
import { openLab } from './open-lab.ts'
import { startFront } from './start-front.ts'

export type Person = { email: string; password: string }

export const person: Person = { email: 'developer@example.test', password: 'correct horse battery staple' }
export const registration = {
  clientId: '3f1b0a52-8d1e-4a44-9d0a-5c1f0a3f7c21',
  clientSecret: 'a-client-credential-only-for-tests-0002',
}

type Settings = {
  /** The clock of the client and the sandbox. Tests can move it. */
  clock?: () => Date
  /**
   * The number of clients behind the public address. The clients take turns serving requests, and share only their
   * keys.
   */
  replicas?: number
  /** The host in the portal's public address. `localhost` is also the client's host. */
  portalHost?: '127.0.0.1' | 'localhost'
  /** Whether all listeners use https, as in `npm run demo -- --https`. */
  isHttps?: boolean
  /** A function that builds the client. The default is `buildClient` of app.ts. */
  build?: (config: ClientConfig, options: ServerOptions) => Promise<FastifyInstance>
}

type ClientConfig = ReturnType<typeof readClientConfig>

export type Both = Awaited<ReturnType<typeof startBoth>>

/** Starts the sandbox, the clients, and a load balancer with one public address for all clients. */
export async function startBoth(t: Teardown, settings: Settings = {}) {
  const { clock = () => new Date(), replicas = 1, portalHost = '127.0.0.1', isHttps = false } = settings
  const { build = buildClient } = settings
  const log: string[] = []
  const logger = pino({ level: 'trace' }, { write: line => void log.push(line) })
  const [publicPort, portalPort, apiPort, labPort, ...clientPorts] = await findFreePorts(4 + replicas)
  const folder = await mkdtemp(join(tmpdir(), 'journey-'))
  /** Returns the public address of a listener: its own port, or a port with TLS that forwards to the listener. */
  const publish = async (host: string, port: number): Promise<string> => {
    if (!certificate) return `http://${host}:${port}`
    const publicPort = await findFreePort()
    const { close } = await listenWithTls(certificate, publicPort, port)
    t.teardown(close)
    return `https://${host}:${publicPort}`
  }
  const certificate = isHttps ? await keepCertificate(folder) : undefined
  if (certificate) trust(certificate)
  const publicUrl = await publish('localhost', publicPort)
  const portalUrl = await publish(portalHost, portalPort)
  const apiUrl = await publish('127.0.0.1', apiPort)
  const labUrl = await publish('127.0.0.1', labPort)

  const sandboxConfig = readSandboxConfig({
    PORTAL_PORT: String(portalPort),
    API_PORT: String(apiPort),
    LAB_PORT: String(labPort),
    LAB_URL: labUrl,
    PORTAL_URL: portalUrl,
    API_URL: apiUrl,
    DATABASE_URL: `sqlite:${folder}/sandbox.db`,
    SEED_CLIENT_ID: registration.clientId,
    SEED_CLIENT_SECRET: registration.clientSecret,
    SEED_REDIRECT_URIS: `${publicUrl}/exchangeToken`,
    SEED_USER_EMAIL: person.email,
    SEED_USER_PASSWORD: person.password,
  })
  const sandbox = await buildSandbox(sandboxConfig, { clock, logger, passwords: quickPasswords() })
  await startSandbox(sandbox, sandboxConfig)

  /** Starts a client with an empty memory. Several clients share only what separate processes share. */
  const startClient = async (port: number): Promise<FastifyInstance> => {
    const environment = {
      ...productEnvironment,
      PORT: String(port),
      PUBLIC_URL: publicUrl,
      LOGIN_URL: portalUrl,
      API_URL: apiUrl,
      CLIENT_ID: registration.clientId,
      CLIENT_SECRET: registration.clientSecret,
      COOKIE_KEYS: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    }
    const config = readClientConfig(environment, productSettings)
    const client = await build(config, { clock, logger })
    await client.listen({ host: config.host, port: config.port })
    return client
  }
  const clients = await Promise.all(clientPorts.map(startClient))
  const front = await startFront(t, publicPort, clientPorts)

  const stop = async (client: FastifyInstance) => {
    client.server.closeAllConnections()
    await client.close()
  }

  t.teardown(async () => {
    sandbox.portal.server.closeAllConnections()
    sandbox.api.server.closeAllConnections()
    await Promise.all([...clients.map(stop), sandbox.close()])
    await rm(folder, { recursive: true, force: true })
  })
  return {
    clients,
    front,
    sandbox,
    publicUrl,
    portalUrl,
    apiUrl,
    labUrl,
    log,
    person,
    clock,
    clientId: registration.clientId,
    lab: openLab(labUrl),
    /** Stops all clients, and starts a new one in place of each. */
    async restartClients() {
      await Promise.all(clients.map(stop))
      clients.splice(0, clients.length, ...(await Promise.all(clientPorts.map(startClient))))
    },
  }
}
