// Reads the sandbox's settings from the environment, and names every problem at once.
import { readFileSync } from 'node:fs'
import { isNetwork } from './http/trusted-proxies.ts'
import { longestPassword } from './people/hash-passwords.ts'
import { findEmailProblem, findPasswordProblem, shortestPassword } from './people/rules.ts'
import { longestTokenSeconds } from './store/grants.ts'
import { isId } from './values/is-id.ts'
import { longestCodeSeconds } from './values/longest-code.ts'
import { isLoopback, isRedirectUri } from './values/redirect-uri.ts'
import { Secret } from './values/secret.ts'
import { longestText } from './values/text-length.ts'

/**
 * All settings, in the order of `.env.sandbox.example`. Every setting is optional. A setting with an empty default is
 * off until you set it.
 */
export const settings = [
  {
    name: 'HOST',
    default: 'localhost',
    about: 'The host or address that the portal and the API listen on. localhost means every loopback address.',
  },
  { name: 'PORTAL_PORT', default: '4000', about: 'The port of the login portal. 0 means any free port.' },
  { name: 'API_PORT', default: '4001', about: 'The port of the application API. 0 means any free port.' },
  {
    name: 'PORTAL_URL',
    default: 'http://127.0.0.1:PORTAL_PORT',
    about:
      'The origin at which browsers and clients reach the portal. The portal uses this origin as the issuer of tokens.',
  },
  { name: 'API_URL', default: 'http://127.0.0.1:API_PORT', about: 'The origin at which clients reach the API.' },
  {
    name: 'DATABASE_URL',
    default: 'sqlite:data/sandbox.db',
    about: 'sqlite:path or postgres://user:password@host/database. Also as DATABASE_URL_FILE.',
  },
  {
    name: 'SEED_CLIENT_ID',
    default: '',
    about: 'The id of the first client. Set all of the SEED_ settings, or leave all of them out.',
  },
  {
    name: 'SEED_CLIENT_SECRET',
    default: '',
    about: `The secret of the first client, 22 to ${longestText.toLocaleString('en')} characters. Also as SEED_CLIENT_SECRET_FILE.`,
  },
  { name: 'SEED_REDIRECT_URIS', default: '', about: 'The redirect URIs of the first client, comma-separated.' },
  { name: 'SEED_USER_EMAIL', default: '', about: 'The e-mail address of the first user, who owns the client.' },
  {
    name: 'SEED_USER_PASSWORD',
    default: '',
    about: `The password of the first user, ${shortestPassword} to ${longestPassword.toLocaleString('en')} characters. Also as SEED_USER_PASSWORD_FILE.`,
  },
  {
    name: 'TRUSTED_PROXIES',
    default: '',
    about:
      'The addresses and networks of proxies whose X-Forwarded-For header is trusted, comma-separated, such as 10.1.0.0/16.',
  },
  {
    name: 'MAX_CONNECTIONS',
    default: '1000',
    about:
      'The maximum number of open connections, on all addresses together. The sandbox closes further connections immediately.',
  },
  { name: 'ACCESS_TOKEN_SECONDS', default: '86400', about: 'The lifetime of a client’s access token, in seconds.' },
  { name: 'CODE_SECONDS', default: '60', about: 'The lifetime of a code, in seconds, 600 at most.' },
  { name: 'LAB_PORT', default: '', about: 'The port of the laboratory. Without this setting, there is no laboratory.' },
  {
    name: 'LAB_HOST',
    default: '127.0.0.1',
    about: 'The host that the laboratory listens on. The setting HOST does not change this host.',
  },
  {
    name: 'LAB_URL',
    default: 'http://127.0.0.1:LAB_PORT',
    about:
      'The public addresses of the laboratory, comma-separated. Links use the first address. Loopback names always work.',
  },
  {
    name: 'LAB_TOKEN',
    default: '',
    about:
      'A bearer token of 22 characters or more. Every call to the laboratory must send this token. Required if PORTAL_URL, LAB_HOST or an address in LAB_URL is not loopback. Also as LAB_TOKEN_FILE.',
  },
  { name: 'PRESTOP_DELAY', default: '0', about: 'How many seconds the sandbox still accepts requests after SIGTERM.' },
  { name: 'LOG_LEVEL', default: 'info', about: 'trace, debug, info, warn, error, fatal or silent.' },
] as const

