// Tests the secrets of applications: who can read them and when they become invalid. Also tests long lists of
// applications.
import { type RawBuilder, sql } from 'kysely'
import t from 'tap'
import { exchange } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications, addGroups } from '../support/fill-groups.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

const tables = [
  'users',
  'portal_sessions',
  'groups',
  'memberships',
  'applications',
  'client_secrets',
  'app_access_tokens',
  'consents',
  'finished_authorizations',
  'grants',
  'spent_refresh_tokens',
  'failures',
] as const

/** Returns all rows of all tables except the table of keys, as text. */
async function dump({ store }: TestSandbox): Promise<string> {
  const rows = await Promise.all(tables.map(table => store.read.selectFrom(table).selectAll().execute()))
  return JSON.stringify(rows)
}

for (const database of await openDatabases(t)) {
  t.test(
    `SE-01, SE-05: the API shows a new secret or token only once, and the database stores only hashes (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const login = await getTokens(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const path = `/apps/v1/${created['@id']}`
      const renewed = (await call('POST', `${path}/refreshSecret`)).json()
      const [secret] = created.client.clientSecrets
      t.equal(Buffer.from(secret, 'base64url').length, 32, '256 bits')
      t.not(secret, renewed.clientSecret)
      const secrets = {
        'the first secret': secret,
        'the renewed secret': renewed.clientSecret,
        'an access token of the application': created.tokens[0].token,
        'its other access token': created.tokens[1].token,
        'the seeded secret': seeded.clientSecret,
        'the user’s password': seeded.password,
        'the user’s access token': login.access_token,
        'the user’s refresh token': login.refresh_token,
      }
      const update = { name: 'Weather', redirectUris: 'https://a.example.test/cb' }
      const answers = {
        list: await call('GET', '/apps/v1'),
        get: await call('GET', path),
        update: await call('PUT', path, update),
        'bad fields': await call('PUT', path, { ...update, redirectUris: 'x' }),
      }
      const places = {
        ...Object.fromEntries(Object.entries(answers).map(([name, { body }]) => [name, body])),
        'the database': await dump(sandbox),
        'the log': sandbox.logLines.join(''),
      }
      for (const [place, text] of Object.entries(places)) {
        t.ok(text.length > 50, `${place} was read`)
        for (const [name, value] of Object.entries(secrets))
          t.notOk(text.includes(value), `${place} must not contain ${name}`)
        t.notMatch(text, /"(clientSecrets?|tokens?|access_token)":/, place)
      }
      for (const token of [secrets['an access token of the application'], secrets['its other access token']])
        t.ok(await isAccepted(sandbox, token), 'the tokens must work')
      for (const client_secret of [secret, renewed.clientSecret]) {
        const tried = await exchange(sandbox, { client_id: created['@id'], client_secret, code: 'x'.repeat(30) })
        t.match(tried.json(), { error: 'invalid_grant' }, 'the secret is right, the code is not')
      }
    },
  )

  t.test(
    `AP-13: a caller with 300 applications gets all of them in one list, with less than 1.5 KB for each application (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, userId } = await callAsDeveloper(sandbox)
      const { groupId: _, ...data } = makeCreateBody('').data
      const description = 'Tells what tomorrow will be like, at home and on the way. '.repeat(5)
      const fields = { ...data, redirectUris: [data.defaultRedirectUri], description }
      for (const groupId of await addGroups(sandbox, userId, 3))
        await addApplications(sandbox, { groupId, userId, count: 100, fields })
      const list = await call('GET', '/apps/v1')
      t.equal(list.json().ItemList.length, 301, 'the list must have the 300 applications and the seeded one')
      t.ok(list.body.length < 300 * 1500, `${list.body.length / 300} bytes each`)
    },
  )

  t.test(
    `AP-13: if other users have 10,000 applications, the caller’s list contains none of them (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const stranger = await callAsStranger(sandbox)
      const context = 'https://standards.oftrust.net/v2/Context/Identity/Group/'
      const group = { context, type: 'Group', data: { name: 'Others' } }
      const { '@id': others } = (await stranger.call('POST', '/identities/v1', group)).json()
      const { '@id': own } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const values: Record<string, RawBuilder<unknown>> = {
        id: sql`'other-' || number`,
        link_id: sql`'00000000-0000-4000-8000-0' || (10000000000 + number)`,
        group_id: sql`${others}`,
      }
      const row = await sandbox.store.read.selectFrom('applications').selectAll().executeTakeFirstOrThrow()
      const columns = Object.keys(row)
      const selected = columns.map(column => values[column] ?? sql.ref(column))
      await sandbox.store.write(db =>
        sql`
        insert into applications (${sql.join(columns.map(column => sql.ref(column)))})
        with recursive numbers (number) as (select 0 union all select number + 1 from numbers where number < 9999)
        select ${sql.join(selected)} from applications, numbers where id = ${own}`.execute(db),
      )
      const list = await call('GET', '/apps/v1')
      t.strictSame(
        list
          .json()
          .ItemList.map((app: { '@id': string }) => app['@id'])
          .sort(),
        [own, seeded.clientId].sort(),
      )
      t.ok(list.body.length < 4096, 'the answer must not grow with other users’ applications')
      t.equal((await call('GET', '/apps/v1/other-5000')).statusCode, 404)
      t.equal(
        (await stranger.call('GET', '/apps/v1/other-5000')).statusCode,
        200,
        'the other users’ applications must exist',
      )
    },
  )
}

const path = `/apps/v1/${seeded.clientId}/refreshSecret`

/**
 * Returns whether the portal accepts the secret. The portal checks the secret before the code, so a made-up code is
 * enough.
 */
async function isValid(sandbox: TestSandbox, clientSecret: string): Promise<boolean> {
  const answer = await exchange(sandbox, { client_secret: clientSecret, code: 'x'.repeat(30) })
  return answer.json().error === 'invalid_grant'
}

for (const database of await openDatabases(t)) {
  t.test(
    `SE-02: the two latest secrets of an application are valid, and creating a third secret makes the oldest secret invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call } = await callAsDeveloper(sandbox)
      const tokens = await getTokens(sandbox)
      const first = await call('POST', path)
      t.equal(first.statusCode, 201)
      t.strictSame(Object.keys(first.json()), ['clientSecret'])
      const secrets = [seeded.clientSecret, first.json().clientSecret]
      t.match(secrets[1], /^[\w-]{43}$/)
      t.strictSame([await isValid(sandbox, secrets[0]), await isValid(sandbox, secrets[1])], [true, true])

      secrets.push((await call('POST', path, {})).json().clientSecret)
      t.strictSame(await Promise.all(secrets.map(secret => isValid(sandbox, secret))), [false, true, true])
      t.match(await exchange(sandbox, { client_secret: secrets[0], code: 'x' }), { statusCode: 401 })
      t.match((await exchange(sandbox, { client_secret: secrets[0], code: 'x' })).json(), { error: 'invalid_client' })

      t.ok(await isAccepted(sandbox, tokens.access_token), 'the tokens of a login must stay valid')
      const renewed = await refresh(sandbox, tokens.refresh_token, { client_secret: secrets[2] })
      t.equal(renewed.statusCode, 200, 'a renewal with a valid secret must succeed')
    },
  )

  t.test(
    `AP-16: if two instances renew an application’s secret at the same time, the two latest secrets are valid (${database.name})`,
    async t => {
      const url = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl: url })
      const other = await buildTestSandbox(t, { databaseUrl: url })
      const { accessToken } = await callAsDeveloper(one)
      const renew = ({ api }: TestSandbox) =>
        api.inject({ method: 'POST', url: path, headers: { authorization: `Bearer ${accessToken}` } })
      let previous = [seeded.clientSecret]
      for (const parallel of [2, 3, 4]) {
        const answers = await Promise.all(
          Array.from({ length: parallel }, (_, index) => renew(index % 2 === 0 ? one : other)),
        )
        t.ok(answers.every(answer => answer.statusCode === 201))
        const secrets: string[] = answers.map(answer => answer.json().clientSecret)
        const valid = await Promise.all(secrets.map(secret => isValid(other, secret)))
        t.equal(valid.filter(Boolean).length, 2, `two of ${parallel} are valid`)
        t.strictSame(
          await Promise.all(previous.map(secret => isValid(one, secret))),
          previous.map(() => false),
        )
        previous = secrets
        // Delete the client's failed attempts, because this test is not about the limit on failures.
        await one.store.write(db => db.deleteFrom('failures').execute())
      }
    },
  )
}
