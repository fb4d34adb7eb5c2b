// Tests the calls that create, list and get applications: the answers, the fields that they refuse, and who can use
// them.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt } from 'jose'
import t from 'tap'
import { createGroup } from '../../../src/sandbox/store/groups.ts'
import { addMember } from '../../../src/sandbox/store/memberships.ts'
import { createUser } from '../../../src/sandbox/store/users.ts'
import { exchange, openBrowser, signIn } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, forbiddenFields, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const missing = 'Missing data for required field.'

/** Makes a group that belongs to another user. If `member` is a user id, the function adds this user to the group. */
async function makeForeignGroup({ store, now }: TestSandbox, member?: string): Promise<string> {
  return store.transaction(async db => {
    const other = { email: `${now().getTime()}@example.test`, firstName: 'O', lastName: 'T', passwordHash: '' }
    const userId = (await createUser(db, other, now())) ?? ''
    const { id } = await createGroup(db, 'Others', userId, now())
    if (member) await addMember(db, { id: randomUUID(), groupId: id, userId: member, addedBy: userId, now: now() })
    return id
  })
}

for (const database of await openDatabases(t)) {
  t.test(
    `api-create: the answer to the Create call contains the application, its client with the secret, and two tokens (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId, userId } = await callAsDeveloper(sandbox)
      const answer = await call('POST', '/apps/v1', makeCreateBody(groupId))
      t.equal(answer.statusCode, 201)
      const created = answer.json()
      const id = created['@id']
      t.match(id, uuid)
      const by = { createdAt: '2026-03-01T12:00:00.000+00:00', createdBy: userId }
      const metadata = { ...by, updatedAt: by.createdAt, updatedBy: userId }
      const app = {
        '@context': 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
        '@type': 'App',
        '@id': id,
        data: {
          name: 'Weather',
          description: 'Shows the weather.',
          privacyPolicyUrl: 'https://weather.example.test/privacy',
          webPageUrl: 'https://weather.example.test/',
          iconUrl: 'https://weather.example.test/icon.png',
        },
        metadata,
        inLinks: [
          {
            '@context': 'https://standards.oftrust.net/v2/Context/Link/Role/DeveloperOf/',
            '@type': 'DeveloperOf',
            '@id': created.inLinks[0]['@id'],
            from: groupId,
            to: id,
            data: {},
            metadata,
          },
        ],
        outLinks: [],
      }
      const client = {
        clientId: id,
        scopes: '',
        redirectUris: 'https://weather.example.test/exchangeToken,http://localhost:3000/exchangeToken',
        defaultScopes: '',
        defaultRedirectUri: 'http://localhost:3000/exchangeToken',
      }
      const { tokens, client: createdClient, ...rest } = created
      t.strictSame(rest, app)
      t.match(createdClient.clientSecrets, [/^[\w-]{43}$/])
      t.strictSame({ ...createdClient, clientSecrets: undefined }, { ...client, clientSecrets: undefined })
      t.equal(tokens.length, 2)
      t.not(tokens[0].id, tokens[1].id)
      for (const token of tokens) {
        t.strictSame(Object.keys(token).sort(), ['access_token', 'expires_in', 'id', 'token', 'token_type'])
        t.match(token, { id: uuid, expires_in: 63072000, token_type: 'Bearer', access_token: token.token })
        t.match(decodeJwt(token.token), { iss: portalUrl, sub: userId, aud: id, type: 'App', jti: token.id })
      }

      const read = await call('GET', `/apps/v1/${id}`)
      t.strictSame(read.json(), { ...app, client }, 'SE-01: the answer to GET must contain no secret')
      t.equal(
        read.headers['client-secrets-created'],
        app.metadata.createdAt,
        'the answer must say when the secret was made',
      )
      const list = (await call('GET', '/apps/v1')).json()
      t.strictSame(Object.keys(list), ['@context', '@type', 'ItemList'])
      t.match(list, { '@context': 'https://schema.org/', '@type': 'collection' })
      t.strictSame(
        list.ItemList.find((item: { '@id': string }) => item['@id'] === id),
        app,
      )

      const secret = createdClient.clientSecrets[0]
      const tried = await exchange(sandbox, { client_id: id, client_secret: secret, code: 'x'.repeat(30) })
      t.match(tried.json(), { error: 'invalid_grant' }, 'the portal must accept the secret immediately')
    },
  )

  t.test(
    `AP-17: the API returns a name exactly as it was sent, whatever characters it contains (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      for (const name of ["'); DROP TABLE users; --", '100 %_\\', '😀𝒳é', '<script>', 'a\nb\tc', '"{}[]']) {
        const created = await call('POST', '/apps/v1', makeCreateBody(groupId, { name }))
        t.equal((await call('GET', `/apps/v1/${created.json()['@id']}`)).json().data.name, name)
      }
      t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'a\0b' }))).statusCode, 422)
    },
  )
}

