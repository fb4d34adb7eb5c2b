// Tests that the sandbox still answers requests that read data while it cannot write to its disk.
import { chmod, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { buildTestSandbox, makeSqliteUrl, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { findHalves } from '../support/check-promises.ts'
import { startInVain, startSandbox } from '../support/start-sandbox.ts'

/** Creates applications until the store has no more room, and checks that everything else still works. */
async function fillUp(t: Test, sandbox: Pick<TestSandbox, 'portal' | 'api'>, fault: string) {
  const { call, groupId } = await callAsDeveloper(sandbox)
  const create = () => call('POST', '/apps/v1', makeCreateBody(groupId, { description: 'd'.repeat(2000) }))
  let created = 0
  let answer = await create()
  for (; answer.statusCode === 201 && created < 1000; created += 1) answer = await create()
  t.match(answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
  const list = await call('GET', '/apps/v1')
  t.equal(list.statusCode, 200)
  t.equal(
    list.json().ItemList.length,
    created + 1,
    'the list must contain exactly the applications whose creation was answered with 201',
  )
  for (const listener of [sandbox.portal, sandbox.api]) {
    const ready = await listener.inject('/health/ready')
    t.equal(ready.statusCode, 503)
    t.strictSame(ready.json(), { status: 'not ready', store: fault })
  }
  return { create }
}

t.test(
  'F-31: if the disk is full, requests that write get a 503 answer and requests that read data succeed; when the disk has room again, writing works again',
  async t => {
    const sandbox = await buildTestSandbox(t)
    // With this limit SQLite reports the same error as on a full disk.
    await sandbox.store.write(db => sql`pragma max_page_count = 1`.execute(db))
    const { create } = await fillUp(t, sandbox, 'full')
    await sandbox.store.write(db => sql`pragma max_page_count = 1000000`.execute(db))
    t.equal((await create()).statusCode, 201)
    sandbox.passTime(1000)
    t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
  },
)

t.test('F-31: the readiness check needs at least as much free disk space as a new application', async t => {
  const databaseUrl = await makeSqliteUrl(t)
  const sandbox = await buildTestSandbox(t, { databaseUrl })
  const { call, groupId } = await callAsDeveloper(sandbox)
  const roomFor = async (work: () => Promise<unknown>) => {
    const log = `${databaseUrl.slice('sqlite:'.length)}-wal`
    const { size } = await stat(log)
    await work()
    return (await stat(log)).size - size
  }
  const texts = { description: 'd'.repeat(2000), webPageUrl: `https://a.test/${'a'.repeat(2000)}` }
  for (let count = 0; count < 5; count += 1) {
    const ofApplication = await roomFor(async () => {
      t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId, texts))).statusCode, 201)
    })
    const ofCheck = await roomFor(() => sandbox.store.probe())
    t.ok(ofCheck >= ofApplication, `the check needs ${ofCheck} bytes, and an application needs ${ofApplication} bytes`)
  }
})

t.test(
  'F-31: if the disk quota of the sandbox is used up, requests that write get a 503 answer, requests that read data succeed, and no data is lost or damaged',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    // The limit is the largest allowed size of a file, in blocks of 512 bytes. A write beyond the limit fails.
    const limited = await startSandbox(t, { databaseUrl, prefix: ['sh', '-c', 'ulimit -f 2000; exec "$0" "$@"'] })
    const { create } = await fillUp(t, limited, 'unreachable')
    t.equal((await create()).statusCode, 503, 'the sandbox must still answer')
    await limited.kill()
    t.strictSame(await findHalves(databaseUrl), [])
    const unlimited = await startSandbox(t, { databaseUrl })
    const { call, groupId } = await callAsDeveloper(unlimited)
    t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
  },
)

t.test(
  'F-31: if the database becomes read-only for a while, requests that write get a 503 answer, requests that read data succeed, and the sandbox recovers automatically',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { call, groupId } = await callAsDeveloper(sandbox)
    // With this setting SQLite reports the same error as on a file system that is mounted read-only.
    await sandbox.store.write(db => sql`pragma query_only = on`.execute(db))
    const refused = await call('POST', '/apps/v1', makeCreateBody(groupId))
    t.match(refused, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
    t.equal((await call('GET', '/apps/v1')).statusCode, 200)
    t.strictSame((await sandbox.api.inject('/health/ready')).json(), { status: 'not ready', store: 'read-only' })
    await sandbox.store.write(db => sql`pragma query_only = off`.execute(db))
    t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
    sandbox.passTime(1000)
    t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
  },
)

t.test('F-31: if the sandbox can read but not write the database file, it does not start', async t => {
  const databaseUrl = await makeSqliteUrl(t)
  await (await buildTestSandbox(t, { databaseUrl })).close()
  const path = databaseUrl.slice('sqlite:'.length)
  await chmod(path, 0o444)
  await chmod(dirname(path), 0o555)
  const { code, stderr } = await startInVain(t, { databaseUrl, isUnprivileged: true })
  await chmod(dirname(path), 0o755)
  t.equal(code, 1)
  t.match(stderr, /^The sandbox did not start: .*(permission denied|readonly).*\n$/)
})
