// Checks the configuration of a client, and says what to fix: npm run doctor [-- --redirect-uri URI]
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type Dispatcher, request } from 'undici'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { PublicError } from '../errors.ts'
import type { Environment, ProductSettings } from '../read-settings.ts'
import { productSettings } from '../settings.ts'
import { authorizationUrl } from '../sign-in/protocol/authorization.ts'
import { createPortal } from '../sign-in/protocol/portal.ts'
import { backgroundContext, createDispatcher, createUpstream, isRecord } from '../upstream.ts'

const usage = `npm run doctor [-- --redirect-uri URI]

Checks the settings in the environment or .env, the portal, the API and the client's credentials. Prints yes, no or
"cannot tell" for each check. The exit code is 1 if any answer is no.

  --redirect-uri URI   checks the settings of another client, which has this redirect URI
  --help               this text`

type Finding = { answer: 'yes' | 'no' | 'cannot tell'; text: string }

const yes = (text: string): Finding => ({ answer: 'yes', text })
const no = (text: string): Finding => ({ answer: 'no', text })
const cannotTell = (text: string): Finding => ({ answer: 'cannot tell', text })

const largestSkewMs = 30_000

/**
 * Runs every check and returns the findings in the order of the checks. No finding contains a secret. If a setting is
 * missing or wrong, nothing else is checked. If `redirectUri` is given, the settings belong to another client. In that
 * case, the function checks neither the product's settings nor the client's own routes.
 */
export async function diagnose(
  environment: Environment,
  product: ProductSettings<object>,
  redirectUri?: string,
): Promise<Finding[]> {
  const isOurs = redirectUri === undefined
  let config: Config
  try {
    config = isOurs
      ? readConfig(environment, product)
      : { ...readConfig(settingsOf(redirectUri, environment)), redirectUri }
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(problem => no(`settings: ${problem}`))
    throw error
  }
  const dispatcher = createDispatcher()
  try {
    const checks = [checkPortal, checkApi, checkRedirectUri, checkCredentials, ...(isOurs ? [checkProxy] : [])]
    const findings = await Promise.all(checks.map(check => check(config, dispatcher)))
    return [yes('settings: complete'), ...findings.flat(), checkHosts(config)]
  } finally {
    await dispatcher.destroy()
  }
}

/**
 * Returns the settings of another client. Its origin is the origin of its redirect URI. COOKIE_KEYS gets a random
 * value: readConfig requires this setting, but the other client may not have it.
 */
function settingsOf(redirectUri: string, environment: Environment): Environment {
  const url = URL.parse(redirectUri)
  if (!url) throw new ConfigError(['--redirect-uri must be an address: http://localhost:5000/callback'])
  const COOKIE_KEYS = randomBytes(32).toString('base64url')
  return { ...environment, COOKIE_KEYS, COOKIE_KEYS_FILE: undefined, PUBLIC_URL: url.origin }
}

type Check = (config: Config, dispatcher: Dispatcher) => Promise<Finding | Finding[]>

const checkPortal: Check = async ({ loginUrl, loginInternalUrl }, dispatcher) => {
  const { problem, date } = await get(`${loginInternalUrl}/`, dispatcher)
  const findings = [
    problem ? no(`portal: ${loginInternalUrl} ${problem}`) : yes(`portal: ${loginInternalUrl} answers`),
    checkClock(date),
  ]
  if (loginUrl === loginInternalUrl) return findings
  // If the portal has two addresses, this machine may not be able to reach the address for browsers.
  const browser = await get(`${loginUrl}/`, dispatcher)
  if (!browser.problem) return [...findings, yes(`portal: ${loginUrl}, the address for browsers, answers here too`)]
  return [...findings, cannotTell(`portal: ${loginUrl}, the address for browsers, ${browser.problem} from here`)]
}

function checkClock(date: Date | undefined): Finding {
  if (!date) return cannotTell('clocks: the portal does not send a Date header')
  const skewMs = Math.abs(Date.now() - date.getTime())
  if (skewMs <= largestSkewMs) return yes('clocks: this machine and the portal agree')
  return no(
    `clocks: this machine and the portal differ by ${Math.round(skewMs / 1000)} seconds. Synchronize this machine with NTP.`,
  )
}

const checkApi: Check = async ({ apiInternalUrl }, dispatcher) => {
  const url = `${apiInternalUrl}/apps/v1`
  const { status, problem } = await get(url, dispatcher)
  if (problem) return no(`API: ${apiInternalUrl} ${problem}`)
  if (status === 401) return yes(`API: ${url} answers, and requires a token`)
  return no(`API: ${url} answers ${status} to a call without a token, but 401 is expected. Check API_URL.`)
}

