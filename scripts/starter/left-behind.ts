// What a starter of each size goes without.
import { globSync } from 'node:fs'

export type Size = { bare: boolean; sandbox: boolean }

/** Compares with others, shows, tests or describes this repository, and makes starters of it. */
const always = [
  'bench',
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
  // Its own continuous integration runs what npm test runs, and no more.
  'test/conformance/clients/right-clients.ci.ts',
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
  'views/sandbox',
  'test/sandbox',
  'test/conformance',
  // Each port is still found the same way.
  ...globSync('test/support/*').filter(path => !path.endsWith('free-port.ts')),
  'test/demo.test.ts',
  'scripts/lend.ts',
  'scripts/fault-catalogue.ts',
]

/** Tests of the sandbox and the applications together. */
const together = ['test/journey', 'test/browser']

const applications = ['src/client/applications', 'views/client/applications', 'test/client/applications']
const bare = ['src/client/bare', 'test/client/bare']

/** Paths of files and folders, of which some may not be there. */
export function leftBehind(size: Size): string[] {
  const keptDocs = size.sandbox
    ? /^docs\/((make-it-yours|security-model|operations|backup|clients-in-other-languages|laboratory|faults|sandbox-settings|conformance|conformance-checks)\.md|decisions\/(0[012]\d|05[89]|060|031|043|044|046|045|047|050)-.*)$/
    : /^docs\/((make-it-yours|security-model|operations)\.md|decisions\/(00\d|05[89])-.*)$/
  return [
    ...always,
    ...(size.sandbox ? [] : sandbox),
    ...(size.bare || !size.sandbox ? together : []),
    ...(size.bare ? applications : bare),
    ...globSync(['docs/*.*', 'docs/decisions/*.*']).filter(path => !keptDocs.test(path)),
  ]
}
