// Starts the client and the sandbox in one process, with secrets of its own making. Nothing else knows both of them.
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { buildClient } from './client/app.ts'
import { readConfig as readClientConfig } from './client/config.ts'
import { limitConnections } from './client/operations/connections.ts'
import { listen } from './client/operations/listen.ts'
import { productSettings } from './client/settings.ts'
import { keepCertificate, listenWithTls, trust } from './demo-https.ts'
import { buildSandbox } from './sandbox/app.ts'
import { readConfig as readSandboxConfig } from './sandbox/config.ts'
import type { LabStep } from './sandbox/lab/record/recorded.ts'
import { onFreePorts, startSandbox } from './sandbox/start.ts'

type Secrets = { clientId: string; clientSecret: string; cookieKey: string; password: string }

const folder = 'data'
const secretsFile = `${folder}/demo.json`
const email = 'developer@example.test'

// Here and not with --env-file-if-exists, which prints a line if there is no .env.
if (existsSync('.env')) process.loadEnvFile()
const { PORT = '3000', PORTAL_PORT = '4000', API_PORT = '4001', LAB_PORT = '4002', LOG_LEVEL = 'warn' } = process.env

const usage = `npm run demo [-- --https] [-- --seed]

Starts the client and the sandbox together. Their data and secrets stay in data/.
PORT, PORTAL_PORT, API_PORT and LAB_PORT choose other ports, and LOG_LEVEL=info shows every request. Set them in the
environment or in .env. The settings of the product come from there, too; the other settings in .env are not used.

  --https  serves all of it over https, with a certificate of its own; Safari needs that
  --seed   gives the demo's user and client the password and the fields back that they had at first
  --help   this text`

try {
  const {
    seed: isSeedForced,
    https: isHttps,
    help,
  } = parseArgs({
    options: { seed: { type: 'boolean' }, https: { type: 'boolean' }, help: { type: 'boolean' } },
  }).values
  if (help) {
    console.log(usage)
    process.exit()
  }
  const secrets = keepSecrets()
  const clock = () => new Date()
  const logger = (app: string) => pino({ level: LOG_LEVEL, base: { app } })
  const certificate = isHttps ? await keepCertificate(folder) : undefined
  if (certificate) trust(certificate)
  // Not on 127.0.0.1 as the sandbox is: two ports of one host hide every fault that SameSite cookies can have.
  const publicUrl = originOf(isHttps ? 'https' : 'http', 'localhost', PORT)

  const settings = readSandboxConfig({
    ...(isHttps
      ? {
          // Plain listeners on any free ports: browsers and the client reach them through TLS.
          PORTAL_PORT: '0',
          API_PORT: '0',
          LAB_PORT: '0',
          PORTAL_URL: originOf('https', '127.0.0.1', PORTAL_PORT),
          API_URL: originOf('https', '127.0.0.1', API_PORT),
          LAB_URL: originOf('https', '127.0.0.1', LAB_PORT),
        }
      : { PORTAL_PORT, API_PORT, LAB_PORT }),
    DATABASE_URL: `sqlite:${folder}/demo.db`,
    SEED_CLIENT_ID: secrets.clientId,
    SEED_CLIENT_SECRET: secrets.clientSecret,
    // Both, so that nothing is seeded again when the demo starts with https and then without.
    SEED_REDIRECT_URIS: ['http', 'https'].map(scheme => `${originOf(scheme, 'localhost', PORT)}/exchangeToken`).join(),
    SEED_USER_EMAIL: email,
    SEED_USER_PASSWORD: secrets.password,
    LOG_LEVEL,
  })
  const { sandbox, portalUrl, apiUrl, labUrl } = await onFreePorts(settings, async config => {
    const { portalUrl, apiUrl, lab } = config
    const labUrl = lab?.urls[0]
    const onStep = tellRefusals(labUrl)
    const sandbox = await buildSandbox(config, { clock, logger: logger('sandbox'), onStep, isSeedForced })
    await startSandbox(sandbox, config)
    if (certificate) {
      await listenWithTls(certificate, Number(PORTAL_PORT), config.portalPort)
      await listenWithTls(certificate, Number(API_PORT), config.apiPort)
      if (lab) await listenWithTls(certificate, Number(LAB_PORT), lab.port)
    }
    return { sandbox, portalUrl, apiUrl, labUrl }
  })

  const clientConfig = readClientConfig(
    {
      ...readProductEnvironment(),
      PORT: isHttps ? '0' : PORT,
      PUBLIC_URL: publicUrl,
      LOGIN_URL: portalUrl,
      API_URL: apiUrl,
      CLIENT_ID: secrets.clientId,
      CLIENT_SECRET: secrets.clientSecret,
      COOKIE_KEYS: secrets.cookieKey,
      LOG_LEVEL,
    },
    productSettings,
  )
  const clientLogger = logger('client')
  const client = await buildClient(clientConfig, { clock, logger: clientLogger })
  limitConnections(clientConfig.maxConnections, clientLogger)(client.server)
  await listen(client, clientConfig.host, clientConfig.port)
  if (certificate) await listenWithTls(certificate, Number(PORT), (client.server.address() as AddressInfo).port)

  // Before it says that it is there: whoever reads that may stop it at once.
  const stop = async () => {
    setTimeout(() => process.exit(0), 2_000).unref()
    // The client may still be calling the portal.
    await client.close()
    await sandbox.close()
    process.exit(0)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)

  console.log(`Open: ${publicUrl}\nE-mail: ${email}\nPassword: ${secrets.password}\nLab: ${labUrl}`)
  if (certificate)
    console.log(
      `Your browser warns of the certificate, because the demo has made it (${certificate.certFile}). Go on, once for each address.`,
    )
  // Its password or client was changed, and signing in with what stands above may fail.
  const changes = sandbox.seedReport?.outdated ?? []
  if (changes.length > 0)
    console.log(`Since the demo was made, ${changes.join(', ')}. To undo that: npm run demo -- --seed`)
} catch (error) {
  console.error(whyNot(error))
  process.exit(1)
}

