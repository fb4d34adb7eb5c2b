// package.json of a starter: its name, the packages that its code imports, and the scripts that still work.
import { existsSync, globSync, readFileSync } from 'node:fs'

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

/** Call this after the files have been removed. */
export function slim(manifest: Manifest, name: string): Manifest {
  const { scripts, dependencies, devDependencies, allowScripts, ...others } = manifest
  // These fields are for the archive of the sandbox and the suite. A starter is never packed into an archive.
  const { bin: _, files: __, peerDependencies: ___, peerDependenciesMeta: ____, ...rest } = others
  const code = globSync(['src/**/*.ts', 'test/**/*.ts', 'scripts/**/*.ts']).map(path => readFileSync(path, 'utf8'))
  const isImported = (dependency: string) =>
    code.some(text => text.includes(`'${dependency}'`) || text.includes(`'${dependency}/`))
  const isNeeded = (dependency: string) =>
    isImported(dependency.replace(/^@types\//, '')) ||
    // These packages contain commands, so no file imports them.
    /^(node|tap|typescript|@biomejs\/biome|@types\/node)$/.test(dependency)
  const keep = <T>(all: Record<string, T>, isKept: (key: string, value: T) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([key, value]) => isKept(key, value)))
  const works = (command: string) =>
    (command.match(/(?:src|test|scripts|bench)\/[\w./-]+/g) ?? []).every(path => existsSync(path))
  const runnable = Object.entries(scripts).map(([script, command]) => {
    // `npm run types` checks only the parts that still exist.
    const checked = command.replace(/tsc -p (\S+) && /g, (check, folder) => (existsSync(folder) ? check : ''))
    // Without the sandbox, the tests do not share PostgreSQL or Chromium.
    return [script, works(checked) ? checked : checked.replace('scripts/with-servers.ts ', '')]
  })
  return {
    ...rest,
    name,
    version: '0.1.0',
    description: 'A client of the platform',
    scripts: keep(Object.fromEntries(runnable) as Record<string, string>, (_, command) => works(command)),
    dependencies: keep(dependencies, isNeeded),
    devDependencies: keep(devDependencies, isNeeded),
    allowScripts: keep(allowScripts, part => part === 'node' || isNeeded(part.replace(/^@(.*)\/.*/, '$1'))),
  }
}
