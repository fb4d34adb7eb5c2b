// Tests that the store runs simultaneous statements in one transaction, and that each statement still succeeds or fails
// alone.
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { storeFailureOf } from '../../../src/sandbox/store/store-failure.ts'
import { buildTestSandbox, makeSqliteUrl, type TestSandbox } from '../support/build-test-sandbox.ts'
import { recordStatements } from '../support/record-statements.ts'

/**
 * Adds several rows at the same time. Resolves to the result of each row: 'written', the fault of the store, or
 * 'refused'.
 */
async function addAtOnce({ store }: TestSandbox, ids: string[]): Promise<string[]> {
  const writes = ids.map(id =>
    store.write(db => db.insertInto('finished_authorizations').values({ id, expires_at: 1 }).execute()),
  )
  const settled = await Promise.allSettled(writes)
  return settled.map(one => (one.status === 'fulfilled' ? 'written' : (storeFailureOf(one.reason) ?? 'refused')))
}

async function listIds({ store }: TestSandbox): Promise<string[]> {
  const rows = await store.read.selectFrom('finished_authorizations').select('id').orderBy('id').execute()
  return rows.map(row => row.id)
}

t.test('if the database refuses one of several simultaneous statements, the other statements succeed', async t => {
  const sandbox = await buildTestSandbox(t)
  const become = await addAtOnce(sandbox, ['a', 'b', 'a', 'c'])
  t.strictSame(become, ['written', 'written', 'refused', 'written'])
  t.strictSame(await listIds(sandbox), ['a', 'b', 'c'])
})

t.test('the store runs simultaneous statements in one transaction', async t => {
  const { databaseUrl, statements } = await recordStatements(t, await makeSqliteUrl(t))
  const sandbox = await buildTestSandbox(t, { databaseUrl })
  const before = statements.length
  await addAtOnce(sandbox, ['a', 'b', 'c'])
  const insert = 'insert into "finished_authorizations" ("id", "expires_at") values (?, ?)'
  t.strictSame(statements.slice(before), ['begin immediate', insert, insert, insert, 'commit'])
  await addAtOnce(sandbox, ['d'])
  t.equal(statements.at(-1), insert, 'a single statement must not need a transaction')
})

t.test('statements that arrive while the store is busy run in one transaction', async t => {
  const { databaseUrl, statements } = await recordStatements(t, await makeSqliteUrl(t))
  const sandbox = await buildTestSandbox(t, { databaseUrl })
  const before = statements.length
  const added: Promise<string[]>[] = []
  await sandbox.store.transaction(async () => {
    for (const id of ['a', 'b', 'c']) {
      added.push(addAtOnce(sandbox, [id]))
      await setImmediate()
    }
  })
  await Promise.all(added)
  const insert = 'insert into "finished_authorizations" ("id", "expires_at") values (?, ?)'
  t.strictSame(statements.slice(before + 2), ['begin immediate', insert, insert, insert, 'commit'])
})

t.test('F-31: if the disk is full, all simultaneous statements fail, and none of their changes is stored', async t => {
  const sandbox = await buildTestSandbox(t)
  const { page_count: pages } = (await sql<{ page_count: number }>`pragma page_count`.execute(sandbox.store.read))
    .rows[0]!
  await sandbox.store.write(db => sql.raw(`pragma max_page_count = ${pages}`).execute(db))
  // The first row would fit into the file. But SQLite also rolls this row back, because the other rows do not fit.
  const ids = ['fits', ...Array.from({ length: 20 }, (_, index) => `${index} ${'x'.repeat(2000)}`)]
  t.strictSame(new Set(await addAtOnce(sandbox, ids)), new Set(['full']))
  t.strictSame(await listIds(sandbox), [])
  await sandbox.store.write(db => sql`pragma max_page_count = 1000000`.execute(db))
  t.strictSame(new Set(await addAtOnce(sandbox, ids)), new Set(['written']))
})

t.test(
  'F-30: if another process is writing, simultaneous statements wait, and then each statement runs once',
  async t => {
    const databaseUrl = await makeSqliteUrl(t)
    const sandbox = await buildTestSandbox(t, { databaseUrl })
    const other = new DatabaseSync(databaseUrl.slice('sqlite:'.length))
    t.teardown(() => other.close())
    other.exec('begin immediate')
    setTimeout(() => other.exec('commit'), 200)
    t.strictSame(await addAtOnce(sandbox, ['a', 'b', 'c']), ['written', 'written', 'written'])
    t.strictSame(await listIds(sandbox), ['a', 'b', 'c'])
  },
)
