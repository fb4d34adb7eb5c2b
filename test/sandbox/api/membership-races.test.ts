// Tests simultaneous calls that compete for a limit or for a membership. The calls go to two instances of the sandbox
// with one database.
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { type ApiCaller, callWith, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addApplications, addGroups, addUsers } from '../support/fill-groups.ts'
import { createGroup, link, listLinks, makeGroupBody, openAnother, unlink } from '../support/group-calls.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'

const [sqlite, postgres] = await openDatabases(t)
const databases = [
  sqlite!,
  postgres!,
  // A delay between the statements makes races visible: the test fails if a value can change between its check and the
  // write that depends on the check.
  {
    name: 'PostgreSQL, 5 ms slower',
    make: async (t: Test) => (await startPostgresProxy(t, await postgres!.make(t), { delayMs: 5 })).url,
  },
]

/**
 * Opens two instances on one database, for all tests of the file. Each test makes its own users, who can call both
 * instances.
 */
async function openBoth(databaseUrl: string) {
  const sandbox = await buildTestSandbox(t, { databaseUrl })
  const other = await buildTestSandbox(t, { databaseUrl })
  let pairs = 0
  return async () => {
    pairs += 1
    const maker = await openAnother(sandbox, `maker-${pairs}@example.test`)
    const friend = await openAnother(sandbox, `friend-${pairs}@example.test`)
    const atBoth = async (caller: ApiCaller) =>
      [patient(caller), patient(await callWith(other, caller.accessToken))] as const
    return { sandbox, makers: await atBoth(maker), friends: await atBoth(friend), groupId: await createGroup(maker) }
  }
}

/**
 * Returns a caller that repeats a call after a 503 answer, because on a busy machine some calls wait too long for a
 * lock.
 */
function patient(caller: ApiCaller): ApiCaller {
  return {
    ...caller,
    async call(...of) {
      let answer = await caller.call(...of)
      while (answer.statusCode === 503) answer = await caller.call(...of)
      return answer
    },
  }
}

/** Sends `count` calls at the same time; the callers take turns. Returns the number of answers for each status. */
async function atOnce(
  callers: readonly ApiCaller[],
  count: number,
  call: (caller: ApiCaller, index: number) => Promise<LightMyRequestResponse>,
): Promise<Record<number, number>> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => call(callers[index % callers.length]!, index)),
  )
  return countByStatus(answers)
}

function countByStatus(answers: LightMyRequestResponse[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { statusCode } of answers) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}

// Open all databases before the first test. Otherwise tap would end this file before the later tests are defined. Open
// one database after the other, because a connection must open within a second.
const opened: { name: string; meet: Awaited<ReturnType<typeof openBoth>> }[] = []
for (const { name, make } of databases) opened.push({ name, meet: await openBoth(await make(t)) })

