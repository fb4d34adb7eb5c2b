import t from 'tap'
import { sweep } from '../../../src/sandbox/store/sweep.ts'
import { exchange, getAccessToken, logIn, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'

const dayMs = 86_400_000

for (const database of await openDatabases(t)) {
  t.test(`DO-10: what has expired is deleted, and nothing else (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { store } = sandbox
    const count = async (table: 'grants' | 'portal_sessions' | 'finished_authorizations' | 'failures') =>
      (await store.read.selectFrom(table).selectAll().execute()).length
    const accessToken = await getAccessToken(sandbox)
    await logIn(sandbox)
    const page = await openBrowser(sandbox).get(startUrl())
    await openBrowser(sandbox).submit(page, { email: seeded.email, password: 'wrong' })
    t.equal(await sweep(store, sandbox.now()), 0)
    t.equal(await count('grants'), 2)
    t.equal(await count('failures'), 2)

    sandbox.passTime(dayMs - 1000)
    t.ok((await sweep(store, sandbox.now())) > 0)
    t.equal(await count('portal_sessions'), 0)
    t.equal(await count('finished_authorizations'), 0)
    t.equal(await count('failures'), 0)
    const headers = { authorization: `Bearer ${accessToken}` }
    t.equal((await sandbox.api.inject({ url: '/apps/v1', headers })).statusCode, 200)

    sandbox.passTime(61_000)
    await sweep(store, sandbox.now())
    t.equal(await count('grants'), 1, 'the code that nobody redeemed is gone, the family stays')
    sandbox.passTime(91 * dayMs)
    await sweep(store, sandbox.now())
    t.equal(await count('grants'), 0)
    t.equal((await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '' })).statusCode, 200)
  })
}

t.test('more rows than fit one batch are deleted in one sweep', async t => {
  const { store, now } = await buildTestSandbox(t)
  const rows = Array.from({ length: 1200 }, (_, id) => ({ id: `${id}`, expires_at: now().getTime() - 1 }))
  await store.write(db => db.insertInto('finished_authorizations').values(rows).execute())
  t.equal(await sweep(store, now()), 1200)
})
