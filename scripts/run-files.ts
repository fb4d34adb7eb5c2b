// Runs test files in one process, one after the other: node scripts/run-files.ts FILE...
import { once } from 'node:events'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const files = process.argv.splice(2)
// tap names the folders of t.testdir() after the script and its arguments when it is loaded. If the arguments contained
// the names of all files, the name of the folder would be too long.
process.argv[1] = resolve(files[0]!)
const { default: t } = await import('tap')
const { timeout = 0 } = t.options
for (const file of files) {
  // The settings of a file must not apply to the tests of the next file.
  t.jobs = 1
  t.setTimeout(timeout)
  // Set the arguments as in `node FILE`, because tap and the file read them.
  process.argv[1] = resolve(file)
  // t.comment would write later. With console.log, the output names the file even if the process is killed.
  console.log(`# npm test -- ${file}`)
  const countBefore = t.count
  const startedAt = performance.now()
  // If the file throws an error while it is loaded, this test fails, and the next files run.
  await t.test(file, async t => {
    await import(pathToFileURL(resolve(file)).href)
    t.pass('loaded')
  })
  // The tests of the file begin after this one.
  if (!t.idle) await once(t, 'idle')
  if (t.count === countBefore + 1) t.pass(`${file} ran no test`, { skip: true })
  t.comment(`${file} took ${Math.round(performance.now() - startedAt)} ms`)
}
