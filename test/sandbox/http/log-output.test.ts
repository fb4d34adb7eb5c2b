// Tests that the sandbox does not depend on its log: no program reads the log, or the disk is full.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { findFreePorts } from '../../support/free-port.ts'
import { askOften } from '../../support/raw-socket.ts'
import { fillDisk, preload } from '../../support/start-conditions.ts'
import { makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { startSandbox } from '../support/start-sandbox.ts'

/** Sends `times` requests for a page that does not exist. Returns the number of 404 answers. */
async function askInVain(port: number, times: number): Promise<number> {
  const answers = await askOften(`http://127.0.0.1:${port}`, '/nowhere', times)
  return answers.match(/HTTP\/1\.1 404 /g)?.length ?? 0
}

t.test('LG-07: if no program reads the log, the sandbox keeps working and can stop', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  sandbox.neglectLog()
  // 3,000 log lines are too many for the pipe: a line takes about 200 bytes, and a pipe holds only a few times 64 KiB.
  t.equal(await askInVain(sandbox.apiPort, 3000), 3000)
  t.equal(await sandbox.stop(), 0)
})

t.test(
  'F-39, LG-07: if the log cannot be written because the disk is full, the sandbox keeps working and can stop',
  { timeout: 30_000 },
  async t => {
    const [portalPort, apiPort] = await findFreePorts(2)
    const prefix = ['sh', '-c', 'exec "$0" "$@" >/dev/full']
    const sandbox = await startSandbox(t, {
      databaseUrl: await makeSqliteUrl(t),
      ports: { portalPort, apiPort },
      prefix,
    })
    for (let count = 0; count < 50; count++) {
      t.equal((await sandbox.portal.inject('/nowhere')).statusCode, 404)
      t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
    }
    t.equal(await sandbox.stop(), 0)
  },
)

t.test(
  'F-39, LG-07: when a full disk has space again, the log continues, even if about 1 MiB of log lines was lost',
  { timeout: 30_000 },
  async t => {
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), nodeOptions: preload(fillDisk) })
    process.kill(sandbox.pid, 'SIGUSR2')
    t.equal(await askInVain(sandbox.apiPort, 4000), 4000)
    const written = sandbox.logLines.length
    t.ok(written < 1_000, `${written} lines before`)
    process.kill(sandbox.pid, 'SIGUSR2')
    // Send requests until a line is written, because lines from before the first successful write are also lost.
    const late = { url: '/nowhere', headers: { 'x-request-id': 'after-the-flood' } }
    while (!sandbox.logLines.at(-1)?.includes('after-the-flood')) {
      await sandbox.portal.inject(late)
      await setTimeout(20)
    }
  },
)

t.test('when the sandbox stops, even the last line of the log is written', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  t.equal(await sandbox.stop(), 0)
  t.match(sandbox.logLines.at(-1), '"msg":"the sandbox has stopped"')
})
