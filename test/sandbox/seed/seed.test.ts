// The sandbox applies each value of a SEED_ setting only once, so that it does not undo later changes by people.
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { lockApplication } from '../../../src/sandbox/store/applications.ts'
import { addClientSecret } from '../../../src/sandbox/store/client-secrets.ts'
import { exchange, openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications, addGroups } from '../support/fill-groups.ts'
import { getTokens, refresh } from '../support/tokens.ts'

/** Returns whether the portal accepts this secret of the seeded client. */
async function isValid(sandbox: TestSandbox, clientSecret: string): Promise<boolean> {
  const answer = await exchange(sandbox, { client_secret: clientSecret, code: 'a'.repeat(30) })
  return answer.json().error !== 'invalid_client'
}

async function canSignIn(sandbox: TestSandbox, password: string): Promise<boolean> {
  const { body } = await signIn(openBrowser(sandbox), {}, { password })
  return !body.includes('name="password"')
}

async function register({ portal }: TestSandbox, email: string, password: string): Promise<number> {
  const person = { email, password, firstName: 'S', lastName: 'T', termsAccepted: 'true' }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = new URLSearchParams(person).toString()
  return (await portal.inject({ method: 'POST', url: '/api/register', headers, payload })).statusCode
}

const newSecret = async (call: Awaited<ReturnType<typeof callAsDeveloper>>['call']): Promise<string> =>
  (await call('POST', `/apps/v1/${seeded.clientId}/refreshSecret`)).json().clientSecret

