// Tests what stops working when an application is removed, including requests for this application that arrive at the
// same moment.
import t from 'tap'
import { countApplicationsIn, lockApplication } from '../../../src/sandbox/store/applications.ts'
import { hasConsent } from '../../../src/sandbox/store/consents.ts'
import { sweep } from '../../../src/sandbox/store/sweep.ts'
import { exchange, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { getCode, getTokens, isAccepted, refresh } from '../support/tokens.ts'

/** Removes the application just before the next change is stored. */
function removeBeforeNextChange({ store }: TestSandbox): void {
  const { write, transaction } = store
  const removeOnce = async () => {
    Object.assign(store, { write, transaction })
    await write(db => db.updateTable('applications').set({ removed_at: 1 }).where('id', '=', seeded.clientId).execute())
  }
  store.write = statement => removeOnce().then(() => write(statement))
  store.transaction = work => removeOnce().then(() => transaction(work))
}

for (const database of await openDatabases(t)) {
  t.test(
    `AP-18: if an application is removed, its client is refused immediately, and other clients still work (${database.name})`,
    async t => {
      const url = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl: url })
      const instances = [sandbox, await buildTestSandbox(t, { databaseUrl: url })]
      const { call, groupId } = await callAsDeveloper(sandbox)
      const other = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const otherToken = other.tokens[0].token
      const tokens = await getTokens(sandbox)
      const code = await getCode(sandbox)

      const answer = await call('DELETE', `/apps/v1/${seeded.clientId}`)
      t.equal(answer.statusCode, 204)
      t.equal(answer.body, '')

      for (const instance of instances) {
        t.match(await exchange(instance, { code }), { statusCode: 401 })
        t.match(
          (await exchange(instance, { code })).json(),
          { error: 'invalid_client' },
          'the secret and the code of the client must become invalid',
        )
        t.match((await refresh(instance, tokens.refresh_token)).json(), { error: 'invalid_client' })
        t.notOk(await isAccepted(instance, tokens.access_token), 'a token of the client must become invalid')
        t.ok(await isAccepted(instance, otherToken), 'a token of another client must stay valid')
        const start = new URLSearchParams({ client_id: seeded.clientId, redirect_uri: seeded.redirectUri })
        t.equal((await instance.portal.inject(`/?${start}`)).statusCode, 400, 'the portal must not begin a login')
      }
      t.equal(
        (await call('GET', '/apps/v1')).statusCode,
        401,
        'the removed client must not be able to list applications',
      )

      const list = await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${otherToken}` } })
      t.strictSame(
        list.json().ItemList.map((app: { '@id': string }) => app['@id']),
        [other['@id']],
      )
      await sweep(sandbox.store, sandbox.now())
      for (const table of ['grants', 'consents', 'spent_refresh_tokens'] as const)
        t.strictSame(
          await sandbox.store.read.selectFrom(table).selectAll().execute(),
          [],
          `the table ${table} must be empty`,
        )
    },
  )

  t.test(
    `AP-18: if several calls remove an application, only one call succeeds, and the application’s own tokens become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const path = `/apps/v1/${created['@id']}`
      const ownTokens: string[] = created.tokens.map(({ token }: { token: string }) => token)
      for (const token of ownTokens) t.ok(await isAccepted(sandbox, token))
      const answers = await Promise.all([call('DELETE', path), call('DELETE', path), call('DELETE', path)])
      t.strictSame(answers.map(answer => answer.statusCode).sort(), [204, 404, 404])
      for (const token of ownTokens) t.notOk(await isAccepted(sandbox, token))
      const notFound = { error: { status: 404, message: 'App not found.' } }
      t.strictSame((await call('GET', path)).json(), notFound)
      t.strictSame((await call('PUT', path, {})).json(), notFound)
      t.strictSame((await call('POST', `${path}/refreshSecret`)).json(), notFound)
      t.strictSame((await call('DELETE', path)).json(), notFound)
    },
  )

  t.test(
    `AP-18: no call finds a removed application, even if the sweep has not deleted it yet (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId, userId } = await callAsDeveloper(sandbox)
      const [first, second] = await Promise.all(
        ['Snow', 'Rain'].map(
          async name => (await call('POST', '/apps/v1', makeCreateBody(groupId, { name }))).json()['@id'],
        ),
      )
      const listNames = async () =>
        (await call('GET', '/apps/v1')).json().ItemList.map((app: { data: { name: string } }) => app.data.name)
      t.strictSame((await listNames()).sort(), ['Rain', 'Reference client', 'Snow'])
      await call('DELETE', `/apps/v1/${first}`)
      t.strictSame((await listNames()).sort(), ['Rain', 'Reference client'])
      t.equal((await call('GET', `/apps/v1/${second}`)).statusCode, 200)

      const browser = openBrowser(sandbox)
      await signIn(browser)
      const readPage = async () => (await browser.get('/account/applications')).body
      t.match(await readPage(), 'Reference client')
      t.notMatch(await readPage(), 'Rain', 'the page must not list applications that an allowed client made')
      await call('DELETE', `/apps/v1/${seeded.clientId}`)
      t.notMatch(await readPage(), 'Reference client')
      t.match(await readPage(), 'Rain', 'the page must list applications that a removed client made')
      t.notOk(await hasConsent(sandbox.store.read, userId, seeded.clientId))
      t.equal(await sandbox.store.transaction(db => lockApplication(db, seeded.clientId)), undefined)
      t.match(await countApplicationsIn(sandbox.store.read, groupId), { count: 1 })
    },
  )

  t.test(
    `AP-18: immediately after the seeded application was removed, it can be seeded again (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const { call } = await callAsDeveloper(sandbox)
      const { access_token: oldToken } = await getTokens(sandbox)
      await call('DELETE', `/apps/v1/${seeded.clientId}`)
      const redirectUris = ['http://localhost:3999/exchangeToken']
      const again = await buildTestSandbox(t, { databaseUrl, redirectUris })
      t.notOk(await isAccepted(again, oldToken), 'tokens of the removed application stay invalid')
      const page = await openBrowser(again).get(
        startUrl({ redirect_uri: redirectUris[0], cancel_url: 'http://localhost:3999/cancelled' }),
      )
      t.equal(page.statusCode, 200)
    },
  )

  t.test(
    `AP-18, AZ-16: if an application is removed just before the portal stores a consent or a code for it, the portal stores neither of the two (${database.name})`,
    async t => {
      const { email, password } = seeded
      const post = ({ portal }: TestSandbox, path: string, payload: object) =>
        portal.inject({ method: 'POST', url: `/api/${path}`, payload })
      const start = Object.fromEntries(new URLSearchParams(startUrl().slice(2)))
      const sends = {
        async 'a consent'(sandbox: TestSandbox) {
          const browser = openBrowser(sandbox)
          const page = await signIn(browser)
          removeBeforeNextChange(sandbox)
          return browser.submit(page, { decision: 'allow' })
        },
        async 'a login after consent'(sandbox: TestSandbox) {
          const browser = openBrowser(sandbox)
          await browser.submit(await signIn(browser), { decision: 'allow' })
          removeBeforeNextChange(sandbox)
          return browser.get(startUrl())
        },
        async 'a script’s login'(sandbox: TestSandbox) {
          await getCode(sandbox)
          removeBeforeNextChange(sandbox)
          return post(sandbox, 'authorize', { ...start, email, password })
        },
      }
      for (const [name, send] of Object.entries(sends)) {
        const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
        const answer = await send(sandbox)
        t.equal(answer.statusCode, 400, name)
        t.match(answer.body, 'The application that sent you here is not registered')
        t.equal(answer.headers.location, undefined)
      }
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const [user] = await sandbox.store.read.selectFrom('users').select('id').execute()
      removeBeforeNextChange(sandbox)
      const fields = { userId: user?.id, clientId: seeded.clientId, email, password }
      const answer = await post(sandbox, 'authorizeApplication', fields)
      t.equal(answer.statusCode, 404)
      t.strictSame(answer.json(), { message: 'App not found.' })
    },
  )
}

t.test(
  'AP-18: if an application is removed while its consent page is open, the portal issues no code when the visitor answers the page',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { call, groupId } = await callAsDeveloper(sandbox)
    const id = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()['@id']
    const browser = openBrowser(sandbox)
    const consent = await signIn(browser, { client_id: id })
    t.match(consent.body, 'Weather')
    await call('DELETE', `/apps/v1/${id}`)
    const answer = await browser.submit(consent, { decision: 'allow' })
    t.equal(answer.statusCode, 400)
    t.equal(answer.headers.location, undefined)
  },
)

t.test('AP-18: if an application is removed, the tokens that it got from other users also become invalid', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call } = await callAsDeveloper(sandbox)
  const { accessToken } = await callAsStranger(sandbox)
  t.ok(await isAccepted(sandbox, accessToken))
  await call('DELETE', `/apps/v1/${seeded.clientId}`)
  t.notOk(await isAccepted(sandbox, accessToken))
})
