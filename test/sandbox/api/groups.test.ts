// Tests the calls that make a group and list the groups of the caller.
import t from 'tap'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, callFromPortal } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { openAsDeveloper } from '../support/forms.ts'
import { createGroup, link, listLinks, makeGroupBody, newMember, openTwo } from '../support/group-calls.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'

for (const database of await openDatabases(t)) {
  t.test(
    `groups-create: the user who makes a group becomes a member, and the user’s list of groups shows the group (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const developer = await callAsDeveloper(sandbox)
      sandbox.passTime(1000)
      const metadata = {
        createdAt: '2026-03-01T12:00:01.000+00:00',
        createdBy: developer.userId,
        updatedAt: '2026-03-01T12:00:01.000+00:00',
        updatedBy: developer.userId,
      }
      const created = await developer.call('POST', '/identities/v1', makeGroupBody())
      t.equal(created.statusCode, 201)
      const groupId = created.json()['@id']
      t.match(groupId, uuid)
      t.strictSame(created.json(), {
        '@context': 'https://standards.oftrust.net/v2/Context/Identity/Group/',
        '@type': 'Group',
        '@id': groupId,
        data: { name: 'Weather people' },
        metadata,
      })
      const links = await developer.call('GET', `/identities/v1/${developer.userId}/links?type=MemberOf`)
      const [seeded, own] = links.json().ItemList
      t.strictSame(links.json(), {
        '@context': 'https://schema.org/',
        '@type': 'collection',
        ItemList: [
          seeded,
          {
            '@context': 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/',
            '@type': 'MemberOf',
            '@id': own['@id'],
            from: developer.userId,
            to: groupId,
            data: { name: 'Weather people', status: 'maker' },
            metadata,
          },
        ],
      })
      t.match(own['@id'], uuid)
    },
  )

  t.test(
    `groups-list: the list begins with the groups that the user made, even if the user joined other groups earlier (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      await link(maker, friend.userId, groupId)
      t.equal((await link(friend, friend.userId, groupId)).statusCode, 201)
      sandbox.passTime(1000)
      const first = await createGroup(friend, 'First')
      sandbox.passTime(1000)
      const later = await createGroup(friend, 'Later')
      t.strictSame(
        (await listLinks(friend)).map(({ to, data }) => [to, data]),
        [
          [first, { name: 'First', status: 'maker' }],
          [later, { name: 'Later', status: 'maker' }],
          [groupId, { name: 'Weather people', status: 'member' }],
        ],
      )
    },
  )
}

t.test('if several fields of a new group or member are wrong, one 422 answer names all of them', async t => {
  const sandbox = await buildTestSandbox(t)
  const developer = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
  const missing = 'Missing data for required field.'
  const groupId = await createGroup(developer)
  const cases: [unknown, object][] = [
    [{}, { context: [missing], type: [missing], name: [missing] }],
    [{ name: 'flat' }, { context: [missing], type: [missing] }],
    [{ ...makeGroupBody(), type: 'App' }, { type: ['Must be one of: Group.'] }],
    [{ ...makeGroupBody(), type: 5 }, { type: ['Must be one of: Group.'] }],
    [{ ...makeGroupBody(), context: 'no address' }, { context: ['Not a valid URL.'] }],
    [{ ...makeGroupBody(), context: `https://${'a'.repeat(2040)}.test` }, { context: ['Not a valid URL.'] }],
    [
      { ...makeGroupBody(), data: 'x' },
      { data: ['Invalid input type.'], name: [missing] },
    ],
    [makeGroupBody(''), { name: ['Shorter than minimum length 1.'] }],
    [makeGroupBody('n'.repeat(201)), { name: ['Longer than maximum length 200.'] }],
    [makeGroupBody(['a']), { name: ['Not a valid string.'] }],
    [makeGroupBody('a\0b'), { name: ['Not a valid string.'] }],
    [makeGroupBody(' \t\u2003'), { name: ['Enter a name for the group.'] }],
    [makeGroupBody('a\nb\u0007'), { name: ['Use only letters, numbers, spaces and symbols.'] }],
  ]
  for (const [body, message] of cases)
    t.strictSame((await developer.call('POST', '/identities/v1', body)).json(), { error: { status: 422, message } })
  t.equal((await developer.call('POST', '/identities/v1', makeGroupBody('😀'.repeat(200)))).statusCode, 201)

  const path = `/identities/v1/${developer.userId}/link/${groupId}`
  t.strictSame((await developer.call('POST', path, {})).json().error.message, { context: [missing], type: [missing] })
  t.strictSame((await developer.call('POST', path, { ...newMember, type: 'DeveloperOf' })).json().error.message, {
    type: ['Must be one of: MemberOf.'],
  })
  t.equal((await developer.call('POST', path)).statusCode, 400, 'no body')
  t.equal((await developer.call('POST', '/identities/v1')).statusCode, 400, 'no body')
})

t.test('groups-list: callers can list only their own memberships, and must send type=MemberOf', async t => {
  const sandbox = await buildTestSandbox(t)
  const developer = await callAsDeveloper(sandbox)
  const stranger = await callAsStranger(sandbox)
  const path = (userId: string, query = '?type=MemberOf') => `/identities/v1/${userId}/links${query}`
  for (const id of [stranger.userId, unknownId, '%00'])
    t.equal((await developer.call('GET', path(id))).statusCode, 404, id)
  for (const query of ['', '?type=', '?type=DeveloperOf', '?type=MemberOf&type=MemberOf'])
    t.strictSame((await developer.call('GET', path(developer.userId, query))).json(), {
      error: { status: 422, message: { type: ['Must be one of: MemberOf.'] } },
    })
  t.strictSame((await stranger.call('GET', path(stranger.userId))).json().ItemList, [])
})

t.test('every API call for groups needs a token', async t => {
  const { api } = await buildTestSandbox(t)
  for (const [method, url] of [
    ['POST', '/identities/v1'],
    ['POST', `/identities/v1/${unknownId}/link/${unknownId}`],
    ['DELETE', `/identities/v1/${unknownId}/link/${unknownId}`],
    ['GET', `/identities/v1/${unknownId}/links?type=MemberOf`],
  ] as const) {
    const answer = await api.inject({ method, url })
    t.strictSame(answer.json(), { error: { status: 401, message: 'Unauthorized' } }, `${method} ${url}`)
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="application API"')
  }
})
