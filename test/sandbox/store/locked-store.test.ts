// Tests the sandbox while another process has locked its SQLite database.
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as afterEvents } from 'node:timers/promises'
import t from 'tap'
import { exchange, getAccessToken, logIn } from '../support/browser.ts'
import { buildTestSandbox, makeSqliteUrl } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { holdLock } from '../support/hold-lock.ts'

for (const database of await openDatabases(t)) {
  t.test(
    `F-30: if another process has locked the database, requests that write get a 503 answer after 2 s, and requests that read data succeed (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const headers = { authorization: `Bearer ${await getAccessToken(sandbox)}` }
      const code = (await logIn(sandbox)).get('code') ?? ''
      const release = await holdLock(t, databaseUrl)
      const startedAt = performance.now()
      // Send more writes than the store has connections. A read must not wait for the writes.
      const writes = Array.from({ length: 20 }, () => exchange(sandbox, { code }))
      const probes = Promise.all([sandbox.portal, sandbox.api].map(listener => listener.inject('/health/ready')))
      const first = await Promise.race([sandbox.api.inject({ url: '/apps/v1', headers }), ...writes])
      t.equal(first.statusCode, 200, 'the read must succeed')
      t.ok(first.json().ItemList, 'the read must not wait for the lock')
      for (const answer of await Promise.all(writes))
        t.match(answer, { statusCode: 503, headers: { 'retry-after': /^\d+$/ } })
      for (const answer of await probes) t.match(answer, { statusCode: 503 })
      t.ok(performance.now() - startedAt < 4000)
      await release()
      t.equal((await exchange(sandbox, { code })).statusCode, 200, 'the code must still be valid')
      sandbox.passTime(1000)
      t.equal((await sandbox.portal.inject('/health/ready')).statusCode, 200)
    },
  )
}

t.test('F-30: if many transactions give up because of a lock, other requests run between them', async t => {
  const url = await makeSqliteUrl(t)
  const { store } = await buildTestSandbox(t, { databaseUrl: url })
  await holdLock(t, url)
  let turns = 0
  let isOver = false
  const turnsOfFailures: number[] = []
  const transactions = Array.from({ length: 50 }, () =>
    store
      .transaction(db => db.insertInto('finished_authorizations').values({ id: 'one', expires_at: 1 }).execute())
      .catch(() => turnsOfFailures.push(turns)),
  )
  const ended = Promise.all(transactions).finally(() => (isOver = true))
  for (; !isOver; turns += 1) await afterEvents()
  await ended
  t.equal(turnsOfFailures.length, 50)
  t.equal(new Set(turnsOfFailures).size, 50, 'the event loop must turn between two attempts')
})

t.test('F-30: if another process is writing, a transaction waits for it, and then runs once', async t => {
  const url = await makeSqliteUrl(t)
  const sandbox = await buildTestSandbox(t, { databaseUrl: url })
  const other = new DatabaseSync(url.slice('sqlite:'.length))
  t.teardown(() => other.close())
  other.exec('begin immediate')
  let runs = 0
  const transaction = sandbox.store.transaction(async db => {
    runs += 1
    await db.selectFrom('sandbox_schema').selectAll().execute()
    await db.insertInto('finished_authorizations').values({ id: 'one', expires_at: 1 }).execute()
  })
  other.exec("insert into finished_authorizations values ('two', 1)")
  setImmediate(() => other.exec('commit'))
  await transaction
  t.equal(runs, 1)
  t.equal((await sandbox.store.read.selectFrom('finished_authorizations').selectAll().execute()).length, 2)
})
