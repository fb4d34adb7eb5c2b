// Tests the call that updates an application: which fields it requires, changes and ignores.
import t from 'tap'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, forbiddenFields, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const context = 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/'
const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'
const notFound = { error: { status: 404, message: 'App not found.' } }
const denied = { error: { status: 403, message: 'Permission denied' } }

/** Creates an application with every field. Returns the application, and a function that updates it. */
async function createOne(sandbox: TestSandbox) {
  const developer = await callAsDeveloper(sandbox)
  const created = (await developer.call('POST', '/apps/v1', makeCreateBody(developer.groupId))).json()
  const id: string = created['@id']
  return { ...developer, created, id, update: (body: unknown) => developer.call('PUT', `/apps/v1/${id}`, body) }
}

for (const database of await openDatabases(t)) {
  t.test(
    `api-update: the answer to the Update call contains the application and its client with the new values (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { created, id, groupId, userId, update, call } = await createOne(sandbox)
      sandbox.passTime(60_000)
      const data = {
        name: 'Weather 2',
        description: '',
        webPageUrl: '',
        iconUrl: 'https://new.example.test/icon.png',
        privacyPolicyUrl: 'https://new.example.test/privacy',
        redirectUris: 'https://new.example.test/cb, https://weather.example.test/exchangeToken',
        defaultRedirectUri: 'https://weather.example.test/exchangeToken',
        scopes: 'one two',
        defaultScopes: 'one',
      }
      const answer = await update({ context, type: 'App', data })
      t.equal(answer.statusCode, 200)
      const linkMetadata = {
        createdAt: '2026-03-01T12:00:00.000+00:00',
        createdBy: userId,
        updatedAt: '2026-03-01T12:00:00.000+00:00',
        updatedBy: userId,
      }
      t.strictSame(answer.json(), {
        '@context': 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
        '@type': 'App',
        '@id': id,
        data: {
          name: 'Weather 2',
          description: '',
          privacyPolicyUrl: 'https://new.example.test/privacy',
          webPageUrl: '',
          iconUrl: 'https://new.example.test/icon.png',
        },
        metadata: { ...linkMetadata, updatedAt: '2026-03-01T12:01:00.000+00:00' },
        inLinks: [
          {
            '@context': 'https://standards.oftrust.net/v2/Context/Link/Role/DeveloperOf/',
            '@type': 'DeveloperOf',
            '@id': created.inLinks[0]['@id'],
            from: groupId,
            to: id,
            data: {},
            metadata: linkMetadata,
          },
        ],
        outLinks: [],
        client: {
          clientId: id,
          scopes: 'one two',
          redirectUris: 'https://new.example.test/cb,https://weather.example.test/exchangeToken',
          defaultScopes: 'one',
          defaultRedirectUri: 'https://weather.example.test/exchangeToken',
        },
      })
      t.strictSame(
        (await call('GET', `/apps/v1/${id}`)).json(),
        answer.json(),
        'the Get call must have the same answer',
      )
    },
  )

  t.test(
    `AP-16: if two simultaneous updates change different fields of an application, both changes are stored (${database.name})`,
    async t => {
      const url = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl: url })
      const other = await buildTestSandbox(t, { databaseUrl: url })
      const { id, update, call, accessToken } = await createOne(one)
      const elsewhere = (payload: object) =>
        other.api.inject({
          method: 'PUT',
          url: `/apps/v1/${id}`,
          headers: { authorization: `Bearer ${accessToken}` },
          payload,
        })
      const needed = { name: 'Weather', redirectUris: 'https://a.example.test/cb' }
      for (let round = 0; round < 5; round += 1) {
        const [description, scopes] = [`description ${round}`, `scopes ${round}`]
        const answers = await Promise.all([update({ ...needed, description }), elsewhere({ ...needed, scopes })])
        t.strictSame(
          answers.map(answer => answer.statusCode),
          [200, 200],
        )
        t.match((await call('GET', `/apps/v1/${id}`)).json(), { data: { description }, client: { scopes } })
      }
    },
  )

  t.test(
    `AP-04: if the caller is not in the group, the Update call answers 403 before it checks the body, and changes nothing (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, id } = await createOne(sandbox)
      const before = (await call('GET', `/apps/v1/${id}`)).json()
      const stranger = await callAsStranger(sandbox)
      const good = { name: 'Mine', redirectUris: 'https://mine.example.test/cb' }
      const calls = [
        ['GET', `/apps/v1/${id}`, undefined, notFound],
        ['PUT', `/apps/v1/${id}`, good, denied],
        ['PUT', `/apps/v1/${id}`, {}, denied],
        ['POST', `/apps/v1/${id}/refreshSecret`, undefined, denied],
        [
          'DELETE',
          `/apps/v1/${id}`,
          undefined,
          { error: { status: 403, message: `Forbidden: You don't have 'manage' permission on '${id}'` } },
        ],
        ['GET', `/apps/v1/${unknownId}`, undefined, notFound],
        ['PUT', `/apps/v1/${unknownId}`, good, notFound],
        ['PUT', `/apps/v1/${unknownId}`, {}, notFound],
        ['POST', `/apps/v1/${unknownId}/refreshSecret`, undefined, notFound],
        ['DELETE', `/apps/v1/${unknownId}`, undefined, notFound],
      ] as const
      for (const [method, url, body, expected] of calls) {
        const answer = await stranger.call(method, url, body)
        t.strictSame([answer.statusCode, answer.json()], [expected.error.status, expected], `${method} ${url}`)
      }
      t.strictSame((await call('GET', `/apps/v1/${id}`)).json(), before)
      t.strictSame((await stranger.call('GET', '/apps/v1')).json().ItemList, [])
    },
  )
}

