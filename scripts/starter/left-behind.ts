// The files that a starter does not have, for each size.
import { globSync } from 'node:fs'

export type Size = { bare: boolean; sandbox: boolean }

/** What compares, shows, tests or describes this repository, and what makes starters. */
const always = [
  'bench',
  'bin',
  'docs/screenshots',
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

const sandbox = [
  '.env.sandbox.example',
  'src/sandbox',
  'src/conformance',
  'src/demo.ts',
  'src/demo-https.ts',
  'docs/design/sandbox.md',
  'views/sandbox',
  'test/sandbox',
  'test/conformance',
  // The client's tests need these, one of them for its test in a browser.
  ...globSync('test/support/*').filter(
    path => !/\/(free-port|open-page|launch-chromium|borrow|teardown)\.ts$/.test(path),
  ),
  'test/demo.test.ts',
  'scripts/lend.ts',
  'scripts/fault-catalogue.ts',
  'scripts/write-docs.ts',
]

/** Tests of the sandbox and the applications together, and a test that uses their browser. */
const together = ['test/journey', 'test/browser', 'test/demo.test.ts']

/** The product of a starter that has the pages for applications. */
export const applications = ['src/client/applications', 'views/client/applications', 'test/client/applications']

/** Paths of files and folders. Some may not exist. */
export function leftBehind(size: Size): string[] {
  const keptDocs = size.sandbox
    ? /^docs\/((make-it-yours|security-model|operations|backup|clients-in-other-languages|laboratory|faults|refusals|application-api|sandbox-settings|conformance|conformance-checks)\.md|decisions\/(0[012]\d|05[89]|060|031|043|044|046|045|047|050)-.*)$/
    : /^docs\/((make-it-yours|security-model|operations)\.md|decisions\/(00\d|05[89])-.*)$/
  return [
    ...always,
    ...(size.sandbox ? [] : sandbox),
    ...(size.bare || !size.sandbox ? together : []),
    ...(size.bare ? applications : []),
    ...globSync(['docs/*.*', 'docs/decisions/*.*']).filter(path => !keptDocs.test(path)),
  ]
}
