// Tests the limits on groups, invitations and applications.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { contexts } from '../../../src/sandbox/values/contexts.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { type ApiCaller, callAsDeveloper, callFromPortal, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications, addGroups, addUsers } from '../support/fill-groups.ts'
import { openAsDeveloper } from '../support/forms.ts'
import { link, listLinks, makeGroupBody, openTwo, unlink } from '../support/group-calls.ts'

const tooMany = (problem: string) => ({ error: { status: 422, message: { groupId: [problem] } } })
const tooManyGroups = tooMany('A person can be in at most 20 groups. Leave a group first.')
const tooManyApplications = tooMany(
  'A group has at most 100 applications. Remove an application, or use another group.',
)
const tooManyInvitations = tooMany('A group has at most 20 open invitations. Cancel an invitation first.')
const invitedTooOften = tooMany('A person can invite the same person at most 20 times in 24 hours. Try again tomorrow.')
const tooManyBytes = tooMany(
  'The fields of all applications of a group together take at most 256 KiB as JSON. Shorten some fields, or use another group.',
)

/** Returns the size of the application's fields as JSON, in bytes. */
function sizeOf(fields: Record<string, unknown>): number {
  const { groupId, ...counted } = fields
  return Buffer.byteLength(JSON.stringify(counted))
}

/** Makes a body whose fields take exactly `size` bytes as JSON. The redirect URIs can take at most 60,000 bytes. */
function bodyOfSize(groupId: string, size: number) {
  const uri = 'https://a.example.test/'
  const empty = { description: '', webPageUrl: '', iconUrl: '', privacyPolicyUrl: '', defaultRedirectUri: uri }
  const bare = makeCreateBody(groupId, { ...empty, redirectUris: uri })
  let redirectUris = uri
  for (let index = 0; sizeOf(bare.data) - uri.length + redirectUris.length < size; index += 1) {
    const rest = size - (sizeOf(bare.data) - uri.length + redirectUris.length)
    const next = `,${uri}${index}-`
    redirectUris += next.padEnd(rest < 2 * 1000 ? rest : 1000, 'x')
  }
  return makeCreateBody(groupId, { ...empty, redirectUris })
}

async function create({ call }: ApiCaller, groupId: string, fields = {}) {
  return call('POST', '/apps/v1', makeCreateBody(groupId, fields))
}

