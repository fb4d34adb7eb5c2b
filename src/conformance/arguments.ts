// The options of the command, and the text of --help.
import { parseArgs } from 'node:util'

export const usage = `npm run conformance -- --client URL [options]

  --client URL         the client's origin, such as http://localhost:3000
  --start CMD          starts the client, with its settings in the environment
  --env NAME={VALUE}   another variable for it: {LOGIN_URL} {API_URL} {CLIENT_ID} {CLIENT_SECRET} {REDIRECT_URI}
                       {CLIENT_URL} {PORT} {RANDOM}; may be given more than once
  --wait SECONDS       how long to wait for the client to answer (60)

Where things are at the client; what it does not have is given as an empty text, such as --create ""
  --login PATH         where a login begins (/login)
  --callback PATH      where the portal sends the browser back to (/exchangeToken)
  --page PATH          a page behind the login that calls the API (/applications)
  --logout "POST PATH" how one signs out (POST /logout)
  --create PATH        the page with the form that creates an application (/applications/new)
  --return-to NAME     the parameter of the login path that says where to come back to (returnTo)
  --replica URL        another instance of the client

For a client whose pages need JavaScript
  --browser chromium   also runs the checks of the group real-browser, in a real Chromium that playwright-core drives;
                       or the path of its program

What is checked and reported
  --only REGEX         only checks whose id or group matches
  --expect-fail FILE   known failures: on each line an id and a reason
  --watch              goes on: repeats what failed whenever the client is started anew, or at Enter
  --strict             a SHOULD and advice that are not kept fail, too
  --allow-undecided    exit code 0 although checks stayed undecided
  --json FILE  --junit FILE  --html FILE   reports
  --list               prints the checks, as Markdown
  --help               prints this

Where the platform is
  --portal-port N  --api-port N  --lab-port N   the ports on which it listens (4100, 4101, 4102, or free ones)
  --host HOST          the address on which it listens (localhost: every loopback address)
  --portal-url URL  --api-url URL   where it is reached, where that differs
  --client-at HOST:PORT   where the client is reached, where that is not what --client says (in a container)

CLIENT_ID and CLIENT_SECRET in the environment are taken for the client's; otherwise both are random.

Exit codes
  0   nothing failed, and every check came to a result
  1   a MUST failed (with --strict also a SHOULD or advice), a client that ends, hangs or breaks a connection included; or a known failure passes now
  2   the suite could not run, or one of its own checks crashed
  3   nothing failed, but some checks stayed undecided; 0 with --allow-undecided
`

/** The message names every problem. */
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

/** Returns each option as it was typed, or its default. Throws SettingsError for an unknown option. */
export function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new SettingsError([(error as Error).message])
  }
}

/** Removes the options for report files from the arguments: repeating one check must not overwrite the reports of the whole run. */
export function argumentsToRepeat(args: string[]): string[] {
  const { tokens } = parseArgs({ args, options, tokens: true })
  const dropped = ['only', 'watch', 'json', 'junit', 'html', 'expect-fail', 'list']
  return tokens.flatMap(token =>
    token.kind !== 'option' || dropped.includes(token.name)
      ? []
      : [`--${token.name}`, ...(token.value === undefined ? [] : [token.value])],
  )
}
