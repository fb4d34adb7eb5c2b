// Tests that a call to the API stores either its whole change or nothing. The tests make the SQL statements
// fail one after another.
import type { LightMyRequestResponse } from 'fastify'
import type { KyselyPlugin, Transaction } from 'kysely'
import t, { type Test } from 'tap'
import type { Db, Tables } from '../../../src/sandbox/store/schema.ts'
import { buildTestSandbox, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const tables = ['applications', 'client_secrets', 'app_access_tokens', 'groups', 'memberships'] as const

async function readRows({ store }: TestSandbox): Promise<unknown[]> {
  return Promise.all(tables.map(table => store.read.selectFrom(table).selectAll().execute()))
}

/** From now on, statement number `failing` of each transaction fails. So the whole transaction fails. */
function failAt({ store }: TestSandbox, failing: number): void {
  const { transaction } = store
  store.transaction = work =>
    transaction(db => {
      let statements = 0
      const fault: KyselyPlugin = {
        transformQuery({ node }) {
          statements += 1
          if (statements === failing) throw new Error('a fault of the test, with a secret')
          return node
        },
        transformResult: async ({ result }) => result,
      }
      return work((db as Transaction<Tables>).withPlugin(fault) as Db)
    })
}

/**
 * Repeats the call until it succeeds. In the first call the first statement fails, in the second call the second
 * statement, and so on. Returns the number of failed calls.
 */
async function failEverywhere(t: Test, sandbox: TestSandbox, send: () => Promise<LightMyRequestResponse>) {
  const { transaction } = sandbox.store
  const before = await readRows(sandbox)
  for (let failing = 1; failing <= 20; failing += 1) {
    failAt(sandbox, failing)
    const answer = await send()
    sandbox.store.transaction = transaction
    if (answer.statusCode < 300) return failing - 1
    t.strictSame(answer.json(), { error: { status: 500, message: 'Internal Server Error' } }, `statement ${failing}`)
    t.strictSame(await readRows(sandbox), before, 'no rows changed')
  }
  return Number.NaN
}

for (const database of await openDatabases(t)) {
  t.test(
    `AP-14: if any SQL statement fails while an application is created, no part of the application is stored (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const failures = await failEverywhere(t, sandbox, () => call('POST', '/apps/v1', makeCreateBody(groupId)))
      // The call has six statements: for the group, the member, the existing applications, the application, the secret
      // and the tokens.
      t.equal(failures, 6)
      t.equal(
        (await call('GET', '/apps/v1')).json().ItemList.length,
        2,
        'there must be two applications: the seeded one and the new one',
      )
    },
  )

  t.test(
    `AP-14: if any SQL statement of an update, a new secret or a new group fails, no part of the change is stored (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const id = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()['@id']
      sandbox.passTime(1000)
      const context = 'https://standards.oftrust.net/v2/Context/Identity/Group/'
      const changes = { name: 'Changed', redirectUris: 'https://a.example.test/cb' }
      const group = { context, type: 'Group', data: { name: 'Half' } }
      // A query inside a statement counts as a separate statement.
      t.ok((await failEverywhere(t, sandbox, () => call('PUT', `/apps/v1/${id}`, changes))) >= 2)
      t.ok((await failEverywhere(t, sandbox, () => call('POST', `/apps/v1/${id}/refreshSecret`))) >= 4)
      t.ok((await failEverywhere(t, sandbox, () => call('POST', '/identities/v1', group))) >= 2)
    },
  )

  t.test(
    `AP-05: if the user loses the membership just before an application is written, the API stores nothing (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId, userId } = await callAsDeveloper(sandbox)
      const { transaction } = sandbox.store
      // The user loses the membership just before the transaction begins. At this time, the API has already checked the
      // token and the fields.
      sandbox.store.transaction = async work => {
        sandbox.store.transaction = transaction
        await sandbox.store.write(db => db.deleteFrom('memberships').where('user_id', '=', userId).execute())
        return transaction(work)
      }
      const answer = await call('POST', '/apps/v1', makeCreateBody(groupId))
      t.equal(answer.statusCode, 403)
      t.equal(
        (await sandbox.store.read.selectFrom('applications').selectAll().execute()).length,
        1,
        'the seeded application must be the only one',
      )
    },
  )
}
