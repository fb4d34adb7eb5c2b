// Tests that the sweep deletes all removed and expired records, and only these, in batches that do not block requests.
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import type { Store } from '../../../src/sandbox/store/store.ts'
import { createSweeper, sweep } from '../../../src/sandbox/store/sweep.ts'
import { exchange, getAccessToken, logIn, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications, addGroups, addUsers } from '../support/fill-groups.ts'
import { openTwo, unlink } from '../support/group-calls.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

// To run the test with more grants by hand, give the number: node test/sandbox/store/sweep.test.ts 150000
const manyGrants = Number(process.argv[2] ?? 1200)
if (manyGrants > 1200) t.setTimeout(0)

const dayMs = 86_400_000

type Table =
  | 'applications'
  | 'grants'
  | 'spent_refresh_tokens'
  | 'consents'
  | 'portal_sessions'
  | 'finished_authorizations'
  | 'failures'

async function count(store: Store, table: Table): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(store.read)
  return Number(rows[0]?.count)
}

/**
 * Returns a store that records how many rows each of its changes has deleted. After each change, the store calls `hear`
 * with the number of changes so far.
 */
function watchPortions(store: Store, hear: (portions: number) => void): { store: Store; portions: number[] } {
  const portions: number[] = []
  const write: Store['write'] = async statement => {
    const result = await store.write(statement)
    portions.push(Number((result as { numAffectedRows?: bigint }).numAffectedRows ?? 0))
    hear(portions.length)
    return result
  }
  return { store: { ...store, write }, portions }
}

for (const database of await openDatabases(t)) {
  t.test(`DO-10: the sweep deletes only expired rows (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { store } = sandbox
    const accessToken = await getAccessToken(sandbox)
    await logIn(sandbox)
    const browser = openBrowser(sandbox)
    await browser.submit(await browser.get(startUrl()), { email: seeded.email, password: 'wrong' })
    t.equal(await sweep(store, sandbox.now()), 0)
    t.equal(await count(store, 'grants'), 2)
    t.equal(await count(store, 'failures'), 2)

    sandbox.passTime(10 * 60_000)
    await sweep(store, sandbox.now())
    t.equal(await count(store, 'grants'), 2, 'a late code must still be known')
    sandbox.passTime(60_000)
    await sweep(store, sandbox.now())
    t.equal(await count(store, 'grants'), 1, 'the unused code must be deleted, and the family must stay')

    sandbox.passTime(dayMs - 12 * 60_000)
    t.ok((await sweep(store, sandbox.now())) > 0)
    t.equal(await count(store, 'portal_sessions'), 0)
    t.equal(await count(store, 'finished_authorizations'), 0)
    t.equal(await count(store, 'failures'), 0)
    t.ok(await isAccepted(sandbox, accessToken))

    sandbox.passTime(91 * dayMs)
    await sweep(store, sandbox.now())
    t.equal(await count(store, 'grants'), 0)
    t.equal((await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '' })).statusCode, 200)
  })

  t.test(
    `if an access token is still valid after its token family has expired, the sweep keeps the token (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      let tokens = await getTokens(sandbox)
      // After these renewals, one hour of the ninety days is left.
      for (const days of [13, 13, 13, 13, 13, 13, 12 - 1 / 24]) {
        sandbox.passTime(days * dayMs)
        tokens = (await refresh(sandbox, tokens.refresh_token)).json()
      }
      sandbox.passTime(dayMs - 60_000)
      await sweep(sandbox.store, sandbox.now())
      t.equal((await refresh(sandbox, tokens.refresh_token)).statusCode, 401, 'the family has ended')
      t.ok(await isAccepted(sandbox, tokens.access_token), 'the access token must stay valid for its whole day')
      t.equal(await count(sandbox.store, 'spent_refresh_tokens'), 7)
      sandbox.passTime(2 * 3_600_000)
      await sweep(sandbox.store, sandbox.now())
      t.equal(await count(sandbox.store, 'grants'), 0)
      t.equal(await count(sandbox.store, 'spent_refresh_tokens'), 0)
    },
  )

  t.test(
    `AP-18: if an application with ${manyGrants} grants is removed, the call is answered immediately, and the sweep deletes the rows in batches (${database.name})`,
    async t => {
      if (manyGrants > 1200) t.setTimeout(0)
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId, userId } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const id: string = created['@id']
      const ownToken: string = created.tokens[0].token
      const before = await count(sandbox.store, 'grants')
      await fillWithGrants(sandbox.store, id, userId)

      const removedIn = await timeOf(async () => t.equal((await call('DELETE', `/apps/v1/${id}`)).statusCode, 204))
      t.equal((await call('GET', `/apps/v1/${id}`)).statusCode, 404)
      t.notOk(await isAccepted(sandbox, ownToken))
      t.equal(await count(sandbox.store, 'grants'), before + manyGrants, 'the rows must still exist')

      const stop = new AbortController()
      const { store, portions } = watchPortions(sandbox.store, count => count === 12 && stop.abort())
      await sweep(store, sandbox.now(), stop.signal)
      t.equal(portions.length, 12)
      t.ok((await count(store, 'grants')) > before, 'the sweep must stop when the test tells it to stop')
      const waits: number[] = []
      let isSwept = false
      // Counts the turns of the event loop, because in each turn the process could begin to handle a request.
      let turns = 0
      const turn = () => {
        turns += 1
        if (!isSwept) setImmediate().then(turn)
      }
      const asking = async () => {
        while (!isSwept) waits.push(await timeOf(async () => t.equal((await call('GET', '/apps/v1')).statusCode, 200)))
      }
      const sweeping = timeOf(() => sweep(store, sandbox.now())).finally(() => {
        isSwept = true
      })
      turn()
      const sweptBefore = portions.length
      const [sweptIn] = await Promise.all([sweeping, asking()])
      const swept = portions.length - sweptBefore
      t.ok(
        turns >= swept && waits.length > 0,
        `requests must get a turn between two batches: ${turns} turns, ${swept} batches`,
      )
      t.ok(Math.max(...portions) <= 100, `one batch has deleted ${Math.max(...portions)} rows`)
      t.equal(await count(store, 'grants'), before)
      t.equal(await count(store, 'spent_refresh_tokens'), 0)
      const rows = await store.read.selectFrom('applications').select('id').execute()
      t.strictSame(
        rows.map(row => row.id),
        [seeded.clientId],
      )
      const longestMs = Math.round(Math.max(...waits))
      t.comment({ removedInMs: removedIn, sweptInMs: sweptIn, longestMs, portions: portions.length })
    },
  )
}

