// The files that a starter does not have, for each size.
import { globSync } from 'node:fs'
import { basename } from 'node:path'

export type Size = { bare: boolean; sandbox: boolean }

/** Files that are only about this repository, and files that make starters. */
const always = [
  'bench',
  'bin',
  'docs/screenshots',
  // The index of requirements names all tests, and a starter has only some of these tests.
  'docs/reference/requirements.md',
  'scripts/citations.ts',
  'scripts/write-requirements.ts',
  'test/requirements.test.ts',
  'docs/tutorials',
  'test/how-to',
  'test/tutorials.ci.ts',
  'compose.yaml',
  'compose.scale.yaml',
  'compose.sandbox.yaml',
  'docker/Caddyfile',
  'docker/make-secrets.ts',
  'scripts/eject.ts',
  'scripts/starter',
  'scripts/screenshots.ts',
  'test/ci.test.ts',
  // The starter's continuous integration runs only npm test.
  'test/conformance/clients/faulty-clients.ci.ts',
  'test/conformance/clients/right-clients.ci.ts',
  'test/archive.ci.ts',
  'test/container',
  'test/eject',
  'test/screenshots.test.ts',
  '.ci',
  '.github',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
]

/** The files in `test/support` that the client's tests need. One of these tests runs in a browser. */
const keptSupport = [
  'free-port',
  'open-page',
  'launch-chromium',
  'shared-servers',
  'teardown',
  'test-browser',
  'stopwatch',
  'raw-socket',
  'read-set-cookie',
  'read-output',
  'process-status',
  'start-conditions',
  'without-files',
]

const sandbox = [
  '.env.sandbox.example',
  'src/sandbox',
  'src/conformance',
  'src/demo.ts',
  'src/demo-https.ts',
  'views/sandbox',
  'test/sandbox',
  'test/conformance',
  ...globSync('test/support/*').filter(path => !keptSupport.includes(basename(path, '.ts'))),
  'test/demo.test.ts',
  'scripts/with-servers.ts',
  'scripts/fault-catalogue.ts',
  'scripts/markdown.ts',
  'scripts/platform-examples.ts',
  'scripts/rule-tables.ts',
  'scripts/write-docs.ts',
]

/** Tests that use the sandbox together with the pages for applications, and a test that imports their helpers. */
const together = [
  'test/journey',
  'test/browser',
  'test/demo.test.ts',
  'test/sandbox/browser/beginners-mistakes.test.ts',
]

/**
 * The documents that every starter keeps. Every starter also keeps docs/reference/platform.md, because leftBehind() looks
 * only at docs/, docs/design/ and docs/how-to/.
 */
const docsOfTheClient = [
  'docs/make-it-yours.md',
  'docs/security-model.md',
  'docs/operations.md',
  'docs/how-to/behind-a-proxy.md',
  'docs/design/client.md',
  'docs/design/sign-in.md',
  'docs/design/sessions.md',
  'docs/design/forms.md',
  'docs/design/errors-and-deadlines.md',
  'docs/design/dependencies.md',
]

/** The documents that only a starter with the sandbox keeps. */
const docsOfTheSandbox = [
  'docs/backup.md',
  'docs/clients-in-other-languages.md',
  'docs/laboratory.md',
  'docs/faults.md',
  'docs/refusals.md',
  'docs/application-api.md',
  'docs/sandbox-settings.md',
  'docs/conformance.md',
  'docs/how-to/add-a-check.md',
  'docs/conformance-checks.md',
  'docs/design/sandbox.md',
  'docs/design/store.md',
  'docs/design/tokens.md',
  'docs/design/portal.md',
  'docs/design/groups.md',
  'docs/design/api-descriptions.md',
  'docs/design/laboratory.md',
  'docs/design/faults.md',
  'docs/design/conformance.md',
]

/** The product of a starter that has the pages for applications. */
export const applications = ['src/client/applications', 'views/client/applications', 'test/client/applications']

/** Paths of files and folders. Some may not exist. */
export function leftBehind(size: Size): string[] {
  const keptDocs = size.sandbox ? [...docsOfTheClient, ...docsOfTheSandbox] : docsOfTheClient
  return [
    ...always,
    ...(size.sandbox ? [] : sandbox),
    ...(size.bare || !size.sandbox ? together : []),
    ...(size.bare ? applications : []),
    ...globSync(['docs/*.*', 'docs/design/*.*', 'docs/how-to/*.*']).filter(path => !keptDocs.includes(path)),
  ]
}