t.test(
  'api-envelope: the Create call accepts the fields without the envelope, and defaultRedirectUri may be left out',
  async t => {
    const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
    const { defaultRedirectUri, ...flat } = makeCreateBody(groupId).data
    const answer = await call('POST', '/apps/v1', flat)
    t.equal(answer.statusCode, 201)
    t.equal(answer.json().client.defaultRedirectUri, 'https://weather.example.test/exchangeToken')
  },
)

t.test('api-envelope: the type of an envelope must be App, and its context can be any absolute URL', async t => {
  const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
  const good = makeCreateBody(groupId)
  const create = async (envelope: object) => {
    const { data } = good
    return (await call('POST', '/apps/v1', { ...envelope, data })).json()
  }
  const context = 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/'
  const type = 'App'
  for (const other of [context, 'urn:example:app', 'http://a.test'])
    t.match(await create({ context: other, type }), { '@type': 'App' }, other)
  const refused: [object, object][] = [
    [{}, { context: [missing], type: [missing] }],
    [{ context, type: 'Group' }, { type: ['Must be one of: App.'] }],
    [{ context, type: 5 }, { type: ['Must be one of: App.'] }],
    [{ context: 'App', type }, { context: ['Not a valid URL.'] }],
    [{ context: 7, type }, { context: ['Not a valid URL.'] }],
    [{ context: `urn:${'a'.repeat(2048)}`, type }, { context: ['Not a valid URL.'] }],
  ]
  for (const [envelope, message] of refused)
    t.strictSame(await create(envelope), { error: { status: 422, message } }, JSON.stringify(envelope).slice(0, 80))
  const { id } = (await create({ context, type })).client
  const update = { name: 'n', redirectUris: 'https://a.example.test/cb' }
  const answer = await call('PUT', `/apps/v1/${id ?? seeded.clientId}`, { context, type: 'Group', data: update })
  t.strictSame(answer.json(), { error: { status: 422, message: { type: ['Must be one of: App.'] } } })
})

t.test('api-fields, api-errors: if several fields are missing, one 422 answer names all of them', async t => {
  const { call } = await callAsDeveloper(await buildTestSandbox(t))
  const envelope = { context: 'https://a.test/', type: 'App' }
  for (const body of [{}, { ...envelope, data: {} }, envelope]) {
    const answer = await call('POST', '/apps/v1', body)
    t.equal(answer.statusCode, 422)
    t.strictSame(answer.json(), {
      error: {
        status: 422,
        message: {
          groupId: [missing],
          name: [missing],
          description: [missing],
          webPageUrl: [missing],
          iconUrl: [missing],
          privacyPolicyUrl: [missing],
          redirectUris: [missing],
          scopes: [missing],
          defaultScopes: [missing],
        },
      },
    })
  }
})

t.test('AP-07: the API refuses field values of a wrong type, and does not convert them', async t => {
  const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
  const bad = {
    name: ['a'],
    description: null,
    redirectUris: { a: 1 },
    groupId: { $ne: null },
    scopes: 5,
    defaultScopes: false,
    defaultRedirectUri: [],
  }
  const answer = await call('POST', '/apps/v1', makeCreateBody(groupId, bad))
  t.equal(answer.statusCode, 422)
  t.strictSame(Object.keys(answer.json().error.message).sort(), Object.keys(bad).sort())
  for (const body of [[], 'text', 5, null]) t.equal((await call('POST', '/apps/v1', body)).statusCode, 422)
  t.strictSame((await call('POST', '/apps/v1', { data: [] })).json().error.message.data, ['Invalid input type.'])
})

