// Tests how a person becomes a member of a group and leaves it, and which rights the person has in between.
import t from 'tap'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, callFromPortal, callWith, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { newcomer, openAsDeveloper } from '../support/forms.ts'
import { createGroup, link, listLinks, openAnother, openTwo, unlink } from '../support/group-calls.ts'

const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'
const hostileIds = ['%00', "'--", 'x'.repeat(65), '..%2f..%2fapps', '__proto__%20', '%F0%9F%90%8E']
const notFound = (message: string) => ({ error: { status: 404, message } })
const denied = { error: { status: 403, message: 'Permission denied' } }

for (const database of await openDatabases(t)) {
  t.test(
    `groups-invite: until an invited person accepts, the person has no rights in the group, and the group learns nothing about the person (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      const invited = await link(maker, friend.userId, groupId)
      t.equal(invited.statusCode, 201)
      t.match(invited.json(), { from: friend.userId, to: groupId, data: { name: 'Weather people', status: 'invited' } })
      t.notMatch(invited.body, newcomer.email)

      t.strictSame(await listLinks(friend), [], 'an invitation is not listed')
      const refused = await friend.call('POST', '/apps/v1', makeCreateBody(groupId))
      t.equal(refused.statusCode, 403)
      const { '@id': appId } = (await maker.call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      t.equal((await friend.call('GET', `/apps/v1/${appId}`)).statusCode, 404)
      t.equal((await friend.call('DELETE', `/apps/v1/${appId}`)).statusCode, 403)
      t.strictSame(
        (await link(friend, unknownId, groupId)).json(),
        denied,
        'an invited user must not be able to invite others',
      )

      sandbox.passTime(1000)
      const accepted = await link(friend, friend.userId, groupId)
      t.equal(accepted.statusCode, 201)
      t.match(accepted.json(), {
        '@id': invited.json()['@id'],
        data: { status: 'member' },
        metadata: { createdAt: '2026-03-01T12:00:01.000+00:00', createdBy: maker.userId },
      })
      t.match(await listLinks(friend), [{ '@id': invited.json()['@id'], to: groupId }])
      t.equal((await friend.call('GET', `/apps/v1/${appId}`)).statusCode, 200)
      const made = await friend.call('POST', '/apps/v1', makeCreateBody(groupId))
      t.equal(made.statusCode, 201, 'a member creates applications')
      t.equal((await maker.call('DELETE', `/apps/v1/${made.json()['@id']}`)).statusCode, 204)
    },
  )

  t.test(
    `groups-invite: users cannot add themselves to a group, and only members of the group can invite others (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      t.strictSame((await link(friend, friend.userId, groupId)).json(), denied)
      t.strictSame((await link(friend, maker.userId, groupId)).json(), denied)
      t.strictSame(
        (await link(friend, unknownId, groupId)).json(),
        denied,
        'the answer must not say whether an account exists',
      )
      t.strictSame((await unlink(friend, maker.userId, groupId)).json(), denied)
      t.strictSame((await unlink(friend, unknownId, groupId)).json(), denied)
      for (const call of [link, unlink]) {
        t.strictSame((await call(maker, unknownId, groupId)).json(), notFound('From identity not found.'))
        t.strictSame((await call(maker, friend.userId, unknownId)).json(), notFound('To identity not found.'))
      }
      t.strictSame((await unlink(maker, friend.userId, groupId)).json(), notFound('Link not found.'))
      t.strictSame((await unlink(friend, friend.userId, groupId)).json(), notFound('Link not found.'))
    },
  )

  t.test(
    `a call that invites a member, or invites a person a second time, gets a 409 answer (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      t.equal((await link(maker, friend.userId, groupId)).statusCode, 201)
      const conflict = (message: string) => ({ error: { status: 409, message } })
      t.strictSame(
        (await link(maker, friend.userId, groupId)).json(),
        conflict('The user has already been invited to the group.'),
      )
      t.equal((await link(friend, friend.userId, groupId)).statusCode, 201)
      for (const [caller, userId] of [
        [maker, friend.userId],
        [maker, maker.userId],
        [friend, friend.userId],
        [friend, maker.userId],
      ] as const)
        t.strictSame(
          (await link(caller, userId, groupId)).json(),
          conflict('The user is already a member of the group.'),
        )
    },
  )

  t.test(
    `an invitation can be ended by the invited person and by every member of the group (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      const other = await openAnother(sandbox, 'other@example.test')
      for (const side of [maker, friend]) {
        await link(maker, friend.userId, groupId)
        t.equal(
          (await unlink(other, friend.userId, groupId)).statusCode,
          403,
          'other users must not be able to end the invitation',
        )
        const ended = await unlink(side, friend.userId, groupId)
        t.equal(ended.statusCode, 204)
        t.equal(ended.body, '')
        t.strictSame(
          (await link(friend, friend.userId, groupId)).json(),
          denied,
          'an invitation that has ended cannot be accepted',
        )
      }
      await link(maker, friend.userId, groupId)
      await link(friend, friend.userId, groupId)
      await link(maker, other.userId, groupId)
      t.equal((await unlink(friend, other.userId, groupId)).statusCode, 204, 'every member can cancel an invitation')
    },
  )

  t.test(
    `groups-leave: every member can leave a group, but only the creator of the group can remove other members (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      const other = await openAnother(sandbox, 'other@example.test')
      for (const person of [friend, other]) {
        await link(maker, person.userId, groupId)
        await link(person, person.userId, groupId)
      }
      const { '@id': appId } = (await maker.call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      t.strictSame((await unlink(friend, other.userId, groupId)).json(), denied)
      t.strictSame((await unlink(friend, maker.userId, groupId)).json(), denied)
      t.equal((await unlink(maker, other.userId, groupId)).statusCode, 204)
      t.equal((await unlink(friend, friend.userId, groupId)).statusCode, 204)
      for (const person of [friend, other]) {
        t.strictSame(await listLinks(person), [])
        t.equal((await person.call('GET', `/apps/v1/${appId}`)).statusCode, 404)
        t.strictSame((await link(person, person.userId, groupId)).json(), denied, 'the old invitation no longer works')
      }
    },
  )

  t.test(
    `if the creator of a group leaves the group, the creator loses all rights in the group (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      await link(maker, friend.userId, groupId)
      await link(friend, friend.userId, groupId)
      t.equal((await unlink(maker, maker.userId, groupId)).statusCode, 204)
      for (const answer of [
        await link(maker, maker.userId, groupId),
        await link(maker, unknownId, groupId),
        await unlink(maker, friend.userId, groupId),
      ])
        t.strictSame(answer.json(), denied)
    },
  )

  t.test(
    `if a member leaves or is removed, all invitations that this member sent for the group become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, groupId } = await openTwo(sandbox)
      const other = await openAnother(sandbox, 'other@example.test')
      await link(maker, friend.userId, groupId)
      await link(friend, friend.userId, groupId)
      t.equal((await link(friend, other.userId, groupId)).statusCode, 201)
      await unlink(maker, friend.userId, groupId)
      t.strictSame((await link(other, other.userId, groupId)).json(), denied)
    },
  )

  t.test(`groups-leave: the last member cannot leave a group that has applications (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { maker, friend, groupId } = await openTwo(sandbox)
    const { '@id': appId } = (await maker.call('POST', '/apps/v1', makeCreateBody(groupId))).json()
    await link(maker, friend.userId, groupId)
    const refused = await unlink(maker, maker.userId, groupId)
    t.match(refused.json(), { error: { status: 409, message: /^You are the last member of this group/ } })
    t.equal((await maker.call('DELETE', `/apps/v1/${appId}`)).statusCode, 204)
    t.equal((await unlink(maker, maker.userId, groupId)).statusCode, 204)
    // The sweep has not deleted the removed application and its group yet. But the group has no members, and nobody can
    // join the group.
    t.strictSame((await link(friend, friend.userId, groupId)).json(), denied)
    t.equal((await maker.call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 403)

    const empty = await createGroup(maker)
    await link(maker, friend.userId, empty)
    t.equal((await unlink(maker, maker.userId, empty)).statusCode, 204)
    for (const answer of [await link(friend, friend.userId, empty), await unlink(friend, friend.userId, empty)])
      t.strictSame(answer.json(), notFound('To identity not found.'), 'a group without members does not exist')
    t.equal((await maker.call('POST', '/apps/v1', makeCreateBody(empty))).statusCode, 404)
  })

  t.test(`AP-11: a hostile user id or group id gets the same answer as an unknown id (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { maker, friend, groupId } = await openTwo(sandbox)
    for (const id of hostileIds)
      for (const call of [link, unlink]) {
        t.strictSame((await call(maker, friend.userId, id)).json(), notFound('To identity not found.'), id)
        t.strictSame((await call(maker, id, groupId)).json(), notFound('From identity not found.'), id)
      }
    for (const id of ["'; drop table groups --", '__proto__', '../../apps', ' ', groupId.toUpperCase(), `${groupId} `])
      t.strictSame((await maker.call('POST', '/apps/v1', makeCreateBody(id))).json(), notFound('Group not found.'), id)
    for (const id of ['', 'nul\0', 'x'.repeat(201), '\ud800'])
      t.match((await maker.call('POST', '/apps/v1', makeCreateBody(id))).json(), {
        error: { status: 422, message: { groupId: [String] } },
      })
    t.equal((await listLinks(maker)).length, 2, 'the links must not change')
  })
}

t.test(
  'groups-portal-token: the two calls that add or remove a member accept only tokens from the portal’s own page',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const portal = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
    const ofClient = await callAsDeveloper(sandbox)
    const stranger = await callAsStranger(sandbox)
    const groupId = await createGroup(ofClient)
    const created = (await ofClient.call('POST', '/apps/v1', makeCreateBody(groupId))).json()
    const ofApplication = await callWith(sandbox, created.tokens[0].token)
    const message = "Permission denied. Use an access token from the portal's own page."
    for (const caller of [ofClient, ofApplication])
      for (const call of [link, unlink])
        for (const userId of [stranger.userId, caller.userId, unknownId])
          t.strictSame((await call(caller, userId, groupId)).json(), { error: { status: 403, message } })
    t.equal((await link(portal, stranger.userId, groupId)).statusCode, 201)
    t.strictSame((await link(stranger, stranger.userId, groupId)).json(), { error: { status: 403, message } })
    t.equal((await unlink(portal, stranger.userId, groupId)).statusCode, 204)
    t.equal(portal.userId, ofClient.userId, 'the same person')
  },
)

t.test('the log names each change of a group that a program makes, and both users by a hash', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, friend, groupId } = await openTwo(sandbox)
  await link(maker, friend.userId, groupId)
  await unlink(friend, friend.userId, groupId)
  await link(maker, friend.userId, groupId)
  await unlink(maker, friend.userId, groupId)
  for (const caller of [maker, friend]) {
    await link(maker, friend.userId, groupId)
    await link(friend, friend.userId, groupId)
    await unlink(caller, friend.userId, groupId)
  }
  const changes = sandbox.logLines.map(line => JSON.parse(line)).filter(({ code = '' }) => /^group-/.test(code))
  const { caller: makerHash, user: friendHash } = changes.find(({ code }) => code === 'group-invited')
  t.notOk([makerHash, friendHash].includes(friend.userId))
  t.same(
    changes.map(({ code, caller, user }) => [code, caller, user]),
    [
      ['group-created', makerHash, undefined],
      ['group-invited', makerHash, friendHash],
      ['group-invitation-declined', friendHash, friendHash],
      ['group-invited', makerHash, friendHash],
      ['group-invitation-cancelled', makerHash, friendHash],
      ['group-invited', makerHash, friendHash],
      ['group-invitation-accepted', friendHash, friendHash],
      ['group-member-removed', makerHash, friendHash],
      ['group-invited', makerHash, friendHash],
      ['group-invitation-accepted', friendHash, friendHash],
      ['group-left', friendHash, friendHash],
    ],
  )
})
