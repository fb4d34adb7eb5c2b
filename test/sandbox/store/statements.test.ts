// Tests that the sandbox does not send more SQL statements, or read more rows, when there is more data.
import t from 'tap'
import { sweep } from '../../../src/sandbox/store/sweep.ts'
import { contexts } from '../../../src/sandbox/values/contexts.ts'
import { exchange, logIn } from '../support/browser.ts'
import { buildTestSandbox, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { buildTestLab, type CallLab } from '../support/call-lab.ts'
import { openDatabases } from '../support/each-database.ts'
import { askToWithdraw, openAsDeveloper, submitForm } from '../support/forms.ts'
import { link, openTwo, unlink } from '../support/group-calls.ts'
import { refresh } from '../support/put-under-load.ts'
import { type Recorder, recordStatements } from '../support/record-statements.ts'

/** Runs `work`, and returns the statements that were sent to the database during the work. */
async function during(recorder: Recorder, work: () => Promise<unknown>): Promise<string[]> {
  const before = recorder.statements.length
  await work()
  return recorder.statements.slice(before)
}

for (const database of await openDatabases(t)) {
  t.test(
    `the number of SQL statements for a list of applications is the same for one application and for many (${database.name})`,
    async t => {
      const recorder = await recordStatements(t, await database.make(t))
      const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t, { databaseUrl: recorder.databaseUrl }))
      const list = () => during(recorder, async () => t.equal((await call('GET', '/apps/v1')).statusCode, 200))
      const forOne = await list()
      t.ok(forOne.length > 0)
      for (let count = 0; count < 5; count += 1)
        t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
      const forMany = await list()
      t.equal(forMany.length, forOne.length, forMany.join('\n'))
    },
  )

  t.test(`no SQL statement of the sandbox reads all rows of a large table (${database.name})`, async t => {
    const recorder = await recordStatements(t, await database.make(t))
    const { sandbox, lab } = await buildTestLab(t, { databaseUrl: recorder.databaseUrl })
    const statements = await during(recorder, async () => {
      await useLab(lab)
      await doEverything(sandbox)
    })
    const asked = [...new Set(statements)].filter(statement =>
      /^\s*(select|insert|update|delete|with)/i.test(statement),
    )
    t.ok(asked.length > 20, `${asked.length} statements`)
    for (const statement of asked) {
      const scans = await recorder.findScans(statement)
      // A statement may read all rows of these three: sandbox_schema has one row, keys has few rows, and an inner query
      // limits `portion`.
      t.strictSame(
        scans.filter(scan => !/\b(sandbox_schema|keys|portion)\b/.test(scan)),
        [],
        statement,
      )
    }
  })
}

async function doEverything(sandbox: TestSandbox): Promise<void> {
  const { call, groupId, userId } = await callAsDeveloper(sandbox)
  const created = await call('POST', '/apps/v1', makeCreateBody(groupId))
  const url = `/apps/v1/${created.json()['@id']}`
  await call('GET', '/apps/v1')
  await call('GET', url)
  await call('PUT', url, { name: 'New', redirectUris: 'https://new.example.test/' })
  await call('POST', `${url}/refreshSecret`)
  await call('DELETE', url)
  await call('POST', '/apps/v1', makeCreateBody(groupId))
  const newGroup = { context: contexts.Group, type: 'Group', data: { name: 'New' } }
  const group = await call('POST', '/identities/v1', newGroup)
  t.equal(group.statusCode, 201)
  await useLinks(sandbox)
  await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)
  const code = (await logIn(sandbox)).get('code') ?? ''
  const { refresh_token: refreshToken } = (await exchange(sandbox, { code })).json()
  await exchange(sandbox, { code, client_secret: 'wrong' })
  await refresh(sandbox, refreshToken)
  await refresh(sandbox, refreshToken)
  await exchange(sandbox, { code })
  await useAccount(sandbox)
  await sandbox.portal.inject('/.well-known/jwks.json')
  await sandbox.portal.inject('/health/ready')
  await sweep(sandbox.store, sandbox.now())
}

async function useLab(lab: CallLab): Promise<void> {
  const { person, clientId } = (
    await lab('POST', 'applications', { redirectUri: 'https://a.test/', suite: 'a' })
  ).json()
  const { userId } = person
  await lab('POST', 'groups', { members: [userId] })
  await lab('PUT', `applications/${clientId}/lifetimes`, {})
  const { accessToken, refreshToken } = (await lab('POST', 'sign-in', { userId, clientId })).json()
  const values = { 'access-token': accessToken, 'refresh-token': refreshToken, code: 'none', 'portal-session': 'none' }
  for (const [what, value] of Object.entries(values)) {
    await lab('POST', 'expire', { what, value })
    t.equal((await lab('POST', 'expire', { what, email: person.email })).statusCode, 200)
  }
  t.equal((await lab('POST', 'reset', { suite: 'a' })).statusCode, 200)
}

async function useLinks(sandbox: TestSandbox): Promise<void> {
  const { maker, friend, groupId } = await openTwo(sandbox)
  for (const caller of [maker, friend]) t.equal((await link(caller, friend.userId, groupId)).statusCode, 201)
  t.equal((await unlink(maker, friend.userId, groupId)).statusCode, 204)
  t.equal((await unlink(maker, maker.userId, groupId)).statusCode, 204)
}

async function useAccount(sandbox: TestSandbox): Promise<void> {
  const browser = await openAsDeveloper(sandbox)
  for (const path of ['/account', '/account/groups', '/account/token', '/account/applications']) await browser.get(path)
  for (const action of ['/account/groups', '/account/token'])
    await submitForm(browser, await browser.get(action), action, { name: 'New' })
  await submitForm(browser, await askToWithdraw(browser), '/account/applications')
  const made = await browser.get('/account/applications')
  t.equal((await submitForm(browser, made, '/account/applications/renew')).statusCode, 200)
  const question = /href="(\/account\/applications\/remove[^"]+)"/.exec(made.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const asked = await browser.get(question)
  t.equal((await submitForm(browser, asked, '/account/applications/remove')).statusCode, 303)
  await submitForm(browser, await browser.get('/account'), '/sign-out')
  const other = await openAsDeveloper(sandbox)
  await submitForm(other, await other.get('/account/sign-out-everywhere'), '/account')
}
