// Tests the portal's pages for groups and invitations.
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { type Browser, locationOf, openBrowser } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callFromPortal, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { addGroups, addUsers } from '../support/fill-groups.ts'
import { newcomer, openAsDeveloper, openAsNewcomer, readHiddenFields, submitForm } from '../support/forms.ts'
import { listLinks } from '../support/group-calls.ts'

const databases = await openDatabases(t)
const groupsPath = '/account/groups'
const invitationsPath = '/account/invitations'
const unknownId = '8a2b6c9e-0a4e-4f7d-9b52-2a0a4cf2b0d1'

/** Opens the portal for two people. The first person has made a group. */
async function openTwoPages(sandbox: TestSandbox, name = 'Weather') {
  const [maker, friend] = [await openAsDeveloper(sandbox), await openAsNewcomer(sandbox)]
  const made = await submitForm(maker, await maker.get(groupsPath), groupsPath, { name })
  const { body } = await maker.get(locationOf(made))
  const groupId = new RegExp(`href="${groupsPath}/([^"]+)"><bdi>${name}<`).exec(body)?.[1] ?? ''
  const [makerId, friendId] = [await readUserId(maker), await readUserId(friend)]
  return { maker, friend, makerId, friendId, groupId, path: `${groupsPath}/${groupId}` }
}

async function readUserId(browser: Browser): Promise<string> {
  return /data-copy="user ID">([^<]+)</.exec((await browser.get('/account')).body)?.[1] ?? ''
}

/** Presses a button on the page of a group. */
async function change(browser: Browser, path: string, fields: { change: string; userId?: string; name?: string }) {
  return submitForm(browser, await browser.get(path), path, fields)
}

/** Sends a form, and follows the redirect. */
async function follow(browser: Browser, answer: LightMyRequestResponse): Promise<LightMyRequestResponse> {
  return browser.get(locationOf(answer))
}

async function answerInvitation(browser: Browser, answer: 'accept' | 'decline') {
  return submitForm(browser, await browser.get(groupsPath), invitationsPath, { answer })
}

t.test(
  'a new group needs a name of at most 200 characters, and if the portal refuses the form, the form keeps the typed name',
  async t => {
    const browser = await openAsDeveloper(await buildTestSandbox(t))
    for (const name of ['', '   ', 'x'.repeat(201), 'nul\0', '<b>two\nlines']) {
      const page = await submitForm(browser, await browser.get(groupsPath), groupsPath, { name })
      t.equal(page.statusCode, 422, JSON.stringify(name))
      t.match(page.body, /id="name"[^>]* aria-describedby="name-problem" aria-invalid="true"/)
      t.notMatch(page.body, '<b>')
    }
    const name = '🐎'.repeat(200)
    const answer = await submitForm(browser, await browser.get(groupsPath), groupsPath, { name })
    t.equal(answer.statusCode, 303)
  },
)

t.test('the page of a group names 100 members, and says how many more members the group has', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, groupId, path } = await openTwoPages(sandbox)
  const userIds = await addUsers(sandbox, 105)
  await sandbox.store.transaction(async db => {
    for (const [index, id] of userIds.entries())
      await db
        .insertInto('memberships')
        .values({ id, user_id: id, group_id: groupId, created_at: sandbox.now().getTime() + index + 1, created_by: id })
        .execute()
  })
  t.match((await maker.get(groupsPath)).body, '106 members')
  const { body } = await maker.get(path)
  t.match(body, '106 members')
  t.match(body, 'Last 98</bdi>')
  t.notMatch(body, 'Last 99</bdi>')
  t.match(body, 'and 6 more')
})

