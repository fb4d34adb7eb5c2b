// Reads the arguments of the command, and reports every problem at once.
import { Secret } from '../sandbox/values/secret.ts'
import { argumentsToRepeat, readArguments, SettingsError } from './arguments.ts'
import type { Need } from './check.ts'
import { readExpectedFailures } from './expected-failures.ts'

export interface Settings {
  /** The origins of the client under test, and of its second instance. */
  client: string
  replica: string | undefined
  /** True if the suite starts the second instance itself. The run then chooses the address of this instance. */
  startsReplica: boolean
  /** The `host:port` where the suite reaches the client, if it differs from the client's address. */
  clientAt: string | undefined
  start: string | undefined
  /**
   * Additional variables for a client that the suite starts. `{LOGIN_URL}` and other names in braces stand for the
   * settings.
   */
  env: [name: string, value: string][]
  waitMs: number
  /** How long a browser waits for an answer. A correct client ends its own calls earlier. */
  patienceMs: number
  /** Paths at the client. An empty path means that the client has no such page. */
  login: string
  callback: string
  page: string
  create: string
  logout: { method: string; path: string } | undefined
  /**
   * The name of the login path's parameter for the page to open after the login. Empty if the client has no such
   * parameter.
   */
  returnTo: string
  /** The browser for the group real-browser: "chromium", or the path of the program. */
  browser: string | undefined
  only: RegExp | undefined
  /** The known failures, as a map from the id of each check to the reason. */
  expectFail: Map<string, string>
  /** True if undecided checks do not change the exit code. */
  allowUndecided: boolean
  /** True if a broken SHOULD or ignored advice fails the run, like a broken MUST. */
  isStrict: boolean
  /** True if the command continues after the run, and repeats failed checks when the client restarts. */
  isWatching: boolean
  isHelp: boolean
  isList: boolean
  json: string | undefined
  junit: string | undefined
  html: string | undefined
  portalPort: number
  apiPort: number
  labPort: number
  /** Where the platform listens. `localhost` means every loopback address. */
  host: string
  /** The public origins of the platform, if they differ from its ports on loopback. */
  portalUrl: string | undefined
  apiUrl: string | undefined
  /** The client id and the secret, if all runs must use the same values. */
  clientId: string | undefined
  clientSecret: Secret | undefined
  /** The arguments for a command that repeats a check, as the user typed them. */
  repeat: string[]
}

/** Throws a SettingsError that lists all problems. */
export function readSettings(args: string[], environment: Record<string, string | undefined> = {}): Settings {
  const problems: string[] = []
  const values = readArguments(args)
  const startsReplica = values.replica === 'start'
  const origin = (name: 'client' | 'replica' | 'portal-url' | 'api-url') => {
    const text = (values[name] as string | undefined)?.replace(/\/$/, '')
    if (text === undefined) return undefined
    if (!/^https?:\/\//.test(text) || !URL.canParse(text) || new URL(text).origin !== text)
      problems.push(
        `--${name} must be ${name === 'replica' ? 'start, or ' : ''}an origin such as http://localhost:3000, but is ${text}`,
      )
    return text
  }
  const path = (name: 'login' | 'callback' | 'page' | 'create', isNeeded = false) => {
    if (values[name] === '' ? isNeeded : !/^\/(?!\/)/.test(values[name]))
      problems.push(`--${name} must be a path that begins with one slash`)
    return values[name]
  }
  const number = (name: 'portal-port' | 'api-port' | 'lab-port' | 'wait', most: number) => {
    if (!/^\d{1,5}$/.test(values[name]) || Number(values[name]) > most)
      problems.push(`--${name} must be a number up to ${most}`)
    return Number(values[name])
  }
  const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = environment
  if (Boolean(clientId) !== Boolean(clientSecret)) problems.push('CLIENT_ID and CLIENT_SECRET: set both, or neither')
  if (clientSecret && clientSecret.length < 22) problems.push('CLIENT_SECRET must have at least 22 characters')
  if (clientId && !/^[\w-]{1,64}$/.test(clientId)) problems.push('CLIENT_ID must be 1 to 64 letters, digits, - or _')
  const settings: Settings = {
    client: origin('client')!,
    replica: startsReplica ? undefined : origin('replica'),
    startsReplica,
    clientAt: values['client-at'],
    start: values.start,
    env: (values.env ?? []).map(text => readVariable(text, problems)),
    waitMs: number('wait', 3600) * 1000,
    patienceMs: 20_000,
    login: path('login', true),
    callback: path('callback', true),
    page: path('page'),
    create: path('create'),
    logout: readLogout(values.logout, problems),
    returnTo: values['return-to'],
    browser: values.browser,
    only: readPattern(values.only, problems),
    expectFail: readExpectedFailures(values['expect-fail'], problems),
    allowUndecided: values['allow-undecided'],
    isStrict: values.strict,
    isWatching: values.watch,
    isHelp: values.help,
    isList: values.list,
    json: values.json,
    junit: values.junit,
    html: values.html,
    portalPort: number('portal-port', 65_535),
    apiPort: number('api-port', 65_535),
    labPort: number('lab-port', 65_535),
    host: values.host,
    portalUrl: origin('portal-url'),
    apiUrl: origin('api-url'),
    clientId: clientId || undefined,
    clientSecret: clientSecret ? new Secret(clientSecret) : undefined,
    repeat: argumentsToRepeat(args),
  }
  if (startsReplica && (!settings.start || settings.clientAt))
    problems.push('--replica start needs --start, and does not work with --client-at')
  if (settings.clientAt && !/^[\w.-]+:\d{1,5}$/.test(settings.clientAt))
    problems.push('--client-at must be a host and a port, such as host.docker.internal:3000')
  if (settings.browser !== undefined && settings.browser !== 'chromium' && !/[/\\]/.test(settings.browser))
    problems.push('--browser must be chromium, or the path of its program, such as /usr/bin/google-chrome')
  if (problems.length > 0) throw new SettingsError(problems)
  return settings
}

/** Returns why a check cannot run with these settings, or undefined if it can run. */
export function whyMissing(settings: Settings, need: Need): string | undefined {
  const answers: Record<Need, [unknown, string]> = {
    page: [settings.page, 'no page behind the login was named (--page)'],
    logout: [settings.logout, 'no way to sign out was named (--logout)'],
    create: [settings.create, 'no page that creates an application was named (--create)'],
    returnTo: [settings.returnTo, 'no parameter for the page after the login was named (--return-to)'],
    replica: [settings.replica, 'no other instance was named (--replica URL) or started (--replica start)'],
    browser: [settings.browser, 'no real browser was named (--browser chromium)'],
    process: [settings.start, 'the client was not started by this command (--start)'],
    https: [settings.client.startsWith('https:'), 'the client does not use https'],
  }
  const [has, why] = answers[need]
  return has ? undefined : why
}

function readVariable(text: string, problems: string[]): [string, string] {
  const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? []
  if (!name) problems.push(`--env must be NAME=VALUE, but is ${text}`)
  return [name, value]
}

function readLogout(text: string, problems: string[]): Settings['logout'] {
  if (text === '') return undefined
  const [, method = '', path = ''] = /^(GET|POST) (\/(?!\/).*)$/.exec(text) ?? []
  if (!method) problems.push('--logout must be a method and a path, such as "POST /logout"')
  return { method, path }
}

function readPattern(text: string | undefined, problems: string[]): RegExp | undefined {
  if (text === undefined) return undefined
  try {
    return new RegExp(text)
  } catch {
    problems.push('--only must be a regular expression')
    return undefined
  }
}