t.test('AP-08: the API refuses to register an unsafe redirect URI', async t => {
  const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
  const refused = [
    'javascript:alert(1)',
    'https://user:password@a.test/cb',
    'https://a.test/cb#a',
    '//a.test/cb',
    '/cb',
    'https://*.a.test/cb',
    `https://a.test/${'p'.repeat(3000)}`,
    'https://exämple.test/cb',
    'http://example.com/cb',
    'http://127.0.0.1.evil.test/cb',
    'https:a.test/cb',
    'https://a.test\\@b.test/cb',
    ',',
    '',
  ]
  for (const redirectUris of refused) {
    const answer = await call(
      'POST',
      '/apps/v1',
      makeCreateBody(groupId, { redirectUris, defaultRedirectUri: undefined }),
    )
    t.equal(answer.statusCode, 422, redirectUris.slice(0, 60))
    t.ok(answer.json().error.message.redirectUris, redirectUris.slice(0, 60))
  }
  for (const redirectUris of [
    'http://127.8.9.1:5/cb',
    'http://[::1]/cb',
    'https://a.test/cb?x=1',
    'http://localhost/cb',
  ])
    t.equal(
      (await call('POST', '/apps/v1', makeCreateBody(groupId, { redirectUris, defaultRedirectUri: undefined })))
        .statusCode,
      201,
      redirectUris,
    )
  const stranger = await call('POST', '/apps/v1', makeCreateBody(groupId, { defaultRedirectUri: 'https://b.test/cb' }))
  t.match(stranger.json().error.message, { defaultRedirectUri: ['Must be one of redirectUris.'] })
  for (const redirectUris of [undefined, '', ',', 5]) {
    const both = await call('POST', '/apps/v1', makeCreateBody(groupId, { redirectUris, defaultRedirectUri: 'x' }))
    t.strictSame(Object.keys(both.json().error.message).sort(), ['defaultRedirectUri', 'redirectUris'])
    const one = await call('POST', '/apps/v1', makeCreateBody(groupId, { redirectUris }))
    t.strictSame(Object.keys(one.json().error.message), ['redirectUris'], 'the answer must not name correct fields')
  }
})

t.test(
  'AP-09: the web page, icon and privacy policy URLs of an application must be http, https or empty, and must not exceed a maximum length',
  async t => {
    const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
    for (const url of [
      'file:///etc/passwd',
      'data:text/html,x',
      'javascript:alert(1)',
      'x',
      `https://a.test/${'p'.repeat(2048)}`,
    ]) {
      const fields = { webPageUrl: url, iconUrl: url, privacyPolicyUrl: url }
      const answer = await call('POST', '/apps/v1', makeCreateBody(groupId, fields))
      t.equal(answer.statusCode, 422, url.slice(0, 40))
      t.strictSame(Object.keys(answer.json().error.message).sort(), Object.keys(fields).sort(), url.slice(0, 40))
    }
    const statusOf = async (fields: object) =>
      (await call('POST', '/apps/v1', makeCreateBody(groupId, fields as Record<string, unknown>))).statusCode
    t.equal(await statusOf({ webPageUrl: '', iconUrl: '', privacyPolicyUrl: '', description: '' }), 201)
    t.equal(await statusOf({ name: '' }), 422)
    t.equal(await statusOf({ name: '😀'.repeat(200) }), 201)
    t.equal(await statusOf({ name: 'n'.repeat(201) }), 422)
    t.equal(await statusOf({ description: 'd'.repeat(2000) }), 201)
    t.equal(await statusOf({ description: 'd'.repeat(2001) }), 422)
  },
)

t.test('AP-09: neither the API nor the portal sends a request to any URL in the fields of an application', async t => {
  const sandbox = await buildTestSandbox(t)
  const hits: string[] = []
  const server = createServer((request, response) => {
    hits.push(request.url ?? '')
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { call, groupId } = await callAsDeveloper(sandbox)
  const addresses = { webPageUrl: url, iconUrl: url, privacyPolicyUrl: url, redirectUris: url, defaultRedirectUri: url }
  const { '@id': id } = (await call('POST', '/apps/v1', makeCreateBody(groupId, addresses))).json()
  await call('PUT', `/apps/v1/${id}`, { name: 'Weather', ...addresses })
  await call('GET', `/apps/v1/${id}`)
  const consent = await signIn(openBrowser(sandbox), { client_id: id, redirect_uri: url, cancel_url: url })
  t.match(consent.body, url, 'the consent page must show the addresses')
  t.strictSame(hits, [])
})

t.test('AP-05: a caller can create an application only in their own groups', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, userId } = await callAsDeveloper(sandbox)
  const foreign = await call('POST', '/apps/v1', makeCreateBody(await makeForeignGroup(sandbox)))
  t.equal(foreign.statusCode, 403)
  t.strictSame(foreign.json(), {
    error: { status: 403, message: 'Could not create App. User is not a member of the group.' },
  })
  for (const groupId of ['8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1', userId, seeded.clientId, "' or 1=1 --"]) {
    const unknown = await call('POST', '/apps/v1', makeCreateBody(groupId))
    t.strictSame(unknown.json(), { error: { status: 404, message: 'Group not found.' } }, groupId)
  }
  t.equal((await call('GET', '/apps/v1')).json().ItemList.length, 1, 'the refused calls must not create an application')
})

