import t from 'tap'
import { makeSqliteUrl } from './support/build-test-sandbox.ts'
import { startSandbox } from './support/start-sandbox.ts'

t.test('LG-07: a log that nobody reads stops nothing, not even the end of the process', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  sandbox.neglectLog()
  // A pipe holds 64 KiB or a few times that, a line has some 200 bytes.
  for (let count = 0; count < 3000; count++)
    if ((await sandbox.portal.inject('/nowhere')).statusCode !== 404) t.fail(`page ${count}`)
  t.equal(await sandbox.stop(), 0)
})

t.test('the last line of the log is there when somebody reads it', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  t.equal(await sandbox.stop(), 0)
  t.match(sandbox.logLines.at(-1), '"msg":"the sandbox has stopped"')
})