const checkRedirectUri: Check = async (config, dispatcher) => {
  const url = authorizationUrl(config, randomBytes(16).toString('base64url'), undefined)
  const { status, location, problem } = await get(url.replace(config.loginUrl, config.loginInternalUrl), dispatcher)
  const { redirectUri } = config
  if (problem) return cannotTell(`redirect URI: the portal ${problem}`)
  if (location?.startsWith(redirectUri)) {
    const error = new URL(location).searchParams.get('error') ?? 'unknown'
    return no(`redirect URI: registered, but the portal refuses the request (${error}). Check CANCEL_URL.`)
  }
  if (status === 200 || location) return yes(`redirect URI: ${redirectUri} is registered`)
  return no(`redirect URI: the portal refuses ${redirectUri} for this CLIENT_ID. Register exactly this address.`)
}

/**
 * Sends a made-up code to the portal. The answer `invalid_grant` means that the credentials are right, and
 * `invalid_client` means that they are wrong.
 */
const checkCredentials: Check = async (config, dispatcher) => {
  const upstream = createUpstream('portal', dispatcher)
  const portal = createPortal(config, upstream, () => new Date(), { info() {}, warn() {} })
  const code = randomBytes(15).toString('hex')
  const fields = { grant_type: 'authorization_code', code, redirect_uri: config.redirectUri, state: code }
  try {
    const { json, status } = await portal.post('/api/exchangeToken', fields, backgroundContext('doctor'))
    const error = isRecord(json) ? json.error : undefined
    if (error === 'invalid_grant') return yes('credentials: the portal accepts CLIENT_ID and CLIENT_SECRET')
    if (error === 'invalid_client')
      return no('credentials: the portal refuses them. Make a new client secret, and check CLIENT_ID.')
    return cannotTell(`credentials: the portal answered ${status} to a made-up code`)
  } catch (error) {
    if (!(error instanceof PublicError)) throw error
    return cannotTell(`credentials: the call to the portal failed (${error.code})`)
  }
}

/** Sends a request to the public address of the running client, to see whether a proxy changes redirects or cookies. */
const checkProxy: Check = async ({ publicUrl, redirectUri }, dispatcher) => {
  const { status, location, cookies, problem } = await get(`${publicUrl}/login`, dispatcher)
  if (problem) return cannotTell(`proxy: the client is not running at ${publicUrl} (${problem})`)
  if (status !== 302 || !location) return no(`proxy: ${publicUrl}/login answers ${status}, not this client's redirect.`)
  if (new URL(location).searchParams.get('redirect_uri') !== redirectUri)
    return no(`proxy: the client at ${publicUrl} runs with another PUBLIC_URL.`)
  const isWhole = cookies.some(cookie => /^__Host-login-.*Path=\/;.*HttpOnly;.*Secure;.*SameSite=Lax/i.test(cookie))
  if (isWhole) return yes(`proxy: ${publicUrl} passes redirects and cookies on unchanged`)
  return no('proxy: the login cookie arrives changed or not at all. The proxy must not change Set-Cookie.')
}

/**
 * If the client and the portal are on two ports of one host, they share their cookies. A test on this host then does
 * not show problems with SameSite.
 */
function checkHosts({ publicUrl, loginUrl }: Config): Finding {
  const [client, portal] = [new URL(publicUrl).hostname, new URL(loginUrl).hostname]
  if (client !== portal) return yes(`sites: ${client} and ${portal} are different hosts`)
  return no(`sites: client and portal share ${client}, so they share their cookies. Use two host names.`)
}

type Got = { status: number; location?: string; cookies: string[]; date?: Date; problem?: string }

async function get(url: string, dispatcher: Dispatcher): Promise<Got> {
  try {
    const signal = AbortSignal.timeout(5_000)
    const { statusCode, headers, body } = await request(url, { dispatcher, signal, headers: { accept: 'text/html' } })
    await body.dump()
    const { location, date } = headers
    return {
      status: statusCode,
      cookies: [headers['set-cookie'] ?? []].flat(),
      ...(typeof location === 'string' && { location: new URL(location, url).href }),
      ...(typeof date === 'string' && { date: new Date(date) }),
    }
  } catch (error) {
    const { name, message, code } = error as NodeJS.ErrnoException
    return { status: 0, cookies: [], problem: `does not answer (${code ?? (message || name)})` }
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'redirect-uri': { type: 'string' }, help: { type: 'boolean' } } })
  if (values.help) {
    process.stdout.write(`${usage}\n`)
    process.exit()
  }
  const findings = await diagnose(process.env, productSettings, values['redirect-uri'])
  for (const { answer, text } of findings) process.stdout.write(`${answer.padEnd(12)}${text}\n`)
  process.exit(findings.some(({ answer }) => answer === 'no') ? 1 : 0)
}
