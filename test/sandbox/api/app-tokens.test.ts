// Tests the tokens that an application gets when it is created: what they can do, and when they become invalid.
import t from 'tap'
import { locationOf, openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callWith, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { askToWithdraw, openAsDeveloper, submitForm } from '../support/forms.ts'

const denied = { error: { status: 403, message: 'Permission denied' } }

/**
 * A client creates an application with the developer's consent. The tests check what the app access tokens of this
 * application can do, and when the tokens become invalid.
 */
async function makeThroughClient(sandbox: TestSandbox) {
  const developer = await callAsDeveloper(sandbox)
  const answer = await developer.call('POST', '/apps/v1', makeCreateBody(developer.groupId))
  const { '@id': appId, client, tokens } = answer.json()
  const callers = await Promise.all(tokens.map(({ token }: { token: string }) => callWith(sandbox, token)))
  return { developer, appId, client, callers } as {
    developer: typeof developer
    appId: string
    client: { clientId: string; clientSecrets: [string] }
    callers: Awaited<ReturnType<typeof callWith>>[]
  }
}

function me({ portal }: TestSandbox, accessToken: string) {
  return portal.inject({ url: '/api/me', headers: { authorization: `Bearer ${accessToken}` } })
}

function revoke({ portal }: TestSandbox, fields: Record<string, string>) {
  return portal.inject({
    method: 'POST',
    url: '/api/revokeToken',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(fields).toString(),
  })
}

for (const database of await openDatabases(t)) {
  t.test(
    `api-app-token: an app access token can read its own application, and can do nothing else (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { developer, appId, callers } = await makeThroughClient(sandbox)
      t.equal(
        (await developer.call('GET', '/apps/v1')).json().ItemList.length,
        2,
        'the user must still see both applications',
      )
      for (const { call, accessToken } of callers) {
        const list = await call('GET', '/apps/v1')
        t.match(list, { statusCode: 200 })
        t.strictSame(
          list.json().ItemList.map((item: { '@id': string }) => item['@id']),
          [appId],
        )
        t.match(await call('GET', `/apps/v1/${appId}`), { statusCode: 200 })
        t.match((await call('GET', `/apps/v1/${appId}`)).json(), { '@id': appId, client: { clientId: appId } })

        const changes = { name: 'Mine now', redirectUris: 'https://attacker.example.test/' }
        for (const [method, url, body] of [
          ['POST', '/apps/v1', makeCreateBody(developer.groupId)],
          ['POST', '/apps/v1', undefined],
          ['POST', '/identities/v1', { context: 'https://example.test/', type: 'Group', data: { name: 'G' } }],
          ['GET', `/identities/v1/${developer.userId}/links?type=MemberOf`],
          ...[appId, seeded.clientId, 'nobody', '%00'].flatMap(
            id =>
              [
                ['PUT', `/apps/v1/${id}`, changes],
                ['POST', `/apps/v1/${id}/refreshSecret`, undefined],
              ] as const,
          ),
          ...[seeded.clientId, 'nobody'].map(id => ['GET', `/apps/v1/${id}`] as const),
        ] as const) {
          const answer = await call(method, url, body)
          t.strictSame(answer.json(), denied, `${method} ${url}`)
          t.equal(answer.statusCode, 403)
        }
        for (const id of [appId, seeded.clientId, 'nobody'])
          t.strictSame((await call('DELETE', `/apps/v1/${id}`)).json(), {
            error: { status: 403, message: `Forbidden: You don't have 'manage' permission on '${id}'` },
          })
        const person = await me(sandbox, accessToken)
        t.equal(person.statusCode, 403)
        t.match(person.json(), { message: 'Permission denied' })
        const head = await sandbox.api.inject({
          method: 'HEAD',
          url: `/apps/v1/${seeded.clientId}`,
          headers: { authorization: `Bearer ${accessToken}` },
        })
        t.equal(head.statusCode, 403, 'HEAD must be refused like GET')
      }
      t.equal(
        (await developer.call('GET', '/apps/v1')).json().ItemList.length,
        2,
        'the refused calls must not create or remove an application',
      )
      t.equal((await developer.call('GET', `/apps/v1/${appId}`)).json().data.name, 'Weather')
      t.match(await me(sandbox, developer.accessToken), { statusCode: 200 })
    },
  )

  t.test(
    `api-app-token: only the application’s own client can revoke an app access token; the revoked token becomes invalid immediately, and the application’s other tokens stay valid (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const { developer, appId, client, callers } = await makeThroughClient(sandbox)
      const [first, second] = callers.map(caller => caller.accessToken) as [string, string]
      const accepted = async (token: string) =>
        (await (await callWith(other, token)).call('GET', '/apps/v1')).statusCode
      const own = { client_id: client.clientId, client_secret: client.clientSecrets[0] }
      const seededClient = { client_id: seeded.clientId, client_secret: seeded.clientSecret }
      for (const fields of [
        { token: first, ...seededClient },
        { token: `${first}x`, ...own },
      ])
        t.match(await revoke(sandbox, fields), { statusCode: 200, body: '' })
      t.equal(await accepted(first), 200, 'the revocations above must not make the token invalid')
      t.match(await revoke(sandbox, { token: first, ...own, client_secret: 'wrong' }), { statusCode: 401 })
      t.equal(await accepted(first), 200)
      for (const time of ['once', 'and once more'])
        t.match(await revoke(sandbox, { token: first, ...own }), { statusCode: 200, body: '' }, time)
      t.equal(await accepted(first), 401)
      t.equal((await me(other, first)).statusCode, 403)
      t.equal(await accepted(second), 200, 'the other token must stay valid')
      t.match(await developer.call('DELETE', `/apps/v1/${appId}`), { statusCode: 204 })
      t.equal(await accepted(second), 401, 'removing the application must make the token invalid')
    },
  )

  t.test(
    `if the user withdraws consent or signs out everywhere, app access tokens can still read their own application, but no other application (${database.name})`,
    async t => {
      for (const way of ['withdrawal', 'sign-out']) {
        const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
        const { developer, appId, callers } = await makeThroughClient(sandbox)
        const kept = callers[0] as (typeof callers)[0]
        const browser = await openAsDeveloper(sandbox)
        const isWithdrawal = way === 'withdrawal'
        const question = isWithdrawal ? await askToWithdraw(browser) : await browser.get('/account/sign-out-everywhere')
        const action = isWithdrawal ? '/account/applications' : '/account'
        t.match(await submitForm(browser, question, action), { statusCode: 303 })
        t.match(
          await developer.call('GET', '/apps/v1'),
          { statusCode: 401 },
          `${way}: the login’s token is no longer valid`,
        )
        t.equal((await kept.call('GET', '/apps/v1')).json().ItemList.length, 1)
        t.match(await kept.call('GET', `/apps/v1/${appId}`), { statusCode: 200 })
        for (const [method, url, body] of [
          ['GET', `/apps/v1/${seeded.clientId}`],
          ['POST', `/apps/v1/${seeded.clientId}/refreshSecret`],
          ['POST', `/apps/v1/${appId}/refreshSecret`],
          ['DELETE', `/apps/v1/${seeded.clientId}`],
          ['POST', '/apps/v1', makeCreateBody(developer.groupId)],
        ] as const)
          t.match(await kept.call(method, url, body), { statusCode: 403 }, `${way}: ${method} ${url}`)
        t.match(await me(sandbox, kept.accessToken), { statusCode: 403 })
        const again = openBrowser(sandbox)
        const page = await signIn(again)
        if (way === 'withdrawal') t.match(page.body, 'wants to sign you in')
        else t.match(locationOf(page), /code=/, 'the consent must still be valid')
      }
    },
  )
}
