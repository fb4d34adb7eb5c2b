// Reads the client's settings from the environment, and reports all problems together.
import { readFileSync } from 'node:fs'
import {
  createSettingsReader,
  type Environment,
  type ProductSettings,
  type Setting,
  type SettingsReader,
} from './read-settings.ts'
import { Secret } from './secret.ts'

const keyForm = 'Each key is 32 random bytes in base64url.'

/** The settings of the client, in the order of `.env.example`. The settings of the product are in settings.ts. */
export const clientSettings: Setting[] = [
  { name: 'LOGIN_URL', about: "The login portal's address for browsers." },
  { name: 'API_URL', about: "The application API's address, without /apps/v1." },
  { name: 'CLIENT_ID', about: "This client's id. The platform shows this id when you register the application." },
  { name: 'CLIENT_SECRET', isSecret: true, about: "This client's secret." },
  {
    name: 'COOKIE_KEYS',
    isSecret: true,
    about: `One or more keys, separated by commas. ${keyForm} The first key seals new cookies.`,
  },
  { name: 'HOST', default: 'localhost', about: 'The address to listen on. localhost means every loopback address.' },
  { name: 'PORT', default: '3000', about: 'The port to listen on.' },
  { name: 'PUBLIC_URL', default: 'http://localhost:PORT', about: "This client's origin for browsers." },
  {
    name: 'CANCEL_URL',
    default: 'PUBLIC_URL/cancelled',
    about: 'The page that the portal opens if a visitor declines. Its origin must be the origin of PUBLIC_URL.',
  },
  { name: 'LOGIN_INTERNAL_URL', default: 'LOGIN_URL', about: 'The address at which this server reaches the portal.' },
  { name: 'API_INTERNAL_URL', default: 'API_URL', about: 'The address at which this server reaches the API.' },
  {
    name: 'MAX_CONNECTIONS',
    default: '1000',
    about:
      'The maximum number of open connections, on all addresses together. The client closes further connections immediately.',
  },
  {
    name: 'METRICS_PORT',
    default: '',
    about: 'The port that serves /metrics to Prometheus. If this setting is missing, there are no metrics.',
  },
  {
    name: 'PRESTOP_DELAY',
    default: '0',
    about: 'How many seconds the client continues to serve requests after SIGTERM.',
  },
  {
    name: 'LOG_LEVEL',
    default: 'info',
    about: 'The lowest level to log: trace, debug, info, warn, error, fatal or silent.',
  },
]

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** The settings of the client. readConfig adds the settings of the product as `product`. */
export type Config = ReturnType<typeof readClientSettings>

/** The message has one line for each setting that is missing or wrong. The message contains no secret values. */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[], options?: ErrorOptions) {
    super(`The settings need attention:\n${problems.map(problem => `  - ${problem}`).join('\n')}`, options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

type ReadFile = (path: string) => string

const readFromDisk: ReadFile = path => readFileSync(path, 'utf8')

/**
 * Throws ConfigError if a setting is missing or wrong. `readFile` reads a file whose path is in a setting such as
 * CLIENT_SECRET_FILE.
 */
export function readConfig(environment: Environment): Config
export function readConfig<Product extends object>(
  environment: Environment,
  product: ProductSettings<Product>,
  readFile?: ReadFile,
): Config & { product: Product }
export function readConfig(
  environment: Environment,
  product: ProductSettings<object> = { list: [], read: () => ({}) },
  readFile = readFromDisk,
) {
  const problems: string[] = []
  const reader = createSettingsReader([...clientSettings, ...product.list], environment, readFile, problems)
  const config = { ...readClientSettings(reader, environment), product: product.read(reader) }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

function readClientSettings(reader: SettingsReader, environment: Environment) {
  const { text, secret, integer, oneOf, address, problem } = reader
  const port = integer('PORT', 65535)
  const publicUrl = address('PUBLIC_URL', `http://localhost:${port}`, { allowPath: false })
  // The portal accepts only the origin of a registered redirect URI (rule cancel-url-own). If PUBLIC_URL is wrong,
  // `unknown.invalid` prevents a second problem about CANCEL_URL.
  const cancelUrl = address('CANCEL_URL', `${publicUrl || 'https://unknown.invalid'}/cancelled`)
  if (publicUrl && cancelUrl && new URL(cancelUrl).origin !== new URL(publicUrl).origin)
    problem('CANCEL_URL must have the same origin as PUBLIC_URL. Otherwise the portal refuses every login.')
  const loginUrl = address('LOGIN_URL')
  const apiUrl = address('API_URL')

  const clientSecret = secret('CLIENT_SECRET', 'The platform showed this secret when the application was registered.')
  const isPlaceholder = (text: string) =>
    text.length < 12 || /^(change.?me|placeholder|your.?(client.?)?secret)/i.test(text)
  if (clientSecret.reveal() && isPlaceholder(clientSecret.reveal()))
    problem('CLIENT_SECRET looks like a placeholder. Set the secret that the platform gave you.')

  const keyList = secret('COOKIE_KEYS', 'Run "npm run setup" to make a .env with a new key.').reveal()
  const cookieKeys = keyList.split(',').map(key => key.trim())
  if (keyList && !cookieKeys.every(key => /^[\w-]{43}=?$/.test(key)))
    problem(`COOKIE_KEYS must be a list of keys, separated by commas. ${keyForm}`)

  if (environment.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    problem(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off. Instead, set NODE_EXTRA_CA_CERTS to the path of your CA certificate.',
    )

  const metricsPort = text('METRICS_PORT') ? integer('METRICS_PORT', 65535) : undefined
  if (metricsPort && metricsPort === port) problem('METRICS_PORT must not be the same as PORT.')

  return {
    host: text('HOST'),
    port,
    /** An origin, without a trailing slash. The URLs below also have no trailing slash, but they can have a path. */
    publicUrl,
    redirectUri: `${publicUrl}/exchangeToken`,
    cancelUrl,
    loginUrl,
    apiUrl,
    loginInternalUrl: address('LOGIN_INTERNAL_URL', loginUrl, { allowHttp: true }),
    apiInternalUrl: address('API_INTERNAL_URL', apiUrl, { allowHttp: true }),
    clientId: text('CLIENT_ID'),
    clientSecret,
    /** Each key consists of 32 bytes, written in base64url. The first key seals new values. */
    cookieKeys: cookieKeys.map(key => new Secret(key)),
    maxConnections: integer('MAX_CONNECTIONS', 999_999, 1),
    metricsPort,
    prestopDelayMs: integer('PRESTOP_DELAY', 3600) * 1000,
    logLevel: oneOf('LOG_LEVEL', logLevels),
  }
}
