// Checks that the client serves neither its settings nor its own files. Some clients serve their whole folder as static
// files, or still have a page for developers that prints all settings.
import type { CheckDefinition } from '../../check.ts'
import { bodyOf, expect, statusOf } from '../../findings.ts'
import { type Odd, requestText, sendOdd } from '../../steps/raw.ts'

const up = ['..', '%2e%2e', '..%2f..', '..%5c..'].map(step => Array(8).fill(step).join('/'))

/** Paths at which frameworks and developers show settings. */
const settingsPaths = [
  ...['.env', '.env.local', 'config', 'config.json', 'settings', 'settings.json', 'env', 'environment'],
  ...['debug', 'debug/vars', 'debug/config', 'debug/pprof/cmdline', 'info', 'phpinfo.php', 'info.php', 'status'],
  ...['health', 'healthz', 'ready', 'metrics', 'actuator/env', 'actuator/configprops', 'application.properties'],
  ...['application.yml', 'appsettings.json', 'wp-config.php', 'server-info', '__debug__', '_debug', 'dump'],
].map(path => `/${path}`)

/** Files that list the packages of a client, and a string that each of these files contains. */
const packageFiles: [path: string, text: RegExp][] = [
  ['/package.json', /"(dependencies|version)"\s*:/],
  ['/package-lock.json', /"lockfileVersion"\s*:/],
  ['/composer.json', /"require"\s*:/],
  ['/composer.lock', /"packages"\s*:/],
  ['/go.mod', /^module \S+/m],
  ['/requirements.txt', /^[\w.-]+[=~>]=\d/m],
  ['/pyproject.toml', /^\[(project|tool\.)/m],
  ['/Gemfile.lock', /^GEM\b/m],
  ['/pom.xml', /<project\b/],
  ['/build.gradle', /^\s*(plugins|dependencies)\s*\{/m],
]

export const servedFiles: CheckDefinition[] = [
  {
    id: 'settings-not-served',
    title: 'No page or file of the client contains the client secret, not even a page for developers',
    rule: 'secret-on-backend',
    why: "Anyone who reads the secret can exchange codes as this client. Attackers' programs request such pages and files from every server on the internet.",
    fix: 'Remove pages that print settings. Serve static files only from a folder that contains nothing else, and refuse a path that contains two dots in a row.',
    async run(context) {
      const secret = context.platform.clientSecret.reveal()
      const paths = [
        ...settingsPaths,
        ...up.flatMap(path => [`/${path}/proc/self/environ`, `/static/${path}/proc/self/environ`]),
      ]
      const requests = paths.map(
        (path): Odd => ({ what: `GET ${path}`, head: requestText(context, 'GET', path), isNoHttp: true }),
      )
      for (const { exchange, odd } of await sendOdd(context, requests)) {
        const isShown = bodyOf(exchange).includes(secret) || bodyOf(exchange).includes(encodeURIComponent(secret))
        expect(!isShown, `The answer to ${odd.what} contains the client secret.`, exchange)
      }
    },
  },
  {
    id: 'packages-not-served',
    title: 'The client does not serve the file that lists its packages and their versions',
    rule: 'no-server-version',
    why: 'The versions tell an attacker which published vulnerabilities to try. A client that serves this file often serves its whole folder, with its code and its settings.',
    fix: 'Serve static files only from a folder that contains nothing else.',
    async run(context) {
      for (const [path, text] of packageFiles) {
        const answer = await context.request(path)
        const isServed = statusOf(answer) === 200 && text.test(bodyOf(answer))
        expect(!isServed, `The client serves the file ${path}.`, answer)
      }
    },
  },
]