t.test('only members can open the page of a group, and other users get a 404 answer', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, friend, friendId, path } = await openTwoPages(sandbox, 'Secret weather')
  const hidden = await friend.get(path)
  t.equal(hidden.statusCode, 404)
  for (const id of [unknownId, '%00', "'--", 'x'.repeat(65), '..%2f..%2fapps', '%3Cb%3E']) {
    const page = await friend.get(`${groupsPath}/${id}`)
    t.equal(page.statusCode, 404, id)
    t.match(page.body, '<h1>Not found</h1>')
    t.match(page.body, /<p role="alert">This group does not exist/)
    t.notMatch(page.body, '<b>')
  }
  await change(maker, path, { change: 'invite', userId: friendId })
  t.equal((await friend.get(path)).statusCode, 404, 'an invited user must not see the page')
  t.notMatch((await openBrowser(sandbox).get(path)).body, 'Secret weather')

  const form = readHiddenFields(await friend.get('/account/token'), '/account/token')
  t.equal((await friend.post(path, { ...form, change: 'leave' })).statusCode, 400, 'a token of another form')
  const { formToken = '' } = readHiddenFields(await maker.get(path), path)
  t.equal((await maker.post(`${groupsPath}/${unknownId}`, { formToken, change: 'leave' })).statusCode, 303)
  for (const fields of [
    { change: 'rename', userId: '' },
    { change: 'remove-member', userId: 'nul\0' },
  ])
    t.ok([303, 404, 422].includes((await maker.post(path, { formToken, ...fields })).statusCode))
  for (const change of ['', 'paint', 'constructor']) {
    const incomplete = await maker.post(path, { formToken, change })
    t.equal(incomplete.statusCode, 400)
    t.match(incomplete.body, 'The form was incomplete.')
  }
  t.equal((await maker.get(path)).statusCode, 200, 'nothing was changed')
})

t.test('if a signed-out member opens the page of a group and signs in, the portal returns to this page', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, path } = await openTwoPages(sandbox)
  const browser = openBrowser(sandbox)
  const page = await browser.get(path)
  t.match(page.body, '<h1>Sign in</h1>')
  const answer = await submitForm(browser, page, '/sign-in', { email: seeded.email, password: seeded.password })
  t.equal(locationOf(answer), path)
  t.match((await browser.get(path)).body, 'aria-current="true"')
  const other = openBrowser(sandbox)
  const elsewhere = await other.get(`${groupsPath}/%2f%2fevil.example.test`)
  t.equal(
    locationOf(await submitForm(other, elsewhere, '/sign-in', { email: seeded.email, password: seeded.password })),
    '/account',
    'signing in must not lead to an address that a stranger wrote',
  )
  maker.cookies.clear()
})

t.test('PS-01: if another site sends a form of the pages for groups, the portal refuses the form', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, path } = await openTwoPages(sandbox)
  const { formToken = '' } = readHiddenFields(await maker.get(path), path)
  for (const action of [path, invitationsPath])
    t.equal(
      (await maker.post(action, { formToken, change: 'leave' }, { headers: { 'sec-fetch-site': 'cross-site' } }))
        .statusCode,
      403,
    )
  t.equal((await maker.get(path)).statusCode, 200)
})

t.test('no forged address can show a message on the pages for groups', async t => {
  const sandbox = await buildTestSandbox(t)
  const { maker, makerId, groupId, path } = await openTwoPages(sandbox)
  for (const query of [`invited=${makerId}`, `removed=${unknownId}`, 'removed=%00', 'saved=yes'])
    t.notMatch((await maker.get(`${path}?${query}`)).body, 'role="status"', query)
  for (const query of [`joined=${groupId}`, `left=${unknownId}`, `declined=${unknownId}`])
    t.notMatch((await maker.get(`${groupsPath}?${query}`)).body, 'role="status"', query)
})

t.test(
  'the portal shows a message once, only on the page where it belongs, and only to the user who made the change',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { maker, path } = await openTwoPages(sandbox)
    const other = await openAsNewcomer(sandbox, { ...newcomer, email: 'messages@example.test' })
    const otherId = /user ID">([^<]+)</.exec((await other.get('/account')).body)?.[1] ?? ''
    const answer = await submitForm(maker, await maker.get(path), path, { change: 'invite', userId: otherId })
    t.equal(locationOf(answer), path, 'the address must not contain the message')
    const cookie = answer.cookies.find(({ name }) => name === '__Host-portal-message')
    t.match(cookie, { secure: true, httpOnly: true, sameSite: 'Strict', path: '/', maxAge: 300 })
    const value = cookie?.value ?? ''

    t.notMatch((await maker.get(groupsPath)).body, 'role="status"', 'another page')
    t.match((await maker.get(path)).body, 'role="status">The invitation was sent')
    t.notMatch((await maker.get(path)).body, 'role="status"', 'after a reload')

    for (const forged of [`${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}`, 'made.up', 'x']) {
      maker.cookies.set('__Host-portal-message', { value: forged })
      t.notMatch((await maker.get(path)).body, 'role="status"', 'forged')
    }
    maker.cookies.set('__Host-portal-message', { value })
    sandbox.passTime(5 * 60_000)
    t.notMatch((await maker.get(path)).body, 'role="status"', 'after five minutes')

    maker.cookies.delete('__Host-portal-message')
    const left = await change(maker, path, { change: 'leave' })
    other.cookies.set('__Host-portal-message', { value: left.cookies[0]?.value ?? '' })
    t.notMatch((await other.get(groupsPath)).body, 'role="status"', 'another user')
    t.match((await maker.get(groupsPath)).body, 'You left <strong><bdi>Weather')
  },
)