t.test(
  'api-update, api-envelope: the Update call accepts a body with or without the envelope, and keeps the values of fields that are not in the body',
  async t => {
    const { created, update } = await createOne(await buildTestSandbox(t))
    const { clientSecrets, ...client } = created.client
    const needed = { name: 'Weather', redirectUris: client.redirectUris }
    for (const body of [needed, { context, type: 'App', data: needed }]) {
      const answer = await update(body)
      t.equal(answer.statusCode, 200)
      t.strictSame([answer.json().data, answer.json().client], [created.data, client])
    }
  },
)

t.test(
  'update: a body without a default redirect URI keeps the old default if the new list contains it; otherwise the first URI of the list becomes the default',
  async t => {
    const { update } = await createOne(await buildTestSandbox(t))
    const defaultAfter = async (fields: object) =>
      (await update({ name: 'Weather', ...fields })).json().client.defaultRedirectUri
    const stays = 'http://localhost:3000/exchangeToken'
    t.equal(await defaultAfter({ redirectUris: `https://a.example.test/cb,${stays}` }), stays)
    t.equal(
      await defaultAfter({ redirectUris: 'https://b.example.test/cb,https://a.example.test/cb' }),
      'https://b.example.test/cb',
    )
    const a = 'https://a.example.test/cb'
    t.equal(await defaultAfter({ redirectUris: `https://b.example.test/cb,${a}`, defaultRedirectUri: a }), a)
  },
)

t.test(
  'api-update, api-errors: the Update call requires the fields name and redirectUris, refuses groupId, and names all bad fields in one answer',
  async t => {
    const { update, created, call, id, groupId } = await createOne(await buildTestSandbox(t))
    const missing = 'Missing data for required field.'
    const refused = async (body: unknown) => {
      const answer = await update(body)
      t.equal(answer.statusCode, 422)
      return answer.json()
    }
    for (const body of [{}, { context, type: 'App', data: {} }])
      t.strictSame(await refused(body), {
        error: { status: 422, message: { redirectUris: [missing], name: [missing] } },
      })
    const good = { name: 'Weather', redirectUris: 'https://a.example.test/cb' }
    t.strictSame(await refused({ ...good, groupId }), {
      error: { status: 422, message: { groupId: ['Unknown field.'] } },
    })
    const bad = {
      name: 5,
      description: null,
      webPageUrl: 'javascript:alert(1)',
      iconUrl: [],
      privacyPolicyUrl: {},
      redirectUris: 'http://example.com/cb',
      scopes: false,
      defaultScopes: 1,
    }
    t.strictSame(Object.keys((await refused(bad)).error.message).sort(), Object.keys(bad).sort())
    const stranger = { ...good, defaultRedirectUri: 'https://b.example.test/cb' }
    t.strictSame((await refused(stranger)).error.message, { defaultRedirectUri: ['Must be one of redirectUris.'] })
    t.strictSame((await refused([])).error.message._schema, ['Invalid input type.'])
    const { tokens, client, ...app } = created
    t.match((await call('GET', `/apps/v1/${id}`)).json(), app, 'the application must not change')
  },
)

t.test(
  'AP-06, AP-19: if a caller sends fields that only the API may set, the Update call ignores these fields',
  async t => {
    const { update, call, created, id } = await createOne(await buildTestSandbox(t))
    const answer = await update({ name: 'Weather', redirectUris: 'https://a.example.test/cb', ...forbiddenFields })
    t.equal(answer.statusCode, 200)
    t.equal(answer.json()['@id'], id)
    t.strictSame(answer.json().metadata, created.metadata)
    const stored = await call('GET', `/apps/v1/${id}`)
    for (const { body } of [answer, stored]) t.notMatch(body, /mine|1999/)
  },
)

t.test(
  'the portal accepts a redirect URI as soon as it is registered, and refuses the URI as soon as it is removed',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { call } = await callAsDeveloper(sandbox)
    const moved = 'http://localhost:3999/exchangeToken'
    const start = async (redirectUri: string) => {
      const parameters = new URLSearchParams({
        grant_type: 'authorization',
        response_type: 'code',
        client_id: seeded.clientId,
        redirect_uri: redirectUri,
        cancel_url: `${new URL(redirectUri).origin}/cancelled`,
      })
      return (await sandbox.portal.inject(`/?${parameters}`)).statusCode
    }
    t.strictSame([await start(seeded.redirectUri), await start(moved)], [200, 400])
    await call('PUT', `/apps/v1/${seeded.clientId}`, { name: 'Reference client', redirectUris: moved })
    t.strictSame([await start(seeded.redirectUri), await start(moved)], [400, 200])
  },
)
