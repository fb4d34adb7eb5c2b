// Starts the client and the sandbox in one process, with generated secrets. No other file in src imports both the
// client and the sandbox.
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { type Level, type Logger, multistream, pino } from 'pino'
import { buildClient } from './client/app.ts'
import { readConfig as readClientConfig } from './client/config.ts'
import { listen } from './client/operations/listen.ts'
import { limitConnections } from './client/operations/sockets.ts'
import { productSettings } from './client/settings.ts'
import { keepCertificate, listenWithTls, trust } from './demo-https.ts'
import { buildSandbox } from './sandbox/app.ts'
import { readConfig as readSandboxConfig } from './sandbox/config.ts'
import { onFreePorts, startSandbox } from './sandbox/start.ts'

type Secrets = { clientId: string; clientSecret: string; cookieKey: string; password: string }

const folder = 'data'
const secretsFile = `${folder}/demo.json`
const email = 'developer@example.test'

// The npm scripts do not use --env-file-if-exists, because with this option Node prints a line if there is no .env.
if (existsSync('.env')) process.loadEnvFile()
const { PORT = '3000', PORTAL_PORT = '4000', API_PORT = '4001', LAB_PORT = '4002', LOG_LEVEL = 'warn' } = process.env

const usage = `npm run demo [-- --https] [-- --seed]

Starts the client and the sandbox together. Their data and secrets stay in data/.
PORT, PORTAL_PORT, API_PORT and LAB_PORT set other ports, and LOG_LEVEL=info shows every request. Put these settings and
the settings of the product into the environment or into .env. The demo ignores all other settings in .env.

  --https  serves everything over https, with a generated certificate; Safari needs https
  --seed   restores the original password of the demo's user and the original fields of the demo's client
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
  const clientLogger = pino({ level: LOG_LEVEL, base: { app: 'client' } })
  const certificate = isHttps ? await keepCertificate(folder) : undefined
  if (certificate) trust(certificate)
  // The client and the sandbox use different hosts: localhost and 127.0.0.1. Two ports of one host count as one site,
  // so a test on one host would not show problems with SameSite.
  const publicUrl = originOf(isHttps ? 'https' : 'http', 'localhost', PORT)

  const settings = readSandboxConfig({
    ...(isHttps
      ? {
          // The sandbox listens with plain http on ports that are free. Browsers and the client connect to the https
          // ports below.
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
    // The client is registered with redirect URIs for http and for https, so that it works with and without `--https`.
    SEED_REDIRECT_URIS: ['http', 'https'].map(scheme => `${originOf(scheme, 'localhost', PORT)}/exchangeToken`).join(),
    SEED_USER_EMAIL: email,
    SEED_USER_PASSWORD: secrets.password,
    LOG_LEVEL,
  })
  const { sandbox, portalUrl, apiUrl, labUrl } = await onFreePorts(settings, async config => {
    const { portalUrl, apiUrl, lab } = config
    const labUrl = lab?.urls[0]
    const sandbox = await buildSandbox(config, { clock, logger: createSandboxLogger(), isSeedForced })
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
  const client = await buildClient(clientConfig, { clock, logger: clientLogger })
  limitConnections(clientConfig.maxConnections, clientLogger)(client.server)
  await listen(client, clientConfig.host, clientConfig.port)
  if (certificate) await listenWithTls(certificate, Number(PORT), (client.server.address() as AddressInfo).port)

  // These listeners must be set before the first line is printed, because a program that reads this line may stop the
  // demo immediately.
  const stop = async () => {
    setTimeout(() => process.exit(0), 2_000).unref()
    // The client is closed first, because it may still call the portal.
    await client.close()
    await sandbox.close()
    process.exit(0)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)

  console.log(`Open: ${publicUrl}\nE-mail: ${email}\nPassword: ${secrets.password}\nLab: ${labUrl}`)
  if (certificate)
    console.log(
      `Your browser warns you about the certificate, because the demo has made the certificate itself (${certificate.certFile}). Accept the certificate once for each address.`,
    )
  // If somebody has changed the password or the client, the values above may no longer work.
  const changes = sandbox.seedReport?.outdated ?? []
  if (changes.length > 0)
    console.log(`Since the first start of the demo, ${changes.join(', ')}. To undo this: npm run demo -- --seed`)
} catch (error) {
  console.error(whyNot(error))
  process.exit(1)
}

/**
 * Reads only the product's settings. The client's settings in .env are for a real platform, so the demo does not use
 * them.
 */
function readProductEnvironment(): NodeJS.ProcessEnv {
  const names = productSettings.list.flatMap(({ name }) => [name, `${name}_FILE`])
  return Object.fromEntries(names.map(name => [name, process.env[name]]))
}

/** Returns an origin. If the port is the default port of the scheme, the origin does not contain it. */
function originOf(scheme: string, host: string, port: string): string {
  return new URL(`${scheme}://${host}:${port}`).origin
}

/**
 * Returns the same secrets each time the demo starts, so that the data of the demo and the sessions of its visitors
 * survive a restart.
 */
function keepSecrets(): Secrets {
  if (existsSync(secretsFile)) return JSON.parse(readFileSync(secretsFile, 'utf8')) as Secrets
  const random = () => randomBytes(32).toString('base64url')
  const password = randomBytes(9).toString('base64url')
  const secrets = { clientId: randomUUID(), clientSecret: random(), cookieKey: random(), password }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(secretsFile, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  return secrets
}

/**
 * Makes a logger that writes the lines of LOG_LEVEL or above. If a login fails, the laboratory logs a sentence about
 * the failure at the level `info`. The demo prints this sentence at every LOG_LEVEL, so the level of the logger is
 * `info` or lower.
 */
function createSandboxLogger(): Logger {
  const level = LOG_LEVEL === 'trace' || LOG_LEVEL === 'debug' ? LOG_LEVEL : 'info'
  const streams = multistream([
    { level: LOG_LEVEL as Level, stream: process.stdout },
    { level: 'info', stream: { write: printVerdict } },
  ])
  return pino({ level, base: { app: 'sandbox' } }, streams)
}

function printVerdict(line: string): void {
  const { code, kind, sentence, fix, url } = JSON.parse(line) as Record<string, string | undefined>
  // If the portal refuses a request for a page, this is not the client's mistake. Browsers also request such pages
  // automatically.
  if (code !== 'lab-verdict' || kind === 'page') return
  const text = [sentence, fix, url].filter(Boolean).join('\n  ')
  // The sentence can quote text from a request. Control characters in this text could change what the terminal shows.
  console.log(text.replaceAll(/[^\P{Cc}\n]/gu, '\ufffd'))
}

function whyNot(error: unknown): string {
  const { message, cause = error } = error as Error
  const { code, port } = cause as NodeJS.ErrnoException & { port?: number }
  if (code !== 'EADDRINUSE') return `The demo did not start: ${message}`
  return (
    `Port ${port} is in use. Stop the program that uses this port, or choose other ports, for example:\n` +
    '  PORT=3100 PORTAL_PORT=4100 API_PORT=4101 LAB_PORT=4102 npm run demo\n' +
    'To keep these ports, put them into .env.'
  )
}