for (const database of await openDatabases(t)) {
  const start = (t: Test, databaseUrl: string, settings = {}) => buildTestSandbox(t, { databaseUrl, ...settings })

  t.test(
    `seeds: after a client secret was renewed, a restart keeps the new secrets, and does not make the seeded secret valid again (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { call } = await callAsDeveloper(first)
      const [second, third] = [await newSecret(call), await newSecret(call)]
      const restarted = await start(t, url)
      t.equal(await isValid(restarted, seeded.clientSecret), false)
      for (const secret of [second, third]) t.equal(await isValid(restarted, secret), true)
      t.match(restarted.seedReport, { applied: [], refused: [], outdated: ['the client secret no longer works'] })
      const moved = await start(t, url, { redirectUris: ['http://localhost:3999/exchangeToken'] })
      t.equal(
        await isValid(moved, seeded.clientSecret),
        false,
        'a change of another setting must not restore the old secret',
      )
      t.strictSame(moved.seedReport?.applied, ['SEED_REDIRECT_URIS'])
    },
  )

  t.test(
    `seeds: if an API call has changed redirect URIs, the changed URIs survive restarts, until the setting for redirect URIs changes (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { call } = await callAsDeveloper(first)
      const redirectUris = `${seeded.redirectUri},https://client.example.test/back`
      t.equal((await call('PUT', `/apps/v1/${seeded.clientId}`, { name: 'Renamed', redirectUris })).statusCode, 200)
      const read = async () => (await call('GET', `/apps/v1/${seeded.clientId}`)).json().client.redirectUris
      await start(t, url)
      t.equal(await read(), redirectUris)
      await start(t, url, { redirectUris: ['https://other.example.test/back'] })
      t.equal(await read(), 'https://other.example.test/back')
    },
  )

  t.test(
    `if somebody removed the seeded application, a restart does not restore the application (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { call } = await callAsDeveloper(first)
      t.equal((await call('DELETE', `/apps/v1/${seeded.clientId}`)).statusCode, 204)
      for (const settings of [{}, { password: 'another password of mine' }]) {
        const restarted = await start(t, url, settings)
        t.equal(await isValid(restarted, seeded.clientSecret), false)
        t.strictSame(restarted.seedReport?.outdated, ['the application was removed'])
      }
      const changed = await start(t, url, { clientSecret: 'another-secret-that-is-long-enough-34' })
      t.equal(
        await isValid(changed, 'another-secret-that-is-long-enough-34'),
        true,
        'with another secret the seed must be applied',
      )
    },
  )

  t.test(
    `if the seeded secret and password are changed in the settings, the old and the new secret are both valid, but old sessions become invalid (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { refresh_token } = await getTokens(first)
      const clientSecret = 'another-secret-that-is-long-enough-34'
      const changed = await start(t, url, { clientSecret, password: 'another password of mine' })
      t.strictSame(changed.seedReport?.applied, ['SEED_USER_PASSWORD', 'SEED_CLIENT_SECRET'])
      for (const secret of [seeded.clientSecret, clientSecret]) t.equal(await isValid(changed, secret), true)
      t.equal(await canSignIn(changed, 'another password of mine'), true)
      t.equal(await canSignIn(changed, seeded.password), false)
      t.equal((await refresh(changed, refresh_token)).statusCode, 401)
    },
  )

  t.test(
    `seeds: if somebody has already made an account with the seeded e-mail address, seeding does not take over the account (${database.name})`,
    async t => {
      const url = await database.make(t)
      const before = await start(t, url, { seed: false })
      t.equal(await register(before, seeded.email, 'the password of somebody else'), 201)
      const after = await start(t, url)
      t.equal(after.seedReport?.applied.length, 0)
      t.match(after.seedReport?.refused, [
        /SEED_USER_EMAIL names an account that seeding did not make/,
        /SEED_CLIENT_ID/,
      ])
      t.match(after.logLines.join(''), /"code":"seed-refused"/)
      const rows = await after.store.read.selectFrom('applications').selectAll().execute()
      t.strictSame(rows, [], 'the seed must not create an application')
      const other = await start(t, url, { email: 'other@example.test' })
      t.strictSame(other.seedReport?.refused, [])
      t.equal(await isValid(other, seeded.clientSecret), true)
    },
  )

  t.test(
    `seeds: if the seeded client id belongs to an application that somebody has made, seeding does not take over the application (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { call, groupId } = await callAsDeveloper(first)
      const { client } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const after = await start(t, url, { clientId: client.clientId, redirectUris: ['https://evil.example.test/'] })
      t.match(after.seedReport, {
        applied: [],
        refused: [/SEED_CLIENT_ID names an application that seeding did not make/],
      })
      t.equal((await call('GET', `/apps/v1/${client.clientId}`)).json().client.redirectUris, client.redirectUris)
    },
  )

  t.test(
    `if API calls renew the secret while several instances start, the seeded secret is stored once, and the two latest secrets are valid (${database.name})`,
    async t => {
      const url = await database.make(t)
      const first = await start(t, url)
      const { call } = await callAsDeveloper(first)
      const made: string[] = []
      const renew = async () => {
        for (let times = 0; times < 6; times += 1) made.push(await newSecret(call))
      }
      const clientSecret = 'another-secret-that-is-long-enough-34'
      const reports = await Promise.all([renew(), ...[1, 2, 3].map(() => start(t, url, { clientSecret }))])
      const applied = reports.flatMap(sandbox => sandbox?.seedReport?.applied ?? [])
      t.strictSame(applied, ['SEED_CLIENT_SECRET'], 'one of the instances must apply the setting')
      const rows = await first.store.read.selectFrom('client_secrets').select('generation').execute()
      t.equal(rows.length, 2)
      t.equal(Math.max(...rows.map(({ generation }) => generation)), 8)
      t.equal(await isValid(first, made.at(-1) ?? ''), true)
    },
  )

  if (database.name === 'PostgreSQL')
    t.test(
      'if a starting sandbox seeds a new secret while an API call creates another secret, the sandbox waits for the call',
      async t => {
        const url = await database.make(t)
        const { store, now } = await start(t, url)
        const clientSecret = 'another-secret-that-is-long-enough-34'
        let starting: Promise<TestSandbox> | undefined
        await store.transaction(async db => {
          await lockApplication(db, seeded.clientId)
          const maker = { userId: 'somebody', clientId: null }
          await addClientSecret(db, seeded.clientId, 'the hash that the call stores', { maker, now: now() })
          starting = start(t, url, { clientSecret })
          const countWaiting = sql<{ count: number }>`select count(*)::int as count from pg_locks where not granted`
          while (((await countWaiting.execute(store.read)).rows[0]?.count ?? 0) === 0) await setImmediate()
        })
        t.equal(await isValid(await starting!, clientSecret), true)
        const rows = await store.read.selectFrom('client_secrets').select('generation').orderBy('generation').execute()
        t.strictSame(
          rows.map(({ generation }) => generation),
          [2, 3],
        )
      },
    )

  t.test(`the seeded application is in a group that the seeded person has made (${database.name})`, async t => {
    const url = await database.make(t)
    const first = await start(t, url)
    const { userId } = await callAsDeveloper(first)
    const stranger = await callAsStranger(first)
    await first.store.transaction(async db => {
      await db
        .insertInto('groups')
        .values({ id: 'theirs', name: 'Theirs', created_at: 0, created_by: stranger.userId })
        .execute()
      const link = { id: 'link', user_id: userId, group_id: 'theirs', created_at: 0, created_by: stranger.userId }
      await db.insertInto('memberships').values(link).execute()
    })
    await start(t, url, { clientId: 'another-client' })
    const row = await first.store.read
      .selectFrom('applications')
      .innerJoin('groups', 'groups.id', 'applications.group_id')
      .select('groups.created_by')
      .where('applications.id', '=', 'another-client')
      .executeTakeFirst()
    t.equal(row?.created_by, userId)
  })

  t.test(
    `if the limits of a group leave no room for the seeded application, the sandbox says so and starts without this application (${database.name})`,
    async t => {
      const url = await database.make(t)
      const sandbox = await start(t, url)
      const { call, userId, groupId } = await callAsDeveloper(sandbox)
      const notMade = 'No application was made for SEED_CLIENT_ID: '
      const seedAnother = async () => (await start(t, url, { clientId: 'another-client' })).seedReport
      const isThere = async () => (await call('GET', '/apps/v1/another-client')).statusCode === 200

      const [filler] = await addApplications(sandbox, { groupId, userId, count: 99 })
      const full = `${notMade}the oldest group of the account has too many applications. Remove an application from this group.`
      t.match(await seedAnother(), { applied: [], refused: [full] })
      t.notOk(await isThere())
      await call('DELETE', `/apps/v1/${filler}`)
      t.match(await seedAnother(), { applied: [/CLIENT_ID/, /CLIENT_SECRET/, /REDIRECT_URIS/], refused: [] })
      t.ok(await isThere())
      await call('DELETE', '/apps/v1/another-client')

      const stranger = await callAsStranger(sandbox)
      await addGroups(sandbox, userId, 19)
      await sandbox.store.write(db => db.updateTable('groups').set({ created_by: stranger.userId }).execute())
      const { seedReport } = await start(t, url, { clientId: 'a-third-client' })
      t.strictSame(seedReport?.refused, [`${notMade}the account has reached the limit on groups. Leave a group.`])
      const memberships = await sandbox.store.read
        .selectFrom('memberships')
        .select('id')
        .where('user_id', '=', userId)
        .execute()
      t.equal(memberships.length, 20)
    },
  )

  t.test(
    `if seeded redirect URIs do not fit into the size limit of the group, the sandbox does not store them, but applies a changed client secret (${database.name})`,
    async t => {
      const url = await database.make(t)
      const sandbox = await start(t, url)
      const { call, userId, groupId } = await callAsDeveloper(sandbox)
      const fields = { description: 'x'.repeat(256 * 1024 - 1500) }
      const [filler] = await addApplications(sandbox, { groupId, userId, count: 1, fields })
      const redirectUris = [`https://client.example.test/${'a'.repeat(1500)}`]
      const read = async () => (await call('GET', `/apps/v1/${seeded.clientId}`)).json().client.redirectUris
      const refused = [/^SEED_REDIRECT_URIS did not take effect: .* too much room/]
      t.match((await start(t, url, { redirectUris })).seedReport, { applied: [], refused })
      t.equal(await read(), seeded.redirectUri)
      const clientSecret = 'another-secret-of-the-seeded-client'
      const changed = await start(t, url, { redirectUris, clientSecret })
      t.match(changed.seedReport, { applied: ['SEED_CLIENT_SECRET'], refused })
      t.equal(await isValid(changed, clientSecret), true)
      const again = await start(t, url, { redirectUris, clientSecret })
      t.match(again.seedReport, { applied: [], refused }, 'each start must try to apply the redirect URIs')
      t.equal(await read(), seeded.redirectUri)
      await call('DELETE', `/apps/v1/${filler}`)
      const last = await start(t, url, { redirectUris, clientSecret })
      t.match(last.seedReport, { applied: { length: 1, 0: 'SEED_REDIRECT_URIS' }, refused: [] })
      t.equal(await read(), redirectUris[0])
    },
  )

  t.test(
    `the database stores the seeded password only as an argon2id hash, and not as a fast hash (${database.name})`,
    async t => {
      const { store } = await start(t, await database.make(t))
      const rows = await store.read.selectFrom('seeded_users').selectAll().execute()
      t.match(rows, [{ email: seeded.email, password_hash: /^\$argon2id\$/ }])
      t.strictSame(Object.keys(rows[0] ?? {}).sort(), ['email', 'password_hash', 'user_id'])
    },
  )

  t.test(
    `if two instances start at the same time with a changed seeded password, the password is applied only once (${database.name})`,
    async t => {
      const url = await database.make(t)
      await start(t, url)
      const both = await Promise.all([1, 2].map(() => start(t, url, { password: 'another password of mine' })))
      t.strictSame(
        both.flatMap(({ seedReport }) => seedReport?.applied),
        ['SEED_USER_PASSWORD'],
      )
      t.ok(await canSignIn(both[0]!, 'another password of mine'))
    },
  )
}
