import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { findFreePort } from '../../support/free-port.ts'
import { makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { preload, startSandbox } from '../support/start-sandbox.ts'

/** At a signal nothing can be written to the standard output any more; at the next one it can. */
const fillDisk = `
  import fs from 'node:fs'
  const { write } = fs
  let isFull = false
  process.on('SIGUSR2', () => { isFull = !isFull })
  const noSpace = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
  fs.write = (...call) => (isFull ? setImmediate(call.at(-1), noSpace) : write(...call))
`

/** Sends so many requests for a page that does not exist, eight at once on one connection. Returns the statuses. */
async function askInVain(port: number, count: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  const found = new Set<string>()
  for (let asked = 0; asked < count; asked += 8) {
    socket.write('GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(8))
    let answers = ''
    while (statusesIn(answers).length < 8) answers += (await once(socket, 'data'))[0]
    for (const status of statusesIn(answers)) found.add(status)
  }
  socket.destroy()
  return [...found]
}

const statusesIn = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '')

t.test('LG-07: a log that nobody reads stops nothing, not even the end of the process', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  sandbox.neglectLog()
  // A pipe holds 64 KiB or a few times that, a line has some 200 bytes.
  t.strictSame(await askInVain(sandbox.apiPort, 3000), ['404'])
  t.equal(await sandbox.stop(), 0)
})

t.test(
  'F-39, LG-07: a log on a full disk stops nothing, not even the end of the process',
  { timeout: 30_000 },
  async t => {
    const [portalPort, apiPort] = [await findFreePort(), await findFreePort()]
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
  'F-39, LG-07: when the disk has space again the log goes on, also after a mebibyte of it was lost',
  { timeout: 30_000 },
  async t => {
    const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t), nodeOptions: preload(fillDisk) })
    process.kill(sandbox.pid, 'SIGUSR2')
    t.strictSame(await askInVain(sandbox.apiPort, 4000), ['404'])
    const written = sandbox.logLines.length
    t.ok(written < 1_000, `${written} lines before`)
    process.kill(sandbox.pid, 'SIGUSR2')
    // What comes before the first of it is written is lost, too.
    const late = { url: '/nowhere', headers: { 'x-request-id': 'after-the-flood' } }
    while (!sandbox.logLines.at(-1)?.includes('after-the-flood')) {
      await sandbox.portal.inject(late)
      await setTimeout(20)
    }
  },
)

t.test('the last line of the log is there when somebody reads it', async t => {
  const sandbox = await startSandbox(t, { databaseUrl: await makeSqliteUrl(t) })
  t.equal(await sandbox.stop(), 0)
  t.match(sandbox.logLines.at(-1), '"msg":"the sandbox has stopped"')
})
