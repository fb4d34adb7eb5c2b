// Runs test files in one process, one after the other. Each file gets its own test as the `t` that it imports from tap.
import './track-no-promises.ts'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

// The names are removed from argv, because some test files read argv, and tap names folders after it.
const names = process.argv.splice(2)
const { default: tap } = await import('tap')

const tests = new Map<string, Test>()
export const testOf = (url: string): Test | undefined => tests.get(url)
const scheme = 'test-of:'
registerHooks({
  resolve(specifier, context, nextResolve) {
    const isOfFile = specifier === 'tap' && tests.has(context.parentURL ?? '')
    return isOfFile ? { url: scheme + context.parentURL, shortCircuit: true } : nextResolve(specifier, context)
  },
  load(url, context, nextLoad) {
    if (!url.startsWith(scheme)) return nextLoad(url, context)
    const [own, file] = [import.meta.url, url.slice(scheme.length)].map(text => JSON.stringify(text))
    return {
      format: 'module',
      source: `import { testOf } from ${own}\nexport default testOf(${file})`,
      shortCircuit: true,
    }
  },
})

async function runFiles(): Promise<void> {
  // The timeout is for each file, not for all files together.
  const { timeout } = tap.options
  tap.setTimeout(0)
  let ended = 0
  // If a file ends the process with 0, tap does not notice that the next files have not run.
  process.on('exit', () => {
    if (ended === names.length) return
    console.error('The process has exited before these files had finished:', names.slice(ended).join(', '))
    process.exitCode = 1
  })
  for (const name of names) {
    const { href } = pathToFileURL(resolve(name))
    const results = await tap.test(name, { timeout, at: null, stack: '' }, async t => {
      // The output names the file even if the process is killed.
      t.comment(`npm test -- ${name}`)
      tests.set(href, t)
      await import(href)
    })
    ended += 1
    if (results?.count === 0) tap.pass(`${name}: no tests found`, { skip: true })
  }
  // Open handles would keep the process running forever.
  setTimeout(() => {
    tap.fail('these files close what they open', { open: process.getActiveResourcesInfo() })
    process.exit()
  }, 10_000).unref()
}
// This is not awaited, because the test files import this module and would wait for it forever.
void runFiles()