for (const { name, meet } of opened) {
  t.test(
    `if a group has 99 applications and 20 simultaneous requests each try to create one more, exactly one request succeeds (${name})`,
    async t => {
      const { sandbox, makers, groupId } = await meet()
      await addApplications(sandbox, { groupId, userId: makers[0].userId, count: 99 })
      const create = ({ call }: ApiCaller) => call('POST', '/apps/v1', makeCreateBody(groupId))
      t.strictSame(await atOnce(makers, 20, create), { 201: 1, 422: 19 })
    },
  )

  t.test(
    `simultaneous calls cannot exceed the limits on a user’s groups and on a group’s open invitations (${name})`,
    async t => {
      const { sandbox, makers, friends, groupId } = await meet()
      const [maker] = makers
      const { userId } = friends[0]
      await addGroups(sandbox, userId, 19)
      await link(maker, userId, groupId)
      const enter = (caller: ApiCaller, index: number) =>
        index < 2 ? link(caller, userId, groupId) : caller.call('POST', '/identities/v1', makeGroupBody())
      const entered = await atOnce(friends, 8, enter)
      t.equal(entered[201], 1, JSON.stringify(entered))
      t.equal((await listLinks(friends[0])).length, 20)

      const crowded = await createGroup(maker)
      const users = await addUsers(sandbox, 29)
      for (const id of users.slice(0, 19)) await link(maker, id, crowded)
      const invite = (caller: ApiCaller, index: number) => link(caller, users[19 + index] ?? '', crowded)
      t.strictSame(await atOnce(makers, 10, invite), { 201: 1, 422: 9 })
    },
  )

  t.test(
    `if several applications of a group become larger at the same time, the group stays within its size limit (${name})`,
    async t => {
      const { sandbox, makers, groupId } = await meet()
      const [{ userId }] = makers
      const long = (letter: string) => `https://a.example.test/${letter.repeat(1900)}`
      const redirectUris = Array.from({ length: 26 }, (_, index) => long(String.fromCharCode(97 + index)))
      await addApplications(sandbox, { groupId, userId, count: 4, fields: { redirectUris } })
      const ids = await addApplications(sandbox, { groupId, userId, count: 6 })
      const grow = ({ call }: ApiCaller, index: number) =>
        call('PUT', `/apps/v1/${ids[index]}`, { name: 'Grown', redirectUris: redirectUris.slice(0, 20).join() })
      t.strictSame(await atOnce(makers, 6, grow), { 200: 1, 422: 5 })
    },
  )

  t.test(
    `if several calls invite one person at the same time, or accept one invitation at the same time, only one call succeeds (${name})`,
    async t => {
      const { makers, friends, groupId } = await meet()
      const { userId } = friends[0]
      const enter = (caller: ApiCaller) => link(caller, userId, groupId)
      t.strictSame(await atOnce(makers, 6, enter), { 201: 1, 409: 5 })
      t.strictSame(await atOnce(friends, 6, enter), { 201: 1, 409: 5 })
      t.equal((await listLinks(friends[0])).length, 1)
    },
  )

  t.test(
    `if a person accepts an invitation while the creator of the group cancels the invitation, the person is not a member afterwards (${name})`,
    async t => {
      const { makers, friends, groupId } = await meet()
      const { userId } = friends[0]
      for (let round = 0; round < 4; round += 1) {
        await link(makers[0], userId, groupId)
        const [accepted, ended] = await Promise.all([
          link(friends[round % 2]!, userId, groupId),
          unlink(makers[1], userId, groupId),
        ])
        // If the creator's call comes first, it cancels the invitation. If the friend has already accepted, the
        // creator's call removes the new member.
        t.equal(ended.statusCode, 204)
        t.ok([201, 403].includes(accepted.statusCode))
        t.strictSame(await listLinks(friends[0]), [])
      }
    },
  )

  t.test(
    `if the last two members of a group with applications try to leave at the same time, only one of them can leave (${name})`,
    async t => {
      const { makers, friends, groupId } = await meet()
      const [maker] = makers
      const friend = friends[1]
      await link(maker, friend.userId, groupId)
      await link(friend, friend.userId, groupId)
      await maker.call('POST', '/apps/v1', makeCreateBody(groupId))
      const left = await Promise.all([unlink(maker, maker.userId, groupId), unlink(friend, friend.userId, groupId)])
      t.strictSame(countByStatus(left), { 204: 1, 409: 1 })
    },
  )

  t.test(
    `if the last member leaves a group while another call creates an application in the group, exactly one of the two calls succeeds (${name})`,
    async t => {
      const { makers } = await meet()
      for (let round = 0; round < 4; round += 1) {
        const groupId = await createGroup(makers[0])
        const [left, made] = await Promise.all([
          unlink(makers[round % 2]!, makers[0].userId, groupId),
          makers[1].call('POST', '/apps/v1', makeCreateBody(groupId)),
        ])
        t.ok(
          ['204 404', '409 201'].includes(`${left.statusCode} ${made.statusCode}`),
          `${left.statusCode} ${made.statusCode}`,
        )
      }
    },
  )

  t.test(
    `if an invited user joins a group just as its last member leaves, the user is a member afterwards only if the call to join succeeded (${name})`,
    async t => {
      const { makers, friends } = await meet()
      for (let round = 0; round < 4; round += 1) {
        const groupId = await createGroup(makers[0])
        await link(makers[0], friends[0].userId, groupId)
        const [left, entered] = await Promise.all([
          unlink(makers[round % 2]!, makers[0].userId, groupId),
          link(friends[1], friends[0].userId, groupId),
        ])
        t.equal(left.statusCode, 204)
        t.ok([201, 403, 404].includes(entered.statusCode))
        const isIn = (await listLinks(friends[0])).some(({ to }) => to === groupId)
        t.equal(isIn, entered.statusCode === 201)
        if (isIn) await unlink(friends[0], friends[0].userId, groupId)
      }
    },
  )
}