/** Only the product's settings. The client's are those of a real platform, and the demo has its own. */
function readProductEnvironment(): NodeJS.ProcessEnv {
  const names = productSettings.list.flatMap(({ name }) => [name, `${name}_FILE`])
  return Object.fromEntries(names.map(name => [name, process.env[name]]))
}

/** Without the port if it is the scheme's own: 80 or 443. */
function originOf(scheme: string, host: string, port: string): string {
  return new URL(`${scheme}://${host}:${port}`).origin
}

/** The same secrets at every start, so that what was created in the demo, and who is signed in, outlives a restart. */
function keepSecrets(): Secrets {
  if (existsSync(secretsFile)) return JSON.parse(readFileSync(secretsFile, 'utf8')) as Secrets
  const random = () => randomBytes(32).toString('base64url')
  const password = randomBytes(9).toString('base64url')
  const secrets = { clientId: randomUUID(), clientSecret: random(), cookieKey: random(), password }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(secretsFile, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  return secrets
}

/** Why somebody was refused, for whoever writes the client; of a client the portal does not know, only that. */
function tellRefusals(labUrl: string | undefined) {
  return ({ id, kind, reason, about: { knownClientId = 'an unknown client' } }: LabStep) => {
    if (reason && kind !== 'page')
      console.log(`Refused: ${kind}, ${reason}, ${knownClientId} (${labUrl}/requests/${id})`)
  }
}

function whyNot(error: unknown): string {
  const { message, cause = error } = error as Error
  const { code, port } = cause as NodeJS.ErrnoException & { port?: number }
  if (code !== 'EADDRINUSE') return `The demo did not start: ${message}`
  return (
    `Port ${port} is in use. Stop the program that uses it, or choose other ports, for example:\n` +
    '  PORT=3100 PORTAL_PORT=4100 API_PORT=4101 LAB_PORT=4102 npm run demo\n' +
    'To keep them, put them into .env.'
  )
}
