// The options of the command, and the text of --help.
import { parseArgs } from 'node:util'

export const usage = `npm run conformance -- --client URL [options]

  --client URL         the origin of the client, such as http://localhost:3000
  --start CMD          a command that starts the client; the command gets the client's settings as environment variables
  --env NAME={VALUE}   one more environment variable for the client: {LOGIN_URL} {API_URL} {CLIENT_ID} {CLIENT_SECRET}
                       {REDIRECT_URI} {CLIENT_URL} {PORT} {RANDOM}; you can repeat this option
  --wait SECONDS       how long the suite waits for the first answer from the client (60)

The paths of the client. If the client lacks a feature, pass an empty path, such as --create ""
  --login PATH         the path that begins a login (/login)
  --callback PATH      the path to which the portal redirects the browser after the login (/exchangeToken)
  --page PATH          a page that needs a login and calls the API (/applications)
  --logout "POST PATH" method and path of the request that signs the visitor out (POST /logout)
  --create PATH        the page with the form that creates an application (/applications/new)
  --return-to NAME     the parameter of the login path that says which page to open after the login (returnTo)
  --replica URL        another instance of the client
  --replica start      starts another instance with the command of --start and another PORT

For a client whose pages need JavaScript
  --browser chromium   also runs the checks of the group real-browser in a real Chromium, with playwright-core;
                       instead of "chromium", you can pass the path of the program

Checks and reports
  --only REGEX         runs only the checks whose id or group matches
  --expect-fail FILE   known failures: each line has the id of a check and a reason
  --watch              repeats the failed checks when the client restarts, or when you press Enter
  --strict             a broken SHOULD or ignored advice also fails the run
  --allow-undecided    exit code 0 even if checks stay undecided
  --json FILE  --junit FILE  --html FILE   writes reports
  --list               prints all checks as Markdown
  --help               prints this text

The addresses of the platform
  --portal-port N  --api-port N  --lab-port N   the ports of the platform (4100, 4101, 4102, or free ports)
  --host HOST          the address on which the platform listens (localhost: every loopback address)
  --portal-url URL  --api-url URL   the public addresses of the platform, if they differ from the ports above
  --client-at HOST:PORT   the host and port at which the suite reaches the client, if they differ from --client

The client gets CLIENT_ID and CLIENT_SECRET from the environment. If they are not set, the suite makes random values.

Exit codes
  0   no check failed, and every check has a result
  1   a check of a MUST failed (with --strict, also a check of a SHOULD or of advice), or a known failure now passes;
      a check also fails if the client ends, hangs or breaks a connection
  2   the suite could not run, or a check crashed because of a mistake in the suite
  3   no check failed, but some checks stayed undecided (with --allow-undecided: 0)
`

/** The error message lists every problem. */
export class SettingsError extends Error {
  constructor(problems: string[]) {
    super(`${problems.map(problem => `  ${problem}`).join('\n')}\n\n--help lists all options.`)
  }
}

const options = {
  client: { type: 'string', default: 'http://localhost:3000' },
  replica: { type: 'string' },
  'client-at': { type: 'string' },
  start: { type: 'string' },
  env: { type: 'string', multiple: true },
  wait: { type: 'string', default: '60' },
  login: { type: 'string', default: '/login' },
  callback: { type: 'string', default: '/exchangeToken' },
  page: { type: 'string', default: '/applications' },
  logout: { type: 'string', default: 'POST /logout' },
  create: { type: 'string', default: '/applications/new' },
  'return-to': { type: 'string', default: 'returnTo' },
  browser: { type: 'string' },
  only: { type: 'string' },
  'expect-fail': { type: 'string' },
  strict: { type: 'boolean', default: false },
  watch: { type: 'boolean', default: false },
  'allow-undecided': { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  json: { type: 'string' },
  junit: { type: 'string' },
  html: { type: 'string' },
  'portal-port': { type: 'string', default: '4100' },
  'api-port': { type: 'string', default: '4101' },
  'lab-port': { type: 'string', default: '4102' },
  host: { type: 'string', default: 'localhost' },
  'portal-url': { type: 'string' },
  'api-url': { type: 'string' },
} as const

/** Returns the text of each option, or its default. Throws SettingsError for an unknown option. */
export function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new SettingsError([(error as Error).message])
  }
}

/**
 * Returns the arguments for a command that repeats one check. Leaves out some options, for example those for report
 * files, because this command must not overwrite the reports of the whole run.
 */
export function argumentsToRepeat(args: string[]): string[] {
  const { tokens } = parseArgs({ args, options, tokens: true })
  const dropped = ['only', 'watch', 'json', 'junit', 'html', 'expect-fail', 'list']
  return tokens.flatMap(token =>
    token.kind !== 'option' || dropped.includes(token.name)
      ? []
      : [`--${token.name}`, ...(token.value === undefined ? [] : [token.value])],
  )
}
