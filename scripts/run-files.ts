// Runs test files in one process, one after the other: node scripts/run-files.ts FILE...
import { once } from 'node:events'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const files = process.argv.splice(2)
// When tap is loaded, it makes the folder name for t.testdir() from the script's name and arguments. With the names of
// all files as arguments, the folder name would be too long.
process.argv[1] = resolve(files[0]!)
const { default: t } = await import('tap')
const { timeout = 0 } = t.options
for (const file of files) {
  // Reset these options, because the previous file may have changed them for its own tests.
  t.jobs = 1
  t.setTimeout(timeout)
  // Set the arguments as in `node FILE`, because tap and the file read the arguments.
  process.argv[1] = resolve(file)
  // t.comment would write this line later. With console.log, the output names the file even if the process is killed.
  console.log(`# npm test -- ${file}`)
  const countBefore = t.count
  const startedAt = performance.now()
  // If the file throws an error while it is loaded, this test fails, and the next files run.
  await t.test(file, async t => {
    await import(pathToFileURL(resolve(file)).href)
    t.pass('loaded')
  })
  // tap starts the tests of the file only after the test above has ended.
  if (!t.idle) await once(t, 'idle')
  if (t.count === countBefore + 1) t.pass(`${file} ran no test`, { skip: true })
  t.comment(`${file} took ${Math.round(performance.now() - startedAt)} ms`)
}
