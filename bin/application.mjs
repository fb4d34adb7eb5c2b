#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// Runs the programs of this package from the archive that "npm pack" makes:
// npx ./application-client-….tgz conformance --client URL
import { readFileSync } from 'node:fs'
import * as modules from 'node:module'

const programs = { conformance: '../src/conformance/main.ts', sandbox: '../src/sandbox/main.ts' }
const [name, ...rest] = process.argv.slice(2)

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`This program needs Node.js 24 or later. You have ${process.version}.\n`)
  process.exitCode = 1
} else if (!Object.hasOwn(programs, name ?? '')) {
  process.stderr.write('Name a program: conformance or sandbox. "conformance --help" lists its options.\n')
  process.exitCode = 1
} else {
  modules.registerHooks({ load })
  process.argv = [process.argv[0], process.argv[1], ...rest]
  await import(programs[name])
}

/** npx puts an archive into node_modules, where Node.js does not run TypeScript. This hook strips the types. */
function load(url, context, next) {
  const isOurs = url.startsWith(new URL('../src/', import.meta.url).href) && url.endsWith('.ts')
  if (!isOurs) return next(url, context)
  const source = modules.stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'))
  return { format: 'module', shortCircuit: true, source }
}
