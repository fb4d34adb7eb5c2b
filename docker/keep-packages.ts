// Keeps only those packages in package.json that a folder imports: node keep-packages.ts src/client
// After that, "npm prune" removes the other packages from node_modules.
import { globSync, readFileSync, writeFileSync } from 'node:fs'

type Package = { dependencies: Record<string, string>; [field: string]: unknown }

/** Returns the names of the packages that a source file needs at run time. Type imports do not need the package. */
export function packagesIn(source: string): string[] {
  const imports = source.matchAll(
    /^(?:import|export)\s(?!type\b)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport(?:\.meta\.resolve)?\(\s*['"]([^'"]+)['"]/gm,
  )
  return [...imports]
    .map(([, name, dynamicName]) => name ?? dynamicName ?? '')
    .filter(name => !/^(node:|[./])/.test(name))
    .map(name => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
}

/** Development packages. The code loads these packages only if they are installed. */
const optional = ['pino-pretty']

/**
 * Returns a package.json with only the packages that `sources` import. Throws an error if the sources import a package
 * that is not in the dependencies.
 */
export function keepPackages(whole: Package, sources: string[]): Package {
  const { name, version, type, license, engines } = whole
  const needed = [...new Set(sources.flatMap(packagesIn))].filter(needs => !optional.includes(needs)).sort()
  const dependencies = needed.map(needs => {
    const range = whole.dependencies[needs]
    if (!range) throw new Error(`${needs} is imported, but is not in the dependencies of package.json.`)
    return [needs, range]
  })
  return { name, version, type, license, engines, dependencies: Object.fromEntries(dependencies) }
}

if (import.meta.main) {
  const [part = ''] = process.argv.slice(2)
  const sources = globSync(`${part}/**/*.ts`).map(path => readFileSync(path, 'utf8'))
  const whole = JSON.parse(readFileSync('package.json', 'utf8')) as Package
  writeFileSync('package.json', `${JSON.stringify(keepPackages(whole, sources), null, 2)}\n`)
}
