import t from 'tap'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { type ApiCaller, callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'
const newMember = { context: 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/', type: 'MemberOf' }

function makeGroupBody(name: unknown = 'Weather people') {
  return { context: 'https://standards.oftrust.net/v2/Context/Identity/Group/', type: 'Group', data: { name } }
}

async function createGroup({ call }: ApiCaller): Promise<string> {
  return (await call('POST', '/identities/v1', makeGroupBody())).json()['@id']
}

for (const database of await openDatabases(t)) {
  t.test(`whoever creates a group is its member, and makes others members (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const developer = await callAsDeveloper(sandbox)
    const friend = await callAsStranger(sandbox)
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

    const added = await developer.call('POST', `/identities/v1/${friend.userId}/link/${groupId}`, newMember)
    t.equal(added.statusCode, 201)
    const link = {
      '@context': 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/',
      '@type': 'MemberOf',
      '@id': added.json()['@id'],
      from: friend.userId,
      to: groupId,
      data: {},
      metadata,
    }
    t.match(link['@id'], uuid)
    t.strictSame(added.json(), link)

    const links = await friend.call('GET', `/identities/v1/${friend.userId}/links?type=MemberOf`)
    t.strictSame(links.json(), { '@context': 'https://schema.org/', '@type': 'collection', ItemList: [link] })
    const own = await developer.call('GET', `/identities/v1/${developer.userId}/links?type=MemberOf`)
    t.equal(own.json().ItemList.length, 2)
    t.match(own.json().ItemList[1], { from: developer.userId, to: groupId })

    const made = await friend.call('POST', '/apps/v1', makeCreateBody(groupId))
    t.equal(made.statusCode, 201, 'a member creates applications')
    const { statusCode } = await developer.call('DELETE', `/apps/v1/${made.json()['@id']}`)
    t.equal(statusCode, 204, 'and the other members are their developers')
  })

  t.test(`only the creator and members add to a group, and everybody once (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const developer = await callAsDeveloper(sandbox)
    const stranger = await callAsStranger(sandbox)
    const groupId = await createGroup(developer)
    const add = ({ call }: ApiCaller, userId: string, toGroup = groupId) =>
      call('POST', `/identities/v1/${userId}/link/${toGroup}`, newMember)

    const refused = await add(stranger, stranger.userId)
    t.strictSame(refused.json(), { error: { status: 403, message: 'Permission denied' } }, 'nobody lets themselves in')
    t.strictSame((await add(stranger, unknownId)).json(), refused.json(), 'nor learns who has an account')
    t.strictSame((await add(developer, unknownId)).json(), {
      error: { status: 404, message: 'From identity not found.' },
    })
    for (const id of [unknownId, '%00', "'--", 'x'.repeat(65), '..%2f..%2fapps'])
      t.strictSame((await add(developer, stranger.userId, id)).json(), {
        error: { status: 404, message: 'To identity not found.' },
      })
    for (const id of ['%00', "'--", 'x'.repeat(65)])
      t.strictSame((await add(developer, id)).json(), { error: { status: 404, message: 'From identity not found.' } })

    const answers = await Promise.all(Array.from({ length: 4 }, () => add(developer, stranger.userId)))
    t.strictSame(answers.map(answer => answer.statusCode).sort(), [201, 409, 409, 409])
    const again = await add(developer, stranger.userId)
    t.match(again.json(), { error: { status: 409, message: String } })
    t.equal((await add(stranger, developer.userId)).statusCode, 409, 'who is a member may ask')

    await sandbox.store.write(db =>
      db.deleteFrom('memberships').where('user_id', '=', developer.userId).where('group_id', '=', groupId).execute(),
    )
    t.equal((await add(developer, developer.userId)).statusCode, 201, 'the creator may, also when no member')
  })
}

t.test('every bad field of a new group or member is named in one 422', async t => {
  const developer = await callAsDeveloper(await buildTestSandbox(t))
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

t.test('links are listed of the caller alone, and of one type', async t => {
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

t.test('groups need a token, too', async t => {
  const { api } = await buildTestSandbox(t)
  for (const [method, url] of [
    ['POST', '/identities/v1'],
    ['POST', `/identities/v1/${unknownId}/link/${unknownId}`],
    ['GET', `/identities/v1/${unknownId}/links?type=MemberOf`],
  ] as const) {
    const answer = await api.inject({ method, url })
    t.strictSame(answer.json(), { error: { status: 401, message: 'Unauthorized' } }, `${method} ${url}`)
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="application API"')
  }
})
