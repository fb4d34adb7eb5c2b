// Turns a copy of the project into the bare client: one page for signed-in visitors instead of the pages for
// applications.
import { replaceOnce } from '../replace-once.ts'

/** Lines of app.ts, and their replacements in the bare client. */
const changes: [line: string, bare: string][] = [
  ["import { applications } from './applications/applications.ts'\n", ''],
  [
    "import type { Config } from './config.ts'\n",
    "import type { Config } from './config.ts'\nimport { home } from './home.ts'\n",
  ],
  ['/** Builds the server with the pages for applications. */', '/** Builds the server with its pages. */'],
  ["name: 'Applications',", "name: 'My client',"],
  ["home: '/applications',", "home: '/home',"],
  ["    newPage: '/applications/new',\n", ''],
  [
    "links: (_visitor, { applications }) => [{ href: '/applications', text: applications.home }],",
    "links: (_visitor, { home }) => [{ href: '/home', text: home.home }],",
  ],
  [
    'await signedIn.register(applications, { config, clock: options.clock ?? (() => new Date()) })',
    'await signedIn.register(home)',
  ],
  [
    `  app.get('/', { exposeHeadRoute: true, preHandler: app.signIn.recognise }, (request, reply) =>
    app.notices.take(request, reply, async notice => {
      const hasSignedOut = !request.visitorIfAny && app.signIn.hasSignedOut(request)
      const portalSignOut = hasSignedOut ? await app.signIn.findPortalSignOut(request) : undefined
      return reply.page('home', {
        title: request.texts.start.title,
        notice,
        hasSignedOut,
        portalSignOut,
        // The page that describes the application API for developers.
        guideUrl: \`\${config.apiUrl}/apps/v1/docs\`,
      })
    }),
  )
`,
    `  app.get('/', { exposeHeadRoute: true, preHandler: app.signIn.recognise }, async (request, reply) => {
    const hasSignedOut = !request.visitorIfAny && app.signIn.hasSignedOut(request)
    const portalSignOut = hasSignedOut ? await app.signIn.findPortalSignOut(request) : undefined
    return reply.page('home', { title: request.texts.start.title, hasSignedOut, portalSignOut })
  })
`,
  ],
]

/**
 * Returns app.ts for the bare client. Throws an error if the project's app.ts has changed, but the list above has not.
 */
export function toBareApp(text: string): string {
  return replaceOnce('src/client/app.ts', text, changes)
}

/** Returns home-texts.ts with the import paths that it needs in src/client. */
export function toBareTexts(text: string): string {
  return replaceOnce('scripts/starter/bare/home-texts.ts', text, [["'../../../src/client/texts.ts'", "'./texts.ts'"]])
}

/** Returns the test of the bare client's page, with the import paths that it needs in test/client. */
export function toBareTest(text: string): string {
  const note = ' `npm run eject -- --bare` keeps this test as\n// test/client/home.test.ts.'
  return replaceOnce('test/eject/home.test.ts', text, [[note, '']])
    .replaceAll("'../../scripts/starter/bare/", "'../../src/client/")
    .replaceAll("'../client/support/", "'./support/")
}
