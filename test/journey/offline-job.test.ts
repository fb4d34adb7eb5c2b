// Tests the offline job of the example product, with PostgreSQL and with refresh tokens that the sandbox's portal
// issues.
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { buildClient } from '../client/example/app.ts'
import { openStore } from '../client/example/notes.ts'
import { countApplications, makeTable } from '../client/example/offline.ts'
import { openDatabases } from '../sandbox/support/each-database.ts'
import { HttpBrowser } from './support/http-browser.ts'
import { logIn } from './support/log-in.ts'
import { startBoth } from './support/start-both.ts'

const databases = await openDatabases(t)

/** Starts two processes of the client. A visitor signs in, allows the job, and signs out again. */
async function connectAndLeave(t: Test) {
  const connectionString = await databases.find(({ name }) => name === 'PostgreSQL')!.makeEmpty(t)
  // When the test drops the database, each idle connection of the pool ends and emits an error.
  const pool = new pg.Pool({ connectionString }).on('error', () => {})
  t.teardown(() => pool.end())
  await makeTable(pool)
  const file = join(t.testdir(), 'notes.db')
  const both = await startBoth(t, {
    replicas: 2,
    build: (config, options) => buildClient({ ...config, product: { file, moderators: [] } }, options, pool),
  })
  const store = openStore(file)
  t.teardown(() => store.close())
  const { clients, publicUrl, log, sandbox } = both
  const browser = new HttpBrowser()
  await logIn(browser, both)
  const back = await browser.follow(await browser.post(`${publicUrl}/connect`, {}))
  t.match(back, { status: 200, url: `${publicUrl}/notes/live`, text: 'Stop counting' })
  await browser.post(`${publicUrl}/logout`, {})

  const rows = async () => (await pool.query('select * from connections')).rows
  const [{ user_id: userId }] = await rows()
  return {
    pool,
    rows,
    client: clients[0]!,
    runBoth: () => Promise.all(clients.map(client => countApplications(client, pool, store))),
    notes: () => store.find(userId, ''),
    expire: () => pool.query("update connections set expires_at = now() - interval '1 minute'"),
    countExchanges: () => log.filter(line => line.includes('"route":"/api/exchangeToken"')).length,
    sandbox,
  }
}

t.test(
  'the job works while the visitor is away, and two simultaneous workers together renew the tokens only once',
  async t => {
    const { rows, runBoth, notes, expire, countExchanges } = await connectAndLeave(t)
    const before = countExchanges()
    await runBoth()
    t.same(notes(), ['Applications: 1', 'Applications: 1'])
    t.equal(countExchanges(), before, 'the job must not renew tokens that are still valid')

    for (const round of [1, 2, 3]) {
      const [old] = await rows()
      await expire()
      await runBoth()
      t.equal(countExchanges(), before + round)
      t.equal(notes().length, 2 + 2 * round)
      const [renewed] = await rows()
      t.not(renewed.refresh_token, old.refresh_token)
      t.ok(renewed.expires_at > new Date())
    }
  },
)

t.test('if a connection has ended, the job deletes it, and the visitor can connect again', async t => {
  const { rows, runBoth, notes, expire, client } = await connectAndLeave(t)
  const [{ refresh_token: refreshToken }] = await rows()
  await client.signIn.revokeConnection(refreshToken)
  await expire()
  await runBoth()
  t.same(await rows(), [])
  t.same(notes(), [])
})

t.test('while the portal cannot be reached, the job does not delete or change the connection', async t => {
  const { rows, runBoth, notes, expire, sandbox } = await connectAndLeave(t)
  await expire()
  const before = await rows()
  const { server } = sandbox.portal
  server.close()
  server.closeAllConnections()
  await runBoth()
  t.same(await rows(), before)
  t.same(notes(), [])
})
