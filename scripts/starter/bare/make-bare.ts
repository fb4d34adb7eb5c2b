// Turns a copy of the project into the bare client: one page for signed-in visitors in place of those for applications.

/** Lines of app.ts, and what the bare client has in their place. */
const changes: [line: string, bare: string][] = [
  ["import { applications } from './applications/applications.ts'\n", ''],
  [
    "import type { Config } from './config.ts'\n",
    "import type { Config } from './config.ts'\nimport { home } from './home.ts'\n",
  ],
  ['/** The client with the pages for applications. */', '/** The client with its pages. */'],
  ["name: 'Applications',", "name: 'My client',"],
  ["home: '/applications',", "home: '/home',"],
  [
    "links: () => [{ href: '/applications', text: 'Your applications' }],",
    "links: () => [{ href: '/home', text: 'Home' }],",
  ],
  [
    'await signedIn.register(applications, { config, clock: options.clock ?? (() => new Date()) })',
    'await signedIn.register(home)',
  ],
]

/** app.ts of the bare client. Throws an error if the project's app.ts has changed and this list has not. */
export function toBareApp(text: string): string {
  return changes.reduce((app, [line, bare]) => {
    if (app.split(line).length !== 2)
      throw new Error(
        `src/client/app.ts must have this once, for scripts/starter/bare/make-bare.ts to replace it: ${line}`,
      )
    return app.replace(line, () => bare)
  }, text)
}

/** The test of the bare client's page, as it is imported from test/client. */
export function toBareTest(text: string): string {
  return text
    .replace(/ `npm run eject -- --bare` keeps this\n\/\/ test as test\/client\/home\.test\.ts\./, '')
    .replace("'../../scripts/starter/bare/home.ts'", "'../../src/client/home.ts'")
    .replaceAll("'../client/support/", "'./support/")
}
