// Upgrades a database with schema 1, and checks that all its data still works.
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { exchange, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { buildTestLab } from '../support/call-lab.ts'
import { openDatabases, type TestDatabase } from '../support/each-database.ts'
import { isAccepted, refresh } from '../support/tokens.ts'

// The SQL of a database with schema 1 that has rows in every table. `at` is the time of the last row.
const script = readFileSync(new URL('version-1.sql', import.meta.url), 'utf8')
const at = new Date('2026-03-01T12:04:01Z')

// The secrets and tokens that people got from the version with schema 1. When the database was made, the secret had
// been renewed twice, and a call had added a redirect URI.
const secrets = ['468aZd1JB2icetlCmDTdrfp3drjg9v5v1j-QOQlTASM', 'fyOuJbP7KzlckBqSZK208aqO_ccV9nTJt51mUNDwenE']
const redirectUris = [seeded.redirectUri, 'https://client.example.test/exchangeToken']
const refreshToken = 'DrCaHYPEfs9gGZsk3TT4GMXu3A0iEe'
const accessToken =
  'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IjFmYWI0YjliLTBjNTAtNDE3NS04OTcyLTg2OWMwZGUwMjNlMyJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjQwMDAiLCJzdWIiOiI0NmE4ZTUxZS01YjY0LTQ4OWItYWY1Ni0zYzI4YzkzMTU4ZWQiLCJhdWQiOiI1YTBlM2Y0Yy01MmY1LTRkMmUtOWE0OS0wYTRmN2Q4ZjdjMTEiLCJjbGllbnRfaWQiOiI1YTBlM2Y0Yy01MmY1LTRkMmUtOWE0OS0wYTRmN2Q4ZjdjMTEiLCJpYXQiOjE3NzIzNjY2NDAsImV4cCI6MTc3MjQ1MzA0MCwianRpIjoiN2ZhODViMmItYmZmNS00OGQ5LTg5NmUtMzcyY2Y1ZjBhODVjLmFmNWVlODk0LTFkOTAtNGVjOC04Njc1LWU0OGRiYWNhNmRhNCIsInR5cGUiOiJVc2VyIn0.g_M5J8pWgZ9XiYOpBq_U_LnLID1OAri7tR8HIJSQ1hCf6fjunh0kM7FZSiVWmTbsMLuxjh_a_Fr-obAwJXAQvA'
const stranger = { email: 'stranger@example.test', password: 'a long password of a stranger' }

/** Makes a database with schema 1, and runs the SQL in `change`. */
async function makeOld(t: Test, database: TestDatabase, change = ''): Promise<string> {
  const url = await database.makeEmpty(t)
  if (database.name === 'SQLite') {
    const file = new DatabaseSync(url.slice('sqlite:'.length))
    file.exec(script + change)
    file.close()
  } else {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(script + change)
    await client.end()
  }
  return url
}

/** Returns the rows that the script inserts, keyed by table. */
function readRows(): Map<string, Record<string, unknown>[]> {
  const file = new DatabaseSync(':memory:')
  file.exec(script)
  const tables = file.prepare("select name from sqlite_master where type = 'table' and name <> 'sandbox_schema'").all()
  return new Map(tables.map(({ name }) => [String(name), file.prepare(`select * from ${name}`).all()]))
}

async function isValid(sandbox: TestSandbox, clientSecret: string): Promise<boolean> {
  const answer = await exchange(sandbox, { client_secret: clientSecret, code: 'a'.repeat(30) })
  return answer.json().error !== 'invalid_client'
}

for (const database of await openDatabases(t)) {
  t.test(`F-33: the upgrade of a database with schema 1 keeps every row (${database.name})`, async t => {
    const { store } = await buildTestSandbox(t, { databaseUrl: await makeOld(t, database), at, seed: false })
    for (const [table, rows] of readRows()) {
      t.ok(rows.length > 0, `there are ${table}`)
      const columns = Object.keys(rows[0] ?? {})
      const { rows: kept } = await sql<object>`select ${sql.join(columns.map(column => sql.ref(column)))}
        from ${sql.table(table)}`.execute(store.read)
      const sorted = (list: object[]) => list.map(row => JSON.stringify({ ...row })).sort()
      t.strictSame(sorted(kept), sorted(rows), table)
    }
  })

  t.test(
    `F-33: after the upgrade of a database with schema 1, its passwords, secrets, tokens and consents still work (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await makeOld(t, database), at })
      t.equal(await isAccepted(sandbox, accessToken), true)
      const renewed = await refresh(sandbox, refreshToken, { client_secret: secrets[1] })
      t.equal(renewed.statusCode, 200)
      for (const person of [seeded, stranger]) {
        const answer = await signIn(openBrowser(sandbox), {}, person)
        t.match(answer.headers.location, /[?&]code=/, 'the user must be able to sign in without a new consent')
      }
      const list = await sandbox.api.inject({
        url: '/apps/v1',
        headers: { authorization: `Bearer ${renewed.json().access_token}` },
      })
      t.strictSame(
        list
          .json()
          .ItemList.map((app: { data: { name: string } }) => app.data.name)
          .sort(),
        ['Reference client', 'Weather'],
      )
    },
  )

  t.test(
    `the upgrade of a database does not apply the seeds again, and keeps changes that were made after seeding (${database.name})`,
    async t => {
      const databaseUrl = await makeOld(t, database)
      for (let starts = 0; starts < 2; starts += 1) {
        const sandbox = await buildTestSandbox(t, { databaseUrl, at })
        t.strictSame(sandbox.seedReport, { applied: [], refused: [], outdated: ['the client secret no longer works'] })
        t.equal(await isValid(sandbox, seeded.clientSecret), false)
        for (const secret of secrets) t.equal(await isValid(sandbox, secret), true)
        for (const uri of redirectUris)
          t.equal((await openBrowser(sandbox).get(startUrl({ redirect_uri: uri }))).statusCode, 200)
      }
    },
  )

  t.test(
    `if a SEED_ setting is changed after the upgrade of a database, the sandbox applies the setting (${database.name})`,
    async t => {
      const databaseUrl = await makeOld(t, database)
      await buildTestSandbox(t, { databaseUrl, at })
      const clientSecret = 'another-secret-that-is-long-enough-34'
      const sandbox = await buildTestSandbox(t, { databaseUrl, at, clientSecret, password: 'another password of mine' })
      t.strictSame(sandbox.seedReport?.applied, ['SEED_USER_PASSWORD', 'SEED_CLIENT_SECRET'])
      t.equal(await isValid(sandbox, clientSecret), true)
    },
  )

  t.test(
    `after the upgrade of a database with schema 1, the laboratory can change the seeded account, but no other account from before the upgrade (${database.name})`,
    async t => {
      const { sandbox, lab } = await buildTestLab(t, { databaseUrl: await makeOld(t, database), at })
      t.equal((await lab('POST', 'expire', { what: 'access-token', email: stranger.email })).statusCode, 404)
      t.strictSame((await lab('POST', 'reset', {})).json().removed, { people: 0, groups: 0, applications: 0 })
      t.ok(await isAccepted(sandbox, accessToken))
      t.strictSame((await lab('POST', 'expire', { what: 'access-token', value: accessToken })).json(), { expired: 1 })
      t.notOk(await isAccepted(sandbox, accessToken), 'an old token must expire like a new one')
      const renewed = (await refresh(sandbox, refreshToken, { client_secret: secrets[1] })).json()
      t.ok(await isAccepted(sandbox, renewed.access_token))
    },
  )

  t.test(
    `if somebody made an account with an earlier version, the seeds do not take over the account (${database.name})`,
    async t => {
      const databaseUrl = await makeOld(t, database)
      const sandbox = await buildTestSandbox(t, { databaseUrl, at, email: stranger.email })
      t.match(sandbox.seedReport, { applied: [], refused: [/SEED_USER_EMAIL names an account/] })
      t.match((await signIn(openBrowser(sandbox), {}, stranger)).headers.location, /[?&]code=/)
    },
  )
}