t.test(
  'AP-04, AP-13: an application of another group is not listed, and a request for it gets the same answer as a request for an unknown application',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { call, groupId } = await callAsDeveloper(sandbox)
    const { '@id': id } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
    const foreignGroup = await makeForeignGroup(sandbox)
    await sandbox.store.write(db =>
      db.updateTable('applications').set({ group_id: foreignGroup }).where('id', '=', id).execute(),
    )
    const notFound = { error: { status: 404, message: 'App not found.' } }
    for (const appId of [id, '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1', "'--", '%00', '..%2f..%2fapps']) {
      const answer = await call('GET', `/apps/v1/${appId}`)
      t.equal(answer.statusCode, 404, appId)
      t.strictSame(answer.json(), notFound)
    }
    t.strictSame(
      (await call('GET', '/apps/v1')).json().ItemList.map((app: { '@id': string }) => app['@id']),
      [seeded.clientId],
    )
  },
)

t.test('api-developers: every member of a group is a developer of its applications', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, userId } = await callAsDeveloper(sandbox)
  sandbox.passTime(1000)
  const groupId = await makeForeignGroup(sandbox, userId)
  const { '@id': id } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
  t.equal((await call('GET', `/apps/v1/${id}`)).statusCode, 200)
  const links = await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)
  t.equal(links.json().ItemList.length, 2)
  t.match(links.json().ItemList[1], { '@type': 'MemberOf', from: userId, to: groupId, data: {} })
})

t.test(
  'AP-06, AP-19: if a caller sends fields that only the API may set, the Create call ignores these fields',
  async t => {
    const { call, groupId, userId } = await callAsDeveloper(await buildTestSandbox(t))
    const answer = await call('POST', '/apps/v1', { ...makeCreateBody(groupId, forbiddenFields), ...forbiddenFields })
    t.equal(answer.statusCode, 201)
    t.equal(answer.json().metadata.createdBy, userId)
    const stored = await call('GET', `/apps/v1/${answer.json()['@id']}`)
    for (const { body } of [answer, stored]) t.notMatch(body, /mine|1999/)
  },
)

const deepList = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

t.test('AP-10, AP-12, DO-01, DO-04: the API refuses a body that is not JSON, is too large, or is hostile', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken, groupId } = await callAsDeveloper(sandbox)
  const send = (payload: string, type = 'application/json') =>
    sandbox.api.inject({
      method: 'POST',
      url: '/apps/v1',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': type },
      payload,
    })
  const cases: [string, string, number][] = [
    ['{', 'application/json', 400],
    ['{} trailing', 'application/json', 400],
    ['', 'application/json', 400],
    ['{"__proto__":{"a":1}}', 'application/json', 400],
    ['{"constructor":{"prototype":{"a":1}}}', 'application/json', 400],
    ['['.repeat(60_000), 'application/json', 400],
    ['[]', 'text/plain', 415],
    ['a=1', 'application/x-www-form-urlencoded', 415],
    ['--x', 'multipart/form-data; boundary=x', 415],
    [`"${'x'.repeat(65 * 1024)}"`, 'application/json', 413],
  ]
  for (const [payload, type, statusCode] of cases) {
    const answer = await send(payload, type)
    t.equal(answer.statusCode, statusCode, `${type} ${payload.slice(0, 40)}`)
    t.match(answer.json(), { error: { status: statusCode, message: String } })
  }
  // The API ignores unknown fields, so only the depth of the nesting can make this body invalid.
  const nested = (depth: number) =>
    send(JSON.stringify(makeCreateBody(groupId, { other: 1 })).replace('"other":1', `"other":${deepList(depth)}`))
  t.equal((await nested(10)).statusCode, 201)
  for (const depth of [20, 30_000])
    t.match((await nested(depth)).json(), { error: { status: 400, message: /too deeply/ } })
})

t.test('AP-20: a request with an unknown path or method gets an error in the API’s format', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call } = await callAsDeveloper(sandbox)
  t.strictSame((await call('GET', '/apps/v2')).json(), { error: { status: 404, message: 'Not Found' } })
  t.strictSame((await call('PUT', '/apps/v1')).json(), { error: { status: 405, message: 'Method Not Allowed' } })
  t.equal((await call('GET', '/apps/v1/%E0%A4%A')).statusCode, 400)
  t.equal((await call('GET', `/apps/v1/${'a'.repeat(101)}`)).statusCode, 414)
  t.match((await call('GET', `/apps/v1/${'a'.repeat(101)}`)).json(), { error: { status: 414, message: String } })
})
