// Reads the client's settings from the environment, and reports every problem at once.
import { readFileSync } from 'node:fs'
import { Secret } from './secret.ts'

const keyForm = '32 random bytes each in base64url, comma-separated, newest first'

/** Every setting, in the order of `.env.example`. A setting without a default is required. */
export const settings = [
  { name: 'LOGIN_URL', about: 'The login portal, as browsers reach it.' },
  { name: 'API_URL', about: 'The application API, without /apps/v1.' },
  { name: 'CLIENT_ID', about: "This client's id, from registering it as an application." },
  { name: 'CLIENT_SECRET', about: 'Its client secret. Also as CLIENT_SECRET_FILE.' },
  { name: 'COOKIE_KEYS', about: `One or more keys, ${keyForm}. Also as COOKIE_KEYS_FILE.` },
  { name: 'HOST', default: 'localhost', about: 'Where to listen. localhost means every loopback address.' },
  { name: 'PORT', default: '3000', about: 'Where to listen.' },
  { name: 'PUBLIC_URL', default: 'http://localhost:PORT', about: "This client's own origin, as browsers see it." },
  { name: 'CANCEL_URL', default: 'PUBLIC_URL/cancelled', about: 'Where the portal sends a visitor who declines.' },
  { name: 'LOGIN_INTERNAL_URL', default: 'LOGIN_URL', about: 'The portal, as this server reaches it.' },
  { name: 'API_INTERNAL_URL', default: 'API_URL', about: 'The API, as this server reaches it.' },
  {
    name: 'MAX_CONNECTIONS',
    default: '1000',
    about: 'How many connections may be open at once, on all addresses together. More are closed at once.',
  },
  { name: 'METRICS_PORT', default: '', about: 'Where to serve /metrics to Prometheus; nowhere unless set.' },
  { name: 'PRESTOP_DELAY', default: '0', about: 'Seconds to go on serving after SIGTERM.' },
  { name: 'LOG_LEVEL', default: 'info', about: 'trace, debug, info, warn, error, fatal or silent.' },
] as const

const defaults: Record<string, string> = Object.fromEntries(
  settings.flatMap(setting => ('default' in setting ? [[setting.name, setting.default]] : [])),
)

export type Config = ReturnType<typeof readConfig>

type Environment = Record<string, string | undefined>

/** Has one line for each setting that is missing or wrong. The lines contain no secret values. */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[], options?: ErrorOptions) {
    super(`The settings need attention:\n${problems.map(problem => `  - ${problem}`).join('\n')}`, options)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|\[::1\]|127(\.\d+){3})$/.test(hostname)
}

/** Whether others on the network can read what is sent to this address. */
export function isPlainHttp(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(url)
}

/** Throws ConfigError. `readFile` reads the files of settings that are given as NAME_FILE. */
export function readConfig(environment: Environment, readFile = (path: string) => readFileSync(path, 'utf8')) {
  const problems: string[] = []
  const problem = (text: string) => {
    problems.push(text)
    return ''
  }

  const text = (name: string, fallback = defaults[name]): string =>
    environment[name]?.trim() || fallback || problem(`${name} is missing.`)

  const secret = (name: string, howToGet: string): string => {
    const [given, path] = [environment[name]?.trim(), environment[`${name}_FILE`]?.trim()]
    if (given && path) return problem(`${name} and ${name}_FILE are both set: keep one.`)
    if (!path) return given || problem(`${name} is missing. ${howToGet}`)
    try {
      return readFile(path).trim() || problem(`${name}_FILE names an empty file.`)
    } catch {
      return problem(`${name}_FILE names a file that cannot be read.`)
    }
  }

  const integer = (name: string, most: number, least = 0): number => {
    const value = text(name)
    if (/^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most) return Number(value)
    problem(`${name} must be a whole number from ${least} to ${most}.`)
    return 0
  }

  /** Secure cookies, and secrets on the way, need https; loopback is the exception that browsers make too. */
  const address = (name: string, fallback?: string, { allowHttp = false, allowPath = true } = {}): string => {
    const value = text(name, fallback)
    const url = URL.parse(value)
    if (!value) return ''
    if (!url || !/^https?:$/.test(url.protocol)) return problem(`${name} must be an http or https address.`)
    if (url.username || url.password || /[?#]/.test(value))
      return problem(`${name} must have no user name, query or fragment.`)
    if (isPlainHttp(url) && !allowHttp)
      return problem(`${name} must be https: plain http is for loopback addresses only.`)
    if (!allowPath && url.pathname !== '/') return problem(`${name} must be an origin, without a path: ${url.origin}`)
    return (url.origin + url.pathname).replace(/\/+$/, '')
  }

  const internal = (name: string, publicAddress: string): string =>
    environment[name] ? address(name, undefined, { allowHttp: true }) : publicAddress

  const port = integer('PORT', 65535)
  const publicUrl = address('PUBLIC_URL', `http://localhost:${port}`, { allowPath: false })
  const loginUrl = address('LOGIN_URL')
  const apiUrl = address('API_URL')

  const clientSecret = secret('CLIENT_SECRET', 'It was shown when the application was registered.')
  if (
    clientSecret &&
    (clientSecret.length < 12 || /^(change.?me|placeholder|your.?(client.?)?secret)/i.test(clientSecret))
  )
    problem('CLIENT_SECRET looks like a placeholder: set the one that the platform gave you.')

  const keyList = secret('COOKIE_KEYS', 'Run "npm run setup" to make a .env with a fresh one.')
  const cookieKeys = keyList.split(',').map(key => key.trim())
  if (keyList && !cookieKeys.every(key => /^[\w-]{43}=?$/.test(key))) problem(`COOKIE_KEYS must be keys of ${keyForm}.`)

  const logLevel = text('LOG_LEVEL')
  if (!['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].includes(logLevel))
    problem('LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent.')

  if (environment.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    problem(
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches certificate checks off: name your CA in NODE_EXTRA_CA_CERTS instead.',
    )

  const config = {
    host: text('HOST'),
    port,
    /** An origin, without a slash at the end. The URLs below have no slash at the end either; they may have a path. */
    publicUrl,
    redirectUri: `${publicUrl}/exchangeToken`,
    cancelUrl: address('CANCEL_URL', `${publicUrl || 'https://unknown.invalid'}/cancelled`),
    loginUrl,
    apiUrl,
    loginInternalUrl: internal('LOGIN_INTERNAL_URL', loginUrl),
    apiInternalUrl: internal('API_INTERNAL_URL', apiUrl),
    clientId: text('CLIENT_ID'),
    clientSecret: new Secret(clientSecret),
    /** 32 bytes each in base64url, newest first. */
    cookieKeys: cookieKeys.map(key => new Secret(key)),
    maxConnections: integer('MAX_CONNECTIONS', 999_999, 1),
    metricsPort: environment.METRICS_PORT ? integer('METRICS_PORT', 65535) : undefined,
    prestopDelayMs: integer('PRESTOP_DELAY', 3600) * 1000,
    logLevel,
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}