for (const database of await openDatabases(t)) {
  t.test(
    `if 230 applications were removed, one sweep deletes all of them, in batches of 100 (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { groupId, userId } = await callAsDeveloper(sandbox)
      await addApplications(sandbox, { groupId, userId, count: 230 })
      await sandbox.store.write(db =>
        db.updateTable('applications').set({ removed_at: 1 }).where('id', '!=', seeded.clientId).execute(),
      )
      t.equal(await sweep(sandbox.store, sandbox.now()), 230)
      t.equal(await count(sandbox.store, 'applications'), 1)
    },
  )

  t.test(
    `when the sweep deletes the last application of a group without members, it also deletes the group; it keeps other groups (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker } = await openTwo(sandbox)
      const [left = '', kept = ''] = await addGroups(sandbox, maker.userId, 2)
      const apps: string[] = []
      for (const groupId of [left, left, kept])
        apps.push((await maker.call('POST', '/apps/v1', makeCreateBody(groupId))).json()['@id'])
      for (const id of apps) t.equal((await maker.call('DELETE', `/apps/v1/${id}`)).statusCode, 204)
      t.equal((await unlink(maker, maker.userId, left)).statusCode, 204)
      const groups = async () =>
        (await sandbox.store.read.selectFrom('groups').select('id').execute()).map(row => row.id)
      t.ok((await groups()).includes(left), 'the group must stay while its applications exist')
      await sweep(sandbox.store, sandbox.now())
      t.notOk((await groups()).includes(left))
      t.ok((await groups()).includes(kept), 'a group with a member must stay')
    },
  )

  t.test(
    `if two sweeps run at the same time, a statement for each table deletes the rows of this table, and no cascade deletes a row (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { store } = sandbox
      const { call, groupId } = await callAsDeveloper(sandbox)
      const id: string = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()['@id']
      const users = await addUsers(sandbox, 1000)
      const consents = users.map(user_id => ({ user_id, application_id: id, created_at: 0 }))
      await store.write(db => db.insertInto('consents').values(consents).execute())
      const isOfIt = 'exists (select 1 from consents where application_id = old.id)'
      const refusal =
        database.name === 'SQLite'
          ? [
              `create trigger no_cascade before delete on applications when ${isOfIt}
              begin select raise(abort, 'a cascade'); end`,
            ]
          : [
              `create function refuse_cascade() returns trigger language plpgsql as
              $$ begin if ${isOfIt} then raise exception 'a cascade'; end if; return old; end $$`,
              `create trigger no_cascade before delete on applications for each row execute function refuse_cascade()`,
            ]
      for (const statement of refusal) await store.write(db => sql.raw(statement).execute(db))
      await call('DELETE', `/apps/v1/${id}`)
      const swept = await Promise.all([sweep(store, sandbox.now()), sweep(store, sandbox.now())])
      t.equal(swept[0] + swept[1], 1003, 'consents, two access tokens and the application, each once')
      t.equal(await count(store, 'applications'), 1)
    },
  )
}

/** Adds many grants. One of the grants has a long history of refresh tokens. */
async function fillWithGrants(store: Store, applicationId: string, userId: string): Promise<void> {
  const numbers = (first: number, last: number) => sql`with recursive numbers (n) as (
    select ${sql.lit(first)} union all select n + 1 from numbers where n < ${sql.lit(last)}
  )`
  // Insert in batches, because no statement may take longer than three seconds.
  for (let first = 1; first <= manyGrants; first += 10_000)
    await store.write(db =>
      sql`
        insert into grants (id, user_id, application_id, created_at, expires_at, code_hash, redirect_uri, state_hash,
          code_challenge, redeemed_at, generation)
        ${numbers(first, Math.min(first + 9999, manyGrants))}
        select ${sql.lit(`${applicationId} `)} || n, ${sql.lit(userId)}, ${sql.lit(applicationId)}, 0, 9000000000000,
          'code ' || n, '', '', '', 0, 0
        from numbers`.execute(db),
    )
  await store.write(db =>
    sql`
      insert into spent_refresh_tokens (hash, grant_id, generation, spent_at)
      ${numbers(1, 1000)} select 'token ' || n, ${sql.lit(`${applicationId} 1`)}, n, 0 from numbers`.execute(db),
  )
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return Math.round(performance.now() - startedAt)
}

t.test('one sweep deletes all expired rows, even if the rows do not fit into one batch', async t => {
  const { store, now } = await buildTestSandbox(t)
  const rows = Array.from({ length: 1200 }, (_, id) => ({ id: `${id}`, expires_at: now().getTime() - 1 }))
  await store.write(db => db.insertInto('finished_authorizations').values(rows).execute())
  t.equal(await sweep(store, now()), 1200)
})

t.test('the sweep uses the real time, even if the sandbox’s clock was moved', async t => {
  const sandbox = await buildTestSandbox(t, { at: new Date() })
  const { store } = sandbox
  await logIn(sandbox)
  sandbox.passTime(365 * dayMs)
  const expire = () =>
    store.write(db => db.insertInto('finished_authorizations').values({ id: 'expired', expires_at: 1 }).execute())
  const rows = async () => (await store.read.selectFrom('finished_authorizations').select('id').execute()).length
  const before = await rows()
  const sweeper = createSweeper(store, error => t.fail(error.message), 1)
  sweeper.start()
  for (const time of ['once', 'and again']) {
    await expire()
    // A read from the file never waits. Without setImmediate, this loop would not let the timer of the sweep run.
    while ((await rows()) > before) await setImmediate()
    t.pass(time)
  }
  await sweeper.stop()
  t.equal(await count(store, 'portal_sessions'), 1)
  t.equal(await count(store, 'grants'), 1)
  await expire()
  t.equal(await rows(), before + 1, 'the sweeper must not delete rows after the stop')
})
