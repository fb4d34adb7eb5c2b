// The sandbox keeps signing keys in memory. These tests check how often it reads the keys from the store, and how soon
// it accepts a new key.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { addSigningKey } from '../../../src/sandbox/store/keys.ts'
import { exchange } from '../support/browser.ts'
import { buildTestSandbox, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { recordStatements } from '../support/record-statements.ts'
import { getCode, getTokens, refresh } from '../support/tokens.ts'

/** Calls the API with this token. Returns the status of the answer. */
async function use({ api }: TestSandbox, token: string): Promise<number> {
  const answer = await api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}` } })
  return answer.statusCode
}

/** Returns the same token with another key id in its header. No key has this id. */
function underMadeUpKey(token: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: randomUUID() })).toString('base64url')
  return [header, ...token.split('.').slice(1)].join('.')
}

/** Returns a token that is signed with a new key. The given sandbox has not read this key yet. */
async function signWithNewKey(t: Test, sandbox: TestSandbox): Promise<string> {
  await sandbox.store.transaction(db => addSigningKey(db, sandbox.now()))
  const other = await buildTestSandbox(t, { databaseUrl: sandbox.config.databaseUrl.reveal(), at: sandbox.now() })
  return (await callAsDeveloper(other)).accessToken
}

for (const database of await openDatabases(t)) {
  t.test(`SE-06: tokens with made-up key ids cause at most one database query a second (${database.name})`, async t => {
    const recorder = await recordStatements(t, await database.make(t))
    const sandbox = await buildTestSandbox(t, { databaseUrl: recorder.databaseUrl })
    const { accessToken } = await callAsDeveloper(sandbox)
    const countStatements = async (work: () => Promise<unknown>) => {
      const before = recorder.statements.length
      await work()
      return recorder.statements.length - before
    }
    const useMadeUp = async () => t.equal(await use(sandbox, underMadeUpKey(accessToken)), 401)
    const flood = async () => {
      await Promise.all(Array.from({ length: 20 }, useMadeUp))
      for (let count = 0; count < 20; count += 1) await useMadeUp()
    }
    for (const second of [1, 2, 3]) {
      sandbox.passTime(1000)
      t.equal(await countStatements(flood), 1, `second ${second}`)
      sandbox.passTime(999)
      t.equal(await countStatements(flood), 0)
    }
    const own = await countStatements(async () => t.equal(await use(sandbox, accessToken), 200))
    t.ok(own > 0, 'a token with a known key must cause queries')
  })

  t.test(
    `F-35: if several simultaneous calls have tokens that are signed with a new key, the API accepts all of them immediately (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const token = await signWithNewKey(t, sandbox)
      sandbox.passTime(1000)
      const statuses = await Promise.all(Array.from({ length: 5 }, () => use(sandbox, token)))
      t.strictSame(statuses, [200, 200, 200, 200, 200])
    },
  )

  t.test(
    `F-35: even if other tokens have made-up key ids, the API accepts a new key after at most one second (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      sandbox.passTime(1000)
      const token = await signWithNewKey(t, sandbox)
      t.equal(await use(sandbox, underMadeUpKey(token)), 401)
      sandbox.passTime(1000)
      t.strictSame(await Promise.all([use(sandbox, underMadeUpKey(token)), use(sandbox, token)]), [401, 200])
    },
  )

  t.test(
    `F-35: if the API cannot read the keys, it answers 500 and does not refuse a valid token as invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const token = await signWithNewKey(t, sandbox)
      sandbox.passTime(1000)
      await sandbox.store.write(db => sql`alter table keys rename to hidden_keys`.execute(db))
      for (let count = 0; count < 3; count += 1) t.equal(await use(sandbox, token), 500)
      await sandbox.store.write(db => sql`alter table hidden_keys rename to keys`.execute(db))
      t.equal(await use(sandbox, token), 200, 'the token must be accepted as soon as the keys can be read')
    },
  )

  t.test(
    `F-35: if the portal cannot read the keys, it neither redeems a code nor replaces a refresh token (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { refresh_token: refreshToken } = await getTokens(sandbox)
      const code = await getCode(sandbox)
      sandbox.passTime(5000)
      await sandbox.store.write(db => sql`alter table keys rename to hidden_keys`.execute(db))
      t.equal((await exchange(sandbox, { code })).statusCode, 500)
      t.equal((await refresh(sandbox, refreshToken)).statusCode, 500)
      await sandbox.store.write(db => sql`alter table hidden_keys rename to keys`.execute(db))
      // After more than ten seconds, a refresh token that was replaced would no longer be accepted.
      sandbox.passTime(11_000)
      t.equal((await exchange(sandbox, { code })).statusCode, 200)
      t.equal((await refresh(sandbox, refreshToken)).statusCode, 200)
    },
  )
}