for (const database of await openDatabases(t)) {
  t.test(`limit-groups: a person can be in at most 20 groups (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { maker, friend, groupId } = await openTwo(sandbox)
    await link(maker, friend.userId, groupId)
    const [firstOfFriend = ''] = await addGroups(sandbox, friend.userId, 19)
    const newGroup = () => friend.call('POST', '/identities/v1', makeGroupBody('One more'))
    t.equal((await newGroup()).statusCode, 201, 'the twentieth group must be created, because invitations do not count')
    t.strictSame((await newGroup()).json(), tooManyGroups)
    t.strictSame((await link(friend, friend.userId, groupId)).json(), tooManyGroups)
    t.equal((await listLinks(friend)).length, 20)
    t.equal((await unlink(friend, friend.userId, firstOfFriend)).statusCode, 204)
    t.equal((await link(friend, friend.userId, groupId)).statusCode, 201, 'the invitation must still be valid')
    t.strictSame((await newGroup()).json(), tooManyGroups)
  })

  t.test(`limit-invitations: a group can have at most 20 open invitations (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { maker, friend, groupId } = await openTwo(sandbox)
    const users = await addUsers(sandbox, 20)
    for (const userId of users) t.equal((await link(maker, userId, groupId)).statusCode, 201)
    t.strictSame((await link(maker, friend.userId, groupId)).json(), tooManyInvitations)
    t.equal(
      (await link(maker, users[0] ?? '', groupId)).statusCode,
      409,
      'inviting the same user again must get a 409 answer',
    )
    t.equal((await unlink(maker, users[0] ?? '', groupId)).statusCode, 204)
    t.equal((await link(maker, friend.userId, groupId)).statusCode, 201)
    t.equal((await link(friend, friend.userId, groupId)).statusCode, 201)
    t.equal((await link(maker, users[0] ?? '', groupId)).statusCode, 201, 'an accepted invitation must no longer count')
  })

  t.test(
    `limit-invitations: a person can invite the same person at most 20 times a day, counted over all groups (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      const [otherGroup = ''] = await addGroups(sandbox, maker.userId, 1)
      for (let time = 0; time < 20; time += 1) {
        const into = time % 2 ? groupId : otherGroup
        t.equal((await link(maker, friend.userId, into)).statusCode, 201)
        t.equal(
          (await unlink(time % 3 ? friend : maker, friend.userId, into)).statusCode,
          204,
          'declined, or cancelled',
        )
      }
      t.strictSame((await link(maker, friend.userId, otherGroup)).json(), invitedTooOften)
      const [somebodyElse = ''] = await addUsers(sandbox, 1)
      t.equal((await link(maker, somebodyElse, otherGroup)).statusCode, 201)
      sandbox.passTime(86_400_000 - 60_000)
      t.strictSame(
        (await link(maker, friend.userId, groupId)).json(),
        invitedTooOften,
        'a refused invitation must not extend the time until the next invitation',
      )
      sandbox.passTime(60_000)
      const later = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
      t.equal((await link(later, friend.userId, groupId)).statusCode, 201)
    },
  )

  t.test(`limit-applications: a group can have at most 100 applications (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const developer = await callAsDeveloper(sandbox)
    const { groupId, userId } = developer
    const [id] = await addApplications(sandbox, { groupId, userId, count: 98 })
    t.equal((await create(developer, groupId)).statusCode, 201, 'the hundredth application must be created')
    t.strictSame((await create(developer, groupId)).json(), tooManyApplications)
    const changes = { name: 'A longer name than before', redirectUris: 'https://a.example.test/' }
    t.equal(
      (await developer.call('PUT', `/apps/v1/${id}`, changes)).statusCode,
      200,
      'applications in a full group can be changed',
    )
    t.equal((await developer.call('DELETE', `/apps/v1/${id}`)).statusCode, 204)
    t.equal((await create(developer, groupId)).statusCode, 201)
    const [other = ''] = await addGroups(sandbox, userId, 1)
    t.equal((await create(developer, other)).statusCode, 201, 'another group has its own limit')
  })

  t.test(
    `limit-applications: the fields of all applications of a group together take at most 256 KiB as JSON (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const developer = await callAsDeveloper(sandbox)
      const { call, userId } = developer
      const [groupId = ''] = await addGroups(sandbox, userId, 1)
      const bodies = [60_000, 60_000, 60_000, 60_000, 256 * 1024 - 240_000].map(size => bodyOfSize(groupId, size))
      t.strictSame(
        bodies.map(({ data }) => sizeOf(data)).reduce((sum, size) => sum + size),
        256 * 1024,
      )
      const ids: string[] = []
      for (const body of bodies) {
        const answer = await call('POST', '/apps/v1', body)
        t.equal(answer.statusCode, 201)
        ids.push(answer.json()['@id'])
      }
      t.strictSame((await create(developer, groupId)).json(), tooManyBytes)

      const path = `/apps/v1/${ids.at(-1)}`
      const { name, redirectUris } = bodies.at(-1)?.data ?? { name: '', redirectUris: '' }
      const longer = { name: `${name}!`, redirectUris }
      t.strictSame(
        (await call('PUT', path, longer)).json(),
        tooManyBytes,
        'an update that makes the application larger must be refused',
      )
      t.equal((await call('GET', path)).json().data.name, name)
      t.equal(
        (await call('PUT', path, { name, redirectUris, description: '' })).statusCode,
        200,
        'an update that does not make the application larger must be accepted',
      )
      t.equal((await call('PUT', path, { name: 'Less', redirectUris })).statusCode, 200)
      t.equal((await call('PUT', path, { name, redirectUris })).statusCode, 200)
      t.strictSame((await call('PUT', path, longer)).json(), tooManyBytes)
    },
  )

  t.test(
    `for the size limit of a group, each character counts as many bytes as it takes in JSON (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const developer = await callAsDeveloper(sandbox)
      const [groupId = ''] = await addGroups(sandbox, developer.userId, 1)
      // Each of these characters takes six bytes in JSON.
      const fields = { description: '\u0001'.repeat(2000), scopes: '\u0001'.repeat(2000) }
      const statuses: number[] = []
      for (let index = 0; index < 11; index += 1) statuses.push((await create(developer, groupId, fields)).statusCode)
      t.strictSame(statuses, [...Array(10).fill(201), 422])
    },
  )

  t.test(
    `AP-13: if a caller is a member of 20 full groups, the list of applications is complete, and making the list does not block other requests (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const developer = await callAsDeveloper(sandbox)
      const { userId, groupId } = developer
      const ids: string[] = []
      const groups = [groupId, ...(await addGroups(sandbox, userId, 19))]
      for (const group of groups) {
        // Two groups get the same creation time.
        sandbox.passTime(group === groups[5] ? 0 : 1)
        const count = group === groupId ? 99 : 100
        ids.push(
          ...(await addApplications(sandbox, {
            groupId: group,
            userId,
            count,
            fields: { description: 'd'.repeat(2000) },
          })),
        )
      }
      let turns = 0
      let isListed = false
      const listing = developer.call('GET', '/apps/v1').finally(() => {
        isListed = true
      })
      while (!isListed) {
        await setImmediate()
        turns += 1
      }
      const answer = await listing
      t.ok(turns > 30, `${turns} turns`)
      const listed = answer.json().ItemList.map((item: { '@id': string }) => item['@id'])
      t.equal(listed.length, 2000)
      t.strictSame(
        new Set(listed.slice(1)),
        new Set(ids),
        'the list must have each application once, with the seeded application first',
      )
      const times = answer.json().ItemList.map((item: { metadata: { createdAt: string } }) => item.metadata.createdAt)
      t.strictSame(times, times.toSorted(), 'the oldest application must come first')
      t.ok(answer.body.length < 8 * 1024 * 1024, 'the list must be shorter than the limit of a client')
    },
  )
}

t.test('a user without applications gets an empty list of applications', async t => {
  const sandbox = await buildTestSandbox(t)
  const { friend } = await openTwo(sandbox)
  const answer = await friend.call('GET', '/apps/v1')
  t.equal(answer.body, `{"@context":"${contexts.collection}","@type":"collection","ItemList":[]}`)
})