for (const database of databases) {
  t.test(
    `the user who makes a group becomes a member, and if the form is sent twice, only one group is made (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = await openAsNewcomer(sandbox)
      const page = await browser.get(groupsPath)
      t.match(page.body, 'You are not in a group yet')
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => submitForm(browser, page, groupsPath, { name: 'Weather <b>' })),
      )
      for (const answer of answers) t.equal(answer.statusCode, 303)
      t.equal(new Set(answers.map(locationOf)).size, 1)
      const shown = await browser.get(locationOf(answers[0] as (typeof answers)[0]))
      t.match(shown.body, /role="status">You created the group <strong><bdi>Weather &lt;b&gt;/)
      t.equal(shown.body.match(/<h3><a/g)?.length, 1)
      t.match(shown.body, '1 member, created by you')
      const path = /href="(\/account\/groups\/[0-9a-f-]{36})"/.exec(shown.body)?.[1] ?? ''
      const group = await browser.get(path)
      t.match(group.body, newcomer.email)
      t.match(group.body, '<span class="tag">you</span> <span class="tag">created the group</span>')
      t.notMatch(group.body, 'open invitation')
      const other = await (await openAsDeveloper(sandbox)).get(groupsPath)
      t.notMatch(other.body, 'Weather', 'other users’ groups are not shown')
    },
  )

  t.test(
    `an invited person sees the invitation at the portal, and can accept or decline it (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, friendId, groupId, path } = await openTwoPages(sandbox)
      const invite = async () => change(maker, path, { change: 'invite', userId: ` ${friendId} ` })
      const invited = await follow(maker, await invite())
      t.match(invited.body, 'The invitation was sent')
      t.match(invited.body, `User ID</span> <code>${friendId}`)
      t.notMatch(invited.body, /newcomer/i, 'the page must not show the name of the person')
      t.match((await friend.get('/account')).body, 'You have been invited to a group')
      const page = await friend.get(groupsPath)
      t.match(page.body, seeded.email, 'the invitation must name its sender')
      t.match(page.body, 'You are not in a group yet', 'an invited user must not count as a member')
      t.notMatch((await friend.get('/account/token')).body, groupId)

      const declined = await submitForm(friend, page, invitationsPath, { answer: 'decline' })
      t.match((await follow(friend, declined)).body, 'You declined the invitation to <strong><bdi>Weather')
      t.equal((await submitForm(friend, page, invitationsPath, { answer: 'decline' })).statusCode, 303, 'sent twice')
      t.equal(
        (await submitForm(friend, page, invitationsPath, { answer: 'accept' })).statusCode,
        404,
        'accepting after declining must be refused',
      )

      await invite()
      const again = await friend.get(groupsPath)
      const accepted = await submitForm(friend, again, invitationsPath, { answer: 'accept' })
      t.match((await follow(friend, accepted)).body, 'You are now a member of <strong><bdi>Weather')
      t.equal((await submitForm(friend, again, invitationsPath, { answer: 'accept' })).statusCode, 303, 'sent twice')
      const late = await submitForm(friend, again, invitationsPath, { answer: 'decline' })
      t.equal(late.statusCode, 422)
      t.match(late.body, 'role="alert">You have already accepted this invitation, so you are a member of the group.')
      t.equal((await friend.get(path)).statusCode, 200, 'a form on an old page must not end the membership')
      t.notMatch((await friend.get(groupsPath)).body, 'You declined', 'no page may say that the visitor declined')
      t.match((await maker.get(path)).body, newcomer.email)
      t.notMatch((await friend.get('/account')).body, 'You have been invited')
    },
  )

  t.test(
    `on the page of a group, members can leave, and the creator of the group can remove members and cancel invitations (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, makerId, friendId, path } = await openTwoPages(sandbox)
      const invite = () => change(maker, path, { change: 'invite', userId: friendId })
      await invite()
      const old = await maker.get(path)
      const back = await follow(maker, await change(maker, path, { change: 'cancel-invitation', userId: friendId }))
      t.match(back.body, 'The invitation was cancelled.')
      t.notMatch(back.body, /newcomer/i)
      const cancelledTwice = await submitForm(maker, old, path, { change: 'cancel-invitation', userId: friendId })
      t.match((await follow(maker, cancelledTwice)).body, 'The invitation was cancelled.', 'sent twice')
      t.equal((await answerInvitation(friend, 'accept').catch(() => undefined)) ?? 'no form', 'no form')

      await invite()
      await answerInvitation(friend, 'accept')
      for (const member of [maker, friend]) {
        const of = member === maker ? old : await friend.get(path)
        const late = await submitForm(member, of, path, { change: 'cancel-invitation', userId: friendId })
        t.equal(late.statusCode, 422)
        t.match(late.body, 'role="alert">This person is already a member.')
        t.notMatch((await member.get(path)).body, 'The invitation was cancelled')
      }
      t.equal((await friend.get(path)).statusCode, 200, 'cancelling an accepted invitation must not remove the member')
      t.notMatch((await friend.get(path)).body, 'Remove', 'only the creator must see the button to remove members')
      t.equal(
        (await change(friend, path, { change: 'remove-member', userId: makerId })).statusCode,
        404,
        'only the creator may remove members',
      )

      const out = await follow(maker, await change(maker, path, { change: 'remove-member', userId: friendId }))
      t.match(out.body, 'role="status"><strong><bdi>Nora Newcomer</bdi></strong> was removed from the group.')
      t.equal((await friend.get(path)).statusCode, 404)
      const again = await follow(maker, await change(maker, path, { change: 'remove-member', userId: friendId }))
      t.match(again.body, 'That person is not a member of the group.', 'sent twice')
      t.notMatch(again.body, /newcomer/i, 'the answer must not show the name of a user')

      await invite()
      await answerInvitation(friend, 'accept')
      const page = await friend.get(path)
      const left = await follow(friend, await submitForm(friend, page, path, { change: 'leave' }))
      t.match(left.body, 'You left <strong><bdi>Weather')
      const twice = await follow(friend, await submitForm(friend, page, path, { change: 'leave' }))
      t.match(twice.body, 'You are not a member of that group.', 'sent twice')
      t.notMatch(twice.body, 'Weather')

      t.match((await maker.get(path)).body, 'the group is removed when you leave')
      t.match((await follow(maker, await change(maker, path, { change: 'leave' }))).body, 'role="status"')
      t.equal((await maker.get(path)).statusCode, 404)

      const listPage = await maker.get(groupsPath)
      for (const name of ['Sent twice', 'Sent twice']) await submitForm(maker, listPage, groupsPath, { name })

      // Each change is in the log once, although some forms were sent twice. The log identifies each user by a hash.
      const logged = sandbox.logLines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'a group was changed')
      const { caller: makerHash, user: friendHash } = logged.find(({ code }) => code === 'group-invited')
      t.same(
        logged.map(({ code, caller, user }) => [code, caller, user]),
        [
          ['group-created', makerHash, undefined],
          ['group-invited', makerHash, friendHash],
          ['group-invitation-cancelled', makerHash, friendHash],
          ['group-invited', makerHash, friendHash],
          ['group-invitation-accepted', friendHash, friendHash],
          ['group-member-removed', makerHash, friendHash],
          ['group-invited', makerHash, friendHash],
          ['group-invitation-accepted', friendHash, friendHash],
          ['group-left', friendHash, friendHash],
          ['group-left', makerHash, makerHash],
          ['group-created', makerHash, undefined],
        ],
      )
    },
  )

  t.test(
    `if the portal refuses a form on a page for groups, it shows the reason next to that form (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, friendId, groupId, path } = await openTwoPages(sandbox)
      const invite = async (userId: string) => {
        const page = await change(maker, path, { change: 'invite', userId })
        return [page.statusCode, /id="user-id-problem">([^<]+)</.exec(page.body)?.[1]]
      }
      t.strictSame(await invite(newcomer.email), [
        422,
        'This is an e-mail address. Enter the person’s user ID instead. The person can find it on their account page.',
      ])
      for (const userId of ['', 'nobody', unknownId, '<b>', 'nul\0'])
        t.strictSame(await invite(userId), [
          422,
          'There is no account with this user ID. A person can find their user ID on their account page.',
        ])
      t.strictSame(await invite(await readUserId(maker)), [422, 'This person is already a member.'])
      t.equal((await invite(friendId))[0], 303)
      t.strictSame(await invite(friendId), [422, 'This person has already been invited.'])

      const users = await addUsers(sandbox, 20)
      for (const userId of users.slice(1)) t.equal((await invite(userId))[0], 303)
      t.match((await invite(users[0] ?? ''))[1], /^The group has 20 open invitations/)

      await addGroups(sandbox, friendId, 20)
      const full = await answerInvitation(friend, 'accept')
      t.equal(full.statusCode, 422)
      t.match(full.body, /role="alert">You are in 20 groups, which is the limit. Leave a group first./)
      t.match(
        full.body,
        'To create another group, leave one of your groups',
        'the page must have no form for a new group',
      )
      t.throws(() => readHiddenFields(full, groupsPath))

      const page = await maker.get(path)
      const { call } = await callFromPortal(sandbox, maker)
      t.equal((await call('POST', '/apps/v1', makeCreateBody(groupId))).statusCode, 201)
      const refused = await submitForm(maker, page, path, { change: 'leave' })
      t.equal(refused.statusCode, 409)
      t.match(refused.body, /role="alert">You are the only member, and the group has applications/)
      t.notMatch(refused.body, `${path}/leave`)
      t.equal(locationOf(await maker.get(`${path}/leave`)), path, 'the last member must not be asked whether to leave')
    },
  )

  t.test(`only members can rename a group (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const { maker, friend, friendId, path } = await openTwoPages(sandbox)
    const old = readHiddenFields(await maker.get(path), path)
    for (const name of ['', '  ', 'x'.repeat(201), 'nul\0', '<b>two\nlines']) {
      const page = await change(maker, path, { change: 'rename', name })
      t.equal(page.statusCode, 422, JSON.stringify(name))
      t.match(page.body, /id="name"[^>]* aria-describedby="name-hint name-problem" aria-invalid="true"/)
      t.match(page.body, '<h1><bdi>Weather</bdi></h1>', 'nothing was changed')
    }
    const renamed = await follow(
      maker,
      await change(maker, path, { change: 'rename', name: ` <i>${'🐎'.repeat(197)} ` }),
    )
    t.match(renamed.body, /role="status">The group is now called <strong><bdi>&lt;i&gt;🐎/)
    await change(maker, path, { change: 'invite', userId: friendId })
    const { formToken = '' } = readHiddenFields(await friend.get(groupsPath), groupsPath)
    t.equal(
      (await friend.post(path, { formToken, change: 'rename', name: 'Mine' })).statusCode,
      400,
      'the token of another form must be refused',
    )
    t.equal(
      (await friend.post(path, { ...old, change: 'rename', name: 'Mine' })).statusCode,
      400,
      'the token of another user must be refused',
    )
    await submitForm(friend, await friend.get(groupsPath), groupsPath, { name: 'Own' })
    const own = /href="(\/account\/groups\/[0-9a-f-]{36})"/.exec((await friend.get(groupsPath)).body)?.[1] ?? ''
    const ownToken = readHiddenFields(await friend.get(own), own)
    t.equal(
      (await friend.post(path, { ...ownToken, change: 'rename', name: 'Mine' })).statusCode,
      404,
      'an invited user must not be able to rename the group',
    )
    t.match((await maker.get(path)).body, /<h1 class="long"><bdi>&lt;i&gt;/)

    await answerInvitation(friend, 'accept')
    await change(friend, path, { change: 'rename', name: 'Storms' })
    t.match((await maker.get(path)).body, '<h1><bdi>Storms</bdi></h1>')
    t.match((await maker.get('/account')).body, '>Storms<', 'everywhere')
  })

  t.test(
    `before a member leaves or is removed, the portal asks for confirmation and lists the applications of the group (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, friendId, makerId, groupId, path } = await openTwoPages(sandbox)
      const { call } = await callFromPortal(sandbox, maker)
      const created = await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Tides <b>' }))
      t.match(
        (await maker.get(path)).body,
        `<bdi>Tides &lt;b&gt;</bdi><br><span class="soft">Client ID <code class="id">${created.json()['@id']}`,
      )
      const ask = `${path}/members/${friendId}/remove`
      t.equal(locationOf(await maker.get(ask)), path, 'the page must not ask about a user who is not a member')
      await change(maker, path, { change: 'invite', userId: friendId })
      t.equal(locationOf(await maker.get(ask)), path, 'the page must not ask about a user who is only invited')
      t.equal((await friend.get(`${path}/leave`)).statusCode, 404)
      const askAboutSelf = await maker.get(`${path}/members/${makerId}/remove`)
      t.equal(askAboutSelf.headers.location, path, 'the page must not ask the creator whether to remove the creator')
      const self = await change(maker, path, { change: 'remove-member', userId: makerId })
      t.equal(self.statusCode, 422)
      t.match(self.body, 'role="alert">You are the only member, and the group has applications.')
      await answerInvitation(friend, 'accept')
      t.equal(
        locationOf(await friend.get(`${path}/members/${makerId}/remove`)),
        path,
        'only the creator must see the page that asks',
      )

      const question = await maker.get(ask)
      t.match(question.body, /<h1>Remove <bdi class="whole-name">Nora Newcomer<\/bdi> from the group\?</)
      t.match(question.body, `<a class="button" href="${path}">Cancel</a>`)
      t.equal((await friend.get(path)).statusCode, 200, 'the page that asks for confirmation must not change anything')
      t.match(
        (await follow(maker, await submitForm(maker, question, path))).body,
        'Nora Newcomer</bdi></strong> was removed',
      )
      t.equal((await friend.get(path)).statusCode, 404)

      await change(maker, path, { change: 'invite', userId: friendId })
      await answerInvitation(friend, 'accept')
      const leaving = await friend.get(`${path}/leave`)
      t.match(leaving.body, /<h1>Leave the group “<bdi class="whole-name">Weather<\/bdi>”\?</)
      t.match((await follow(friend, await submitForm(friend, leaving, path))).body, 'You left <strong><bdi>Weather')
    },
  )

  t.test(
    `the example command on the token page contains a group’s id only if the user has made this group (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { maker, friend, friendId, groupId, path } = await openTwoPages(sandbox)
      await change(maker, path, { change: 'invite', userId: friendId })
      await answerInvitation(friend, 'accept')
      const make = async () => (await submitForm(friend, await friend.get('/account/token'), '/account/token')).body
      const foreign = await make()
      t.match(foreign, '&quot;groupId&quot;: &quot;GROUP_ID&quot;')
      t.match(foreign, `<bdi>Weather</bdi></dt><dd><code class="id">${groupId}</code>`)
      sandbox.passTime(1000)
      await submitForm(friend, await friend.get(groupsPath), groupsPath, { name: 'My own' })
      const [first] = await listLinks(await callFromPortal(sandbox, friend))
      t.match(first, { data: { name: 'My own', status: 'maker' } })
      const own = await make()
      t.match(own, `&quot;groupId&quot;: &quot;${first?.to}&quot;`)
      t.match(own, `<code class="id">${groupId}</code>`)
    },
  )
}

t.test('an answer to an invitation must say whether the visitor accepts; otherwise the invitation stays', async t => {
  const { maker, friend, friendId, path } = await openTwoPages(await buildTestSandbox(t))
  await change(maker, path, { change: 'invite', userId: friendId })
  const page = await friend.get(groupsPath)
  for (const fields of [{}, { answer: 'yes' }] as Record<string, string>[])
    t.equal((await submitForm(friend, page, invitationsPath, fields)).statusCode, 400)
  t.equal((await submitForm(friend, page, invitationsPath, { answer: 'accept' })).statusCode, 303)
})