type SettingName = (typeof settings)[number]['name']

export interface SandboxConfig {
  /** `localhost` means every loopback address. */
  host: string
  portalPort: number
  apiPort: number
  /**
   * The origins at which browsers and clients reach the portal and the API, without a trailing slash. `portalUrl` is
   * also the issuer.
   */
  portalUrl: string
  apiUrl: string
  /** The addresses and networks of proxies whose X-Forwarded-For header is trusted. */
  trustedProxies: string[]
  /** The maximum number of open connections, on all addresses of all listeners together. */
  maxConnections: number
  /** How long a client's access token is valid, and how long a client can exchange a code. */
  accessTokenSeconds: number
  codeSeconds: number
  /** `sqlite:path` or `postgres://…`. A PostgreSQL URL can contain a password. */
  databaseUrl: Secret
  seed: Seed | undefined
  /** Undefined if there is no laboratory. */
  lab: LabConfig | undefined
  /** How long the sandbox still accepts requests after SIGTERM, while /health/ready answers 503. */
  prestopDelayMs: number
  logLevel: string
}

/** The one client and the one user that a new sandbox starts with. */
export interface Seed {
  clientId: string
  clientSecret: Secret
  redirectUris: string[]
  userEmail: string
  userPassword: Secret
}

/**
 * The settings of the laboratory: where the laboratory listens, its public addresses, and the token that callers need.
 */
export interface LabConfig {
  host: string
  port: number
  /** Public origins. Links use the first origin. */
  urls: string[]
  token: Secret | undefined
}

type Environment = Record<string, string | undefined>

const secretNames = ['DATABASE_URL', 'SEED_CLIENT_SECRET', 'SEED_USER_PASSWORD', 'LAB_TOKEN']
const seedNames = [
  'SEED_CLIENT_ID',
  'SEED_CLIENT_SECRET',
  'SEED_REDIRECT_URIS',
  'SEED_USER_EMAIL',
  'SEED_USER_PASSWORD',
]
const placeholder = /^(change.?me|placeholder|your.?(client.?|user.?)?(secret|password))/i
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Thrown once, with a list of all problems in the settings. The problems name settings, but never contain the values of
 * settings.
 */
export class ConfigError extends Error {
  readonly problems: string[]

