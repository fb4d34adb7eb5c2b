// Runs files of tests in one process, one after the other. What one of them imports as tap's `t` is a test of its own here.
import './track-no-promises.ts'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'

// Taken away, since some files have parameters of their own, and tap names folders after them.
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
  // What a file may take is of each of them, and not of all.
  const { timeout } = tap.options
  tap.setTimeout(0)
  let ended = 0
  // A file may end the process with 0, and tap then knows of none behind it.
  process.on('exit', () => {
    if (ended === names.length) return
    console.error('The process has ended, and these files had not:', names.slice(ended).join(', '))
    process.exitCode = 1
  })
  for (const name of names) {
    const { href } = pathToFileURL(resolve(name))
    const results = await tap.test(name, { timeout, at: null, stack: '' }, async t => {
      // Names the file where its process is killed, too.
      t.comment(`npm test -- ${name}`)
      tests.set(href, t)
      await import(href)
    })
    ended += 1
    if (results?.count === 0) tap.pass(`${name}: no tests found`, { skip: true })
  }
  // What is left open would keep the process for good.
  setTimeout(() => {
    tap.fail('these files close what they open', { open: process.getActiveResourcesInfo() })
    process.exit()
  }, 10_000).unref()
}
// Not waited for: what the files import waits for this one.
void runFiles()
