#!/usr/bin/env node
// Runs the conformance suite or the sandbox, in the image "conformance" and from the archive that "npm pack" makes:
// npx ./application-client-….tgz conformance --client URL
import { readFileSync } from 'node:fs'
import * as modules from 'node:module'

const programs = { conformance: '../src/conformance/main.ts', sandbox: '../src/sandbox/main.ts' }
const [name, ...rest] = process.argv.slice(2)
/** The suite uses exit code 1 only if a client broke a rule. */
const couldNotRun = 2

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`This program needs Node.js 24 or later. You have ${process.version}.\n`)
  process.exitCode = couldNotRun
} else if (!Object.hasOwn(programs, name ?? '')) {
  process.stderr.write('Name a program: conformance or sandbox. "conformance --help" lists the options of the suite.\n')
  process.exitCode = couldNotRun
} else {
  // npx puts an archive into node_modules, where Node.js does not run TypeScript.
  if (import.meta.url.includes('/node_modules/')) stripTypes()
  process.argv = [process.argv[0], process.argv[1], ...rest]
  await import(programs[name])
}

/** Makes Node.js run the TypeScript files of this package. */
function stripTypes() {
  modules.registerHooks({ load })
  // Node.js warns that stripTypeScriptTypes is experimental. An option in the first line of this file could also hide
  // the warning. But an old Node.js does not know this option, and would stop before this program prints the message
  // about the version.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`)
  })
}

function load(url, context, next) {
  const isOurs = url.startsWith(new URL('../src/', import.meta.url).href) && url.endsWith('.ts')
  if (!isOurs) return next(url, context)
  const source = modules.stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'))
  return { format: 'module', shortCircuit: true, source }
}