  constructor(problems: string[]) {
    super(`The settings of the sandbox are not usable:\n${problems.map(problem => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/**
 * Reads all settings. Throws ConfigError with all problems. Instead of a secret `NAME`, the environment can contain
 * `NAME_FILE`, the name of a file with the secret.
 */
export function readConfig(environment: Environment): SandboxConfig {
  const problems: string[] = []
  const env = withFiles(environment, problems)
  const portalPort = readPort(env, 'PORTAL_PORT', problems)
  const apiPort = readPort(env, 'API_PORT', problems)
  const config = {
    host: readHost(env, 'HOST', problems),
    portalPort,
    apiPort,
    portalUrl: readOrigin(env, 'PORTAL_URL', loopbackOrigin(portalPort), problems),
    apiUrl: readOrigin(env, 'API_URL', loopbackOrigin(apiPort), problems),
    trustedProxies: readTrustedProxies(env, problems),
    maxConnections: readMaxConnections(env, problems),
    accessTokenSeconds: readSeconds(env, 'ACCESS_TOKEN_SECONDS', { least: 1, most: longestTokenSeconds }, problems),
    codeSeconds: readSeconds(env, 'CODE_SECONDS', { least: 1, most: longestCodeSeconds }, problems),
    databaseUrl: readDatabaseUrl(env, problems),
    seed: readSeed(env, problems),
    lab: readLab(env, problems),
    prestopDelayMs: readSeconds(env, 'PRESTOP_DELAY', { least: 0, most: 3600 }, problems) * 1000,
    logLevel: env.LOG_LEVEL || defaultOf('LOG_LEVEL'),
  }
  if (!logLevels.includes(config.logLevel)) problems.push(`LOG_LEVEL must be one of ${logLevels.join(', ')}`)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

function withFiles(environment: Environment, problems: string[]): Environment {
  const env = { ...environment }
  for (const name of secretNames) {
    const path = env[`${name}_FILE`]
    if (!path) continue
    if (env[name]) problems.push(`${name} and ${name}_FILE are both set. Remove one of them`)
    try {
      env[name] = readFileSync(path, 'utf8').trim()
      // An empty value would count as a setting that is left out, and the sandbox would use the default.
      if (env[name] === '') problems.push(`${name}_FILE names an empty file`)
    } catch {
      problems.push(`${name}_FILE names a file that cannot be read`)
    }
  }
  return env
}

/** Returns the default from the table of settings. */
function defaultOf(name: SettingName): string {
  return settings.find(setting => setting.name === name)!.default
}

function readHost(env: Environment, name: SettingName, problems: string[]): string {
  const host = env[name] || defaultOf(name)
  if (!/^[\w.:%-]+$/.test(host)) problems.push(`${name} must be a host name or an IP address`)
  return host
}

function readPort(env: Environment, name: SettingName, problems: string[]): number {
  const text = env[name] || defaultOf(name)
  // Only digits are allowed. `Number()` would turn a space into 0, and 0 means any free port.
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65535) return Number(text)
  problems.push(`${name} must be a port number`)
  // With a valid port, the default value of the URL is also valid, and the list has no second problem about this URL.
  return Number(defaultOf(name))
}

function readMaxConnections(env: Environment, problems: string[]): number {
  const text = env.MAX_CONNECTIONS || defaultOf('MAX_CONNECTIONS')
  if (!/^[1-9]\d{0,5}$/.test(text)) problems.push('MAX_CONNECTIONS must be a whole number, 1 to 999999')
  return Number(text)
}

function readSeconds(
  env: Environment,
  name: SettingName,
  { least, most }: { least: number; most: number },
  problems: string[],
): number {
  const text = env[name] || defaultOf(name)
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds >= least && seconds <= most))
    problems.push(`${name} must be a whole number of seconds, ${least} to ${most}`)
  return seconds
}

/**
 * Returns the origin at which browsers on the same machine reach a listener. Port 80 is left out, because it is the
 * default for http.
 */
function loopbackOrigin(port: number): string {
  return new URL(`http://127.0.0.1:${port}`).origin
}

function readTrustedProxies(env: Environment, problems: string[]): string[] {
  const entries = (env.TRUSTED_PROXIES ?? '')
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
  if (!entries.every(isNetwork))
    problems.push(
      'TRUSTED_PROXIES must be a comma-separated list of IP addresses or networks, such as 10.1.0.0/16. A network of all addresses (/0) is not allowed',
    )
  return entries
}

function readOrigin(env: Environment, name: string, fallback: string, problems: string[]): string {
  const text = env[name] || fallback
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Clients compare the issuer byte by byte (RFC 8414 3.3), so a trailing slash or a capital letter would make a
  // difference.
  if (url?.origin !== text) problems.push(`${name} must be an origin such as https://login.example.test`)
  // Browsers drop Secure cookies and Sec-Fetch headers on plain http, except on loopback.
  else if (!isRedirectUri(`${text}/`)) problems.push(`${name} must use https, or http on a loopback address`)
  return text
}

function readDatabaseUrl(env: Environment, problems: string[]): Secret {
  const url = env.DATABASE_URL || defaultOf('DATABASE_URL')
  if (!/^(sqlite:.|postgres(ql)?:\/\/)/.test(url)) problems.push('DATABASE_URL must be sqlite:path or postgres://…')
  return new Secret(url)
}

/**
 * The laboratory shows everybody's requests, so by default it listens only on loopback, even if HOST names another
 * address.
 */
function readLab(env: Environment, problems: string[]): LabConfig | undefined {
  if (!env.LAB_PORT) return undefined
  const port = readPort(env, 'LAB_PORT', problems)
  const urls = (env.LAB_URL || loopbackOrigin(port)).split(',').map(url => url.trim())
  if (!urls.every(url => URL.canParse(url) && new URL(url).origin === url && isRedirectUri(`${url}/`)))
    problems.push(
      'LAB_URL must be a comma-separated list of origins. Each origin must use https, or http on a loopback address',
    )
  const host = readHost(env, 'LAB_HOST', problems)
  if (env.LAB_TOKEN) {
    if (!/^[\x21-\x7e]{22,}$/.test(env.LAB_TOKEN))
      problems.push('LAB_TOKEN must have at least 22 characters (128 random bits), and no spaces')
  } else {
    // A token is required if other machines can reach the laboratory. Without a token, anybody could send the header
    // `Host: localhost`, read the links that reset passwords, and get tokens.
    const isElsewhere = (url: string) => URL.canParse(url) && !isLoopback(new URL(url).hostname)
    const reachable = [
      ...(isLoopback(host) || host === '::1' ? [] : ['LAB_HOST']),
      ...(urls.some(isElsewhere) ? ['LAB_URL'] : []),
      ...(isElsewhere(env.PORTAL_URL ?? '') ? ['PORTAL_URL'] : []),
    ]
    if (reachable.length > 0)
      problems.push(
        `LAB_TOKEN is missing: ${reachable.map(name => `${name} is not loopback`).join(', ')}, so other machines could reach the laboratory. ` +
          'Set LAB_TOKEN to 22 or more random characters',
      )
  }
  return { host, port, urls, token: env.LAB_TOKEN ? new Secret(env.LAB_TOKEN) : undefined }
}

function readSeed(env: Environment, problems: string[]): Seed | undefined {
  const missing = seedNames.filter(name => !env[name])
  if (missing.length === seedNames.length) return undefined
  for (const name of missing) problems.push(`${name} is missing; set all of the SEED_ settings, or none`)
  if (missing.length > 0) return undefined
  const redirectUris = (env.SEED_REDIRECT_URIS ?? '').split(',').map(uri => uri.trim())
  if (!isId(env.SEED_CLIENT_ID)) problems.push('SEED_CLIENT_ID must be 1 to 64 letters, digits, - or _')
  // The id cannot be `docs`: GET /apps/v1/docs is the documentation, so nobody could read the application with this id.
  if (env.SEED_CLIENT_ID === 'docs') problems.push('SEED_CLIENT_ID cannot be docs; choose another id')
  const clientSecret = env.SEED_CLIENT_SECRET ?? ''
  const userEmail = env.SEED_USER_EMAIL ?? ''
  const userPassword = env.SEED_USER_PASSWORD ?? ''
  // The portal refuses values that are too long, so nobody could sign in, and the client could not exchange a code.
  if (clientSecret.length < 22) problems.push('SEED_CLIENT_SECRET must have at least 22 characters (128 random bits)')
  if (clientSecret.length > longestText) problems.push(`SEED_CLIENT_SECRET must have at most ${longestText} characters`)
  for (const name of ['SEED_CLIENT_SECRET', 'SEED_USER_PASSWORD'])
    if (placeholder.test(env[name] ?? '')) problems.push(`${name} looks like a placeholder; set your own value`)
  if (!redirectUris.every(isRedirectUri))
    problems.push(
      'SEED_REDIRECT_URIS must be a comma-separated list. Each redirect URI must use https, or http on a loopback address',
    )
  const emailProblem = findEmailProblem(userEmail)
  if (emailProblem !== undefined) problems.push(`SEED_USER_EMAIL cannot be used. ${emailProblem}`)
  const passwordProblem = findPasswordProblem(userPassword, userEmail)
  if (passwordProblem !== undefined) problems.push(`SEED_USER_PASSWORD cannot be used. ${passwordProblem}`)
  return {
    clientId: env.SEED_CLIENT_ID ?? '',
    clientSecret: new Secret(clientSecret),
    redirectUris,
    userEmail,
    userPassword: new Secret(userPassword),
  }
}
