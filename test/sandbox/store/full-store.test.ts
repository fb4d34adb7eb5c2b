import { chmod, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { buildTestSandbox, makeSqliteUrl, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { findHalves } from '../support/check-promises.ts'
import { startInVain, startSandbox } from '../support/start-sandbox.ts'

/** Creates applications until the store takes no more, and checks that everything else goes on. */
async function fillUp(t: Test, sandbox: Pick<TestSandbox, 'portal' | 'api'>, fault: string) {
  const { call, groupId } = await callAsDeveloper(sandbox)
  const create = () => call('POST', '/apps/v1', makeCreateBody(groupId, { description: 'd'.repeat(2000) }))
  let created = 0
  let answer = await create()
  for (; answer.statusCode === 201 && created < 1000; created += 1) answer = await create()
  t.match(answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
  const list = await call('GET', '/apps/v1')
  t.equal(list.statusCode, 200)
  t.equal(list.json().ItemList.length, created + 1, 'what was answered with 201 is there, and nothing else')
  for (const listener of [sandbox.portal, sandbox.api]) {
    const ready = await listener.inject('/health/ready')
    t.equal(ready.statusCode, 503)
    t.strictSame(ready.json(), { status: 'not ready', store: fault })
  }
  return { create }
}

t.test('F-31: on a full disk, writes get 503 and reads work; with room again, writes work, too', async t => {
  const sandbox = await buildTestSandbox(t)
  // SQLite answers "full" when a page more than this would be needed, just as it does when the disk has no more.
  await sandbox.store.write(db => sql`pragma max_page_count = 1`.execute(db))
  const { create } = await fillUp(t, sandbox, 'full')
  await sandbox.store.write(db => sql`pragma max_page_count = 1000000`.execute(db))
  t.equal((await create()).statusCode, 201)
  sandbox.passTime(1000)
  t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
})

t.test('F-31: the check of readiness needs more room than a new application', async t => {
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
    t.ok(ofCheck >= ofApplication, `${ofCheck} and ${ofApplication} bytes`)
  }
})

t.test('F-31: under a quota writes answer 503, reads work, and nothing is lost or damaged', async t => {
  const databaseUrl = await makeSqliteUrl(t)
  // In blocks of 512 bytes, and for each file: what would make it larger fails.
  const limited = await startSandbox(t, { databaseUrl, prefix: ['sh', '-c', 'ulimit -f 2000; exec "$0" "$@"'] })
  const { create } = await fillUp(t, limited, 'unreachable')
  t.equal((await create()).statusCode, 503, 'and it is still there to say so')
  await limited.kill()
  t.strictSame(await findHalves(databaseUrl), [])
  const unlimited = await startSandbox(t, { databaseUrl })
  const { call, groupId } = await callAsDeveloper(unlimited)
  t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
})

t.test('F-31: while a file takes no changes writes answer 503, reads work, and it recovers by itself', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, groupId } = await callAsDeveloper(sandbox)
  // SQLite's answer is the one that a file system mounted read-only leads to.
  await sandbox.store.write(db => sql`pragma query_only = on`.execute(db))
  const refused = await call('POST', '/apps/v1', makeCreateBody(groupId))
  t.match(refused, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
  t.equal((await call('GET', '/apps/v1')).statusCode, 200)
  t.strictSame((await sandbox.api.inject('/health/ready')).json(), { status: 'not ready', store: 'read-only' })
  await sandbox.store.write(db => sql`pragma query_only = off`.execute(db))
  t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
  sandbox.passTime(1000)
  t.equal((await sandbox.api.inject('/health/ready')).statusCode, 200)
})

t.test('F-31: if the database file may only be read, the sandbox does not start', async t => {
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
