// A test suite makes accounts, clients and logins with the laboratory. The portal and the API must treat these
// accounts, clients and logins like real ones.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { addMember } from '../../../src/sandbox/store/memberships.ts'
import { extendPortalSession } from '../../../src/sandbox/store/portal-sessions.ts'
import { hashToken } from '../../../src/sandbox/tokens/opaque-token.ts'
import { exchange, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, callWith, makeCreateBody } from '../support/call-api.ts'
import { buildTestLab, type CallLab } from '../support/call-lab.ts'
import { openDatabases } from '../support/each-database.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

const redirectUri = 'http://localhost:3456/exchangeToken'

const startOf = (clientId: string, parameters: Record<string, string | undefined> = {}) =>
  startUrl({ client_id: clientId, redirect_uri: redirectUri, cancel_url: 'http://localhost:3456/', ...parameters })

/**
 * Makes a client and a person, and signs the person in at the client. Returns the client, the person and the tokens.
 */
async function makeAll(sandbox: TestSandbox, lab: CallLab, suite?: string) {
  const { clientId, clientSecret, person, groupId } = (
    await lab('POST', 'applications', { redirectUri, ...(suite && { suite }) })
  ).json()
  const url = `${portalUrl}${startOf(clientId)}`
  const { redirectUrl } = (await lab('POST', 'sign-in', { userId: person.userId, url })).json()
  const credentials = { client_id: clientId, client_secret: clientSecret, redirect_uri: redirectUri }
  const code = new URL(redirectUrl).searchParams.get('code') ?? ''
  const tokens = (await exchange(sandbox, { ...credentials, code })).json()
  return { clientId, person, groupId, tokens, credentials }
}

/** Makes the person a member, as if they had accepted an invitation. */
const joinGroup = ({ store, now }: TestSandbox, { groupId, userId }: { groupId: string; userId: string }) =>
  store.write(db => addMember(db, { id: randomUUID(), groupId, userId, addedBy: userId, now: now() }))

const renew = (sandbox: TestSandbox, all: Awaited<ReturnType<typeof makeAll>>, token = all.tokens.refresh_token) =>
  refresh(sandbox, token, { ...all.credentials, redirect_uri: undefined })

/** Returns the reason in the log line of the newest request. */
const lastReason = ({ logLines }: TestSandbox) =>
  logLines
    .map(line => JSON.parse(line))
    .filter(({ msg }) => msg === 'request')
    .at(-1)?.reason

for (const database of await openDatabases(t)) {
  const start = async (t: Parameters<typeof buildTestLab>[0]) =>
    buildTestLab(t, { databaseUrl: await database.make(t) })

  t.test(
    `the laboratory can make a person with given or generated fields, and the person can sign in (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const made = await lab('POST', 'people', {})
      t.equal(made.statusCode, 201)
      t.match(made.json(), { userId: /^[\w-]{36}$/, email: /@example\.test$/, password: /.{16}/, suite: '' })
      const given = { email: 'Ann@Example.test', password: 'a password of hers', firstName: 'Ann', lastName: 'Example' }
      t.match((await lab('POST', 'people', given)).json(), { ...given, email: 'ann@example.test' })
      for (const person of [made.json(), given])
        t.match((await signIn(openBrowser(sandbox), {}, person)).body, 'name="decision"')
      const again = await lab('POST', 'people', given)
      t.match(
        [again.statusCode, again.json()],
        [422, { error: { message: { email: [/An account already has this address/] } } }],
      )
    },
  )

  t.test(
    `the laboratory’s call that makes an application returns all settings that a client needs, and a person who can sign in (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const { statusCode, ...answer } = await lab('POST', 'applications', { redirectUri })
      const made = answer.json()
      t.match([statusCode, made], [201, { redirectUris: [redirectUri], person: { email: /@/, password: /./ } }])
      t.strictSame(made.settings, {
        LOGIN_URL: portalUrl,
        API_URL: 'http://127.0.0.1:4001',
        CLIENT_ID: made.clientId,
        CLIENT_SECRET: made.clientSecret,
        REDIRECT_URI: redirectUri,
      })
      const browser = openBrowser(sandbox)
      const page = await signIn(
        browser,
        { client_id: made.clientId, redirect_uri: redirectUri, cancel_url: redirectUri },
        made.person,
      )
      const location = String((await browser.submit(page, { decision: 'allow' })).headers.location)
      const code = new URL(location).searchParams.get('code') ?? ''
      const credentials = { client_id: made.clientId, client_secret: made.clientSecret, redirect_uri: redirectUri }
      const tokens = (await exchange(sandbox, { ...credentials, code })).json()
      const { call } = await callWith(sandbox, tokens.access_token)
      t.equal(
        (await call('GET', `/apps/v1/${made.clientId}`)).statusCode,
        200,
        'the person must be able to read the application',
      )
      t.equal((await call('POST', '/apps/v1', makeCreateBody(made.groupId))).statusCode, 201)
      for (const { token } of made.tokens) t.ok(await isAccepted(sandbox, token))
    },
  )

  t.test(
    `the laboratory makes an application for a person in the given group, or, if no group is given, in one of the person’s own groups (${database.name})`,
    async t => {
      const { lab } = await start(t)
      const [ann, bob] = [(await lab('POST', 'people', {})).json(), (await lab('POST', 'people', {})).json()]
      const first = (await lab('POST', 'applications', { redirectUri, userId: ann.userId })).json()
      const second = (await lab('POST', 'applications', { redirectUri, email: ann.email })).json()
      t.equal(second.groupId, first.groupId)
      t.notOk(second.person)
      const group = await lab('POST', 'groups', { name: 'Both', members: [bob.userId, ann.userId] })
      t.match([group.statusCode, group.json()], [201, { name: 'Both', members: [bob.userId, ann.userId] }])
      const { groupId } = group.json()
      const third = await lab('POST', 'applications', { redirectUri, userId: ann.userId, groupId })
      t.match([third.statusCode, third.json()], [201, { groupId, userId: ann.userId }])
      const other = await lab('POST', 'applications', { redirectUri, userId: bob.userId, groupId: first.groupId })
      t.match([other.statusCode, other.json()], [403, { error: { message: /not a member/ } }])
    },
  )

  t.test(
    `if the laboratory’s sign-in call names a client, it returns tokens for this client; otherwise it returns an access token like those from the portal’s own page (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const { clientId, clientSecret, person } = (await lab('POST', 'applications', { redirectUri })).json()
      const own = (await lab('POST', 'sign-in', { email: person.email })).json()
      t.match(own, { userId: person.userId, expiresIn: 86_400 })
      t.ok(await isAccepted(sandbox, own.accessToken))
      const stranger = (await lab('POST', 'people', {})).json()
      const group = (
        await (
          await callWith(sandbox, own.accessToken)
        ).call('GET', `/identities/v1/${person.userId}/links?type=MemberOf`)
      ).json()
      const link = `/identities/v1/${stranger.userId}/link/${group.ItemList[0].to}`
      const body = { context: 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/', type: 'MemberOf' }
      t.equal((await (await callWith(sandbox, own.accessToken)).call('POST', link, body)).statusCode, 201)
      const ofClient = (await lab('POST', 'sign-in', { email: person.email, clientId })).json()
      t.ok(await isAccepted(sandbox, ofClient.accessToken))
      t.equal((await (await callWith(sandbox, ofClient.accessToken)).call('POST', link, body)).statusCode, 403)
      const fields = { client_id: clientId, client_secret: clientSecret }
      t.equal((await refresh(sandbox, ofClient.refreshToken, fields)).statusCode, 200)
    },
  )

  t.test(
    `the laboratory can finish a login that a client has started, and records the login (${database.name})`,
    async t => {
      const { lab } = await start(t)
      const { clientId, person } = (await lab('POST', 'applications', { redirectUri })).json()
      const finish = (url: string) => lab('POST', 'sign-in', { userId: person.userId, url: `${portalUrl}${url}` })
      const { redirectUrl } = (await finish(startOf(clientId, { state: 'of-the-client' }))).json()
      const arrival = Object.fromEntries(new URL(redirectUrl).searchParams)
      t.match(arrival, { code: /.{30}/, state: 'of-the-client', subject: person.userId, client_id: clientId })
      const refused = await finish(startOf(clientId, { grant_type: 'password', state: 'two' }))
      t.match(refused.json(), { redirectUrl: /[?&]error=/ })
      const unregistered = await finish(startOf(clientId, { redirect_uri: 'http://localhost:1/', state: 'three' }))
      t.match([unregistered.statusCode, unregistered.json()], [422, { error: { message: { url: [/redirect/i] } } }])
      const { logins } = (await lab('GET', `logins?clientId=${clientId}`)).json()
      t.equal(logins.length, 3)
      for (const url of ['http://localhost:1/?a=b', `${portalUrl}/account`, `${portalUrl}/`, `${portalUrl}/?a=b`]) {
        const elsewhere = await lab('POST', 'sign-in', { userId: person.userId, url })
        t.match(elsewhere.json(), { error: { status: 422, message: { url: [/http:\/\/127\.0\.0\.1:4000/] } } }, url)
      }
    },
  )

  t.test(
    `a fault in the connection waits for a browser, and does not happen to a login that the laboratory finishes (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const { clientId, person } = (await lab('POST', 'applications', { redirectUri })).json()
      const finish = (state: string) =>
        lab('POST', 'sign-in', { userId: person.userId, url: `${portalUrl}${startOf(clientId, { state })}` })
      for (const kind of ['reset', 'cut', 'late', 'never', 'drip', 'endless-body', 'endless-header', 'slow-header'])
        await lab('POST', 'faults', { place: 'start', kind, clientId })
      t.match((await finish('one')).json(), { redirectUrl: /[?&]code=/ })
      const { faults } = (await lab('GET', 'faults')).json()
      t.same(new Set(faults.map(({ status }: { status: string }) => status)), new Set(['waiting']))
      await lab('POST', 'faults', { fault: 'start-503', clientId })
      t.match(await finish('two'), { statusCode: 422 }, 'other faults happen')
      const sessions = sandbox.store.read
        .selectFrom('portal_sessions')
        .select('id_hash')
        .where('user_id', '=', person.userId)
      t.same(await sessions.execute(), [], 'the session for the login is deleted')
    },
  )

  t.test(
    `if the laboratory lets an access token expire, the API refuses the token like any expired token, and the refresh token of the login stays valid, even if a client revokes the access token (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const all = await makeAll(sandbox, lab)
      const other = await makeAll(sandbox, lab)
      const first = all.tokens.access_token
      t.strictSame((await lab('POST', 'expire', { what: 'access-token', value: first })).json(), { expired: 1 })
      const answer = await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${first}` } })
      t.match([answer.statusCode, answer.headers['www-authenticate']], [401, /error="invalid_token"/])
      t.equal(lastReason(sandbox), 'token-expired')
      t.ok(await isAccepted(sandbox, other.tokens.access_token), 'the token of another login must stay valid')
      const revocation = new URLSearchParams({ ...all.credentials, token: first })
      await sandbox.portal.inject({
        method: 'POST',
        url: '/api/revokeToken',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `${revocation}`,
      })
      const renewed = (await renew(sandbox, all)).json()
      t.ok(await isAccepted(sandbox, renewed.access_token), 'a token that was issued at the same time must stay valid')
      t.notOk(await isAccepted(sandbox, first))
      const wanted = { what: 'access-token', userId: all.person.userId, clientId: all.clientId }
      t.strictSame((await lab('POST', 'expire', wanted)).json(), { expired: 1 })
      t.notOk(await isAccepted(sandbox, renewed.access_token))
      t.equal((await renew(sandbox, all, renewed.refresh_token)).statusCode, 200)
      const own = (await lab('POST', 'sign-in', { userId: all.person.userId })).json().accessToken
      await lab('POST', 'expire', { what: 'access-token', value: own })
      t.notOk(await isAccepted(sandbox, own))
      t.equal(
        (await lab('POST', 'expire', { what: 'access-token', value: first })).statusCode,
        404,
        'the token must have expired',
      )
    },
  )

  t.test(`the laboratory can let a refresh token, a code and a portal session expire (${database.name})`, async t => {
    const { sandbox, lab } = await start(t)
    const all = await makeAll(sandbox, lab)
    const { userId } = all.person
    t.strictSame((await lab('POST', 'expire', { what: 'refresh-token', value: all.tokens.refresh_token })).json(), {
      expired: 1,
    })
    t.match((await renew(sandbox, all)).json(), { error: 'invalid_grant' })
    t.equal(lastReason(sandbox), 'refresh-token-expired')
    t.ok(await isAccepted(sandbox, all.tokens.access_token), 'the access token must stay valid')

    const begin = async () => {
      const url = `${portalUrl}${startOf(all.clientId)}`
      const { redirectUrl } = (await lab('POST', 'sign-in', { userId, url })).json()
      return new URL(redirectUrl).searchParams.get('code') ?? ''
    }
    const [value, ofAll] = [await begin(), await begin()]
    t.strictSame((await lab('POST', 'expire', { what: 'code', value })).json(), { expired: 1 })
    t.strictSame((await lab('POST', 'expire', { what: 'code', userId })).json(), { expired: 1 })
    for (const code of [value, ofAll]) {
      t.match((await exchange(sandbox, { ...all.credentials, code })).json(), { error: 'invalid_grant' })
      t.equal(lastReason(sandbox), 'code-expired')
    }

    const [one, two] = [openBrowser(sandbox), openBrowser(sandbox)]
    for (const browser of [one, two]) await signIn(browser, {}, all.person)
    const isSignedIn = async (browser: typeof one) => (await browser.get('/account')).body.includes(all.person.email)
    t.ok(await isSignedIn(one))
    const cookie = one.cookie('__Host-portal-session')
    t.strictSame((await lab('POST', 'expire', { what: 'portal-session', value: cookie })).json(), { expired: 1 })
    t.strictSame([await isSignedIn(one), await isSignedIn(two)], [false, true])
    t.strictSame((await lab('POST', 'expire', { what: 'portal-session', userId })).json(), { expired: 1 })
    t.notOk(await isSignedIn(two))
  })

  t.test(
    `if the laboratory lets a portal session expire, a request that is still running cannot extend the session (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const person = (await lab('POST', 'people', {})).json()
      const browser = openBrowser(sandbox)
      await signIn(browser, {}, person)
      await lab('POST', 'expire', { what: 'portal-session', userId: person.userId })
      // If a request has read the session before the session expired, the request still tries to extend the session.
      // The next lines extend the session in the same way.
      const idHash = hashToken(browser.cookie('__Host-portal-session') ?? '')
      const [now, expiresAt] = [sandbox.now(), new Date(sandbox.now().getTime() + 3_600_000)]
      await sandbox.store.write(db => extendPortalSession(db, idHash, { now, expiresAt }))
      t.notMatch((await browser.get('/account')).body, person.email)
    },
  )

  t.test(
    `the laboratory can change only accounts that the laboratory or the seeds have made (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const stranger = await callAsStranger(sandbox)
      const { userId, accessToken } = stranger
      const group = { context: 'https://a.test/', type: 'Group', data: { name: 'Mine' } }
      t.equal((await stranger.call('POST', '/identities/v1', group)).statusCode, 201)
      for (const what of ['access-token', 'refresh-token', 'code', 'portal-session'])
        t.equal((await lab('POST', 'expire', { what, userId })).statusCode, 404, what)
      t.equal((await lab('POST', 'expire', { what: 'access-token', value: accessToken })).statusCode, 404)
      t.equal((await lab('POST', 'sign-in', { email: 'stranger@example.test' })).statusCode, 404)
      t.equal((await lab('POST', 'groups', { members: [userId] })).statusCode, 404)
      t.equal((await lab('POST', 'applications', { redirectUri, userId })).statusCode, 404)
      t.equal((await lab('POST', 'reset', { all: true })).statusCode, 200)
      t.ok(await isAccepted(sandbox, accessToken))
      t.equal((await stranger.call('GET', `/identities/v1/${userId}/links?type=MemberOf`)).json().ItemList.length, 1)
    },
  )

  t.test(
    `the laboratory can let tokens of the seeded person expire, and a reset removes everything that the person has made (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const { call, groupId, accessToken } = await callAsDeveloper(sandbox)
      const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      await call('PUT', `/apps/v1/${seeded.clientId}`, { name: 'Renamed', redirectUris: 'https://other.example.test/' })
      t.strictSame((await lab('POST', 'reset', { suite: 'another' })).json(), {
        removed: { people: 0, groups: 0, applications: 0 },
      })
      t.ok(await isAccepted(sandbox, accessToken), 'resetting a suite must not change the seeds')
      const short = await lab('PUT', `applications/${seeded.clientId}/lifetimes`, { accessTokenSeconds: 1 })
      t.equal(short.statusCode, 200)
      const ordered = await lab('POST', 'faults', { fault: 'exchange-503', clientId: seeded.clientId })
      t.equal(ordered.statusCode, 201)
      t.match((await lab('POST', 'reset', { seeds: true })).json(), { removed: { applications: 1 } })
      t.notOk(await isAccepted(sandbox, accessToken))
      t.strictSame((await lab('GET', 'faults')).json().faults, [], 'the seeded application has no faults after a reset')
      t.equal(
        ((await getTokens(sandbox)) as { expires_in?: number }).expires_in,
        86_400,
        'the lifetimes from the settings apply again',
      )
      const after = await callAsDeveloper(sandbox)
      const list = (await after.call('GET', '/apps/v1')).json().ItemList
      t.strictSame(
        list.map((app: { '@id': string }) => app['@id']),
        [seeded.clientId],
      )
      t.equal(list[0].client?.redirectUris ?? seeded.redirectUri, seeded.redirectUri)
      t.notSame(created['@id'], seeded.clientId)
      const { access_token } = await getTokens(sandbox)
      t.strictSame((await lab('POST', 'expire', { what: 'access-token', value: access_token })).json(), { expired: 1 })
      t.notOk(await isAccepted(sandbox, access_token))
    },
  )

  t.test(
    `if two test suites share a sandbox, resetting one suite does not change the other suite (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const [one, two, none] = [
        await makeAll(sandbox, lab, 'one'),
        await makeAll(sandbox, lab, 'two'),
        await makeAll(sandbox, lab),
      ]
      const both = (
        await lab('POST', 'groups', { members: [one.person.userId, two.person.userId], suite: 'one' })
      ).json()
      // If a client under test creates an application, the application also belongs to the suite.
      const { call } = await callWith(sandbox, one.tokens.access_token)
      const made = (await call('POST', '/apps/v1', makeCreateBody(one.groupId))).json()
      await call('DELETE', `/apps/v1/${made['@id']}`)
      await call('POST', '/apps/v1', makeCreateBody(both.groupId))
      await call('POST', '/identities/v1', { context: 'https://a.test/', type: 'Group', data: { name: 'Own' } })
      const [oneReset, twoWorks] = await Promise.all([
        lab('POST', 'reset', { suite: 'one' }),
        Promise.all([1, 2, 3].map(() => makeAll(sandbox, lab, 'two'))),
      ])
      t.strictSame(oneReset.json(), { removed: { people: 1, groups: 3, applications: 2 } })
      t.ok(twoWorks.every(({ tokens }) => tokens.access_token))
      t.notOk(await isAccepted(sandbox, one.tokens.access_token))
      t.match((await renew(sandbox, one)).json(), { error: 'invalid_client' })
      for (const other of [two, none]) {
        t.ok(await isAccepted(sandbox, other.tokens.access_token))
        t.equal((await renew(sandbox, other)).statusCode, 200)
      }
      t.equal((await lab('POST', 'people', { email: one.person.email })).statusCode, 201, 'the address is free again')
      t.match((await lab('POST', 'reset', {})).json(), { removed: { people: 2, applications: 1 } })
      t.match((await lab('POST', 'reset', { all: true })).json(), { removed: { people: 4, applications: 4 } })
      t.strictSame((await lab('POST', 'reset', { all: true })).json().removed, {
        people: 0,
        groups: 0,
        applications: 0,
      })
    },
  )

  t.test(
    `resetting a suite removes applications that its people made in other users’ groups, but nothing that other users made (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const one = await makeAll(sandbox, lab, 'one')
      const stranger = await callAsStranger(sandbox)
      const { call } = await callWith(sandbox, one.tokens.access_token)
      await joinGroup(sandbox, { groupId: one.groupId, userId: stranger.userId })
      const theirs = (await stranger.call('POST', '/apps/v1', makeCreateBody(one.groupId, { name: 'Real' }))).json()
      const ownGroup = { context: 'https://a.test/', type: 'Group', data: { name: 'Mine' } }
      const { '@id': groupId } = (await stranger.call('POST', '/identities/v1', ownGroup)).json()
      await joinGroup(sandbox, { groupId, userId: one.person.userId })
      const elsewhere = (await call('POST', '/apps/v1', makeCreateBody(groupId, { name: 'Left behind' }))).json()

      t.strictSame((await lab('POST', 'reset', { suite: 'one' })).json(), {
        removed: { people: 1, groups: 0, applications: 2 },
      })
      t.equal((await stranger.call('GET', `/apps/v1/${theirs['@id']}`)).json().data.name, 'Real')
      t.equal((await stranger.call('GET', `/apps/v1/${elsewhere['@id']}`)).statusCode, 404)
      t.strictSame(
        (await stranger.call('GET', '/apps/v1')).json().ItemList.map((app: { '@id': string }) => app['@id']),
        [theirs['@id']],
      )
      t.equal((await stranger.call('POST', '/apps/v1', makeCreateBody(one.groupId))).statusCode, 201, 'the group works')
      const { removed } = (await lab('POST', 'reset', { all: true })).json()
      t.strictSame(removed, { people: 0, groups: 0, applications: 0 }, 'the group must now belong to the real person')
      t.equal((await stranger.call('GET', `/apps/v1/${theirs['@id']}`)).statusCode, 200)
      t.equal((await lab('POST', 'people', { email: one.person.email })).statusCode, 201, 'the address is free again')
    },
  )

  t.test(
    `resetting the seeds keeps the applications that other users have made in the seeded group (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const developer = await callAsDeveloper(sandbox)
      const stranger = await callAsStranger(sandbox)
      await joinGroup(sandbox, { groupId: developer.groupId, userId: stranger.userId })
      const theirs = (await stranger.call('POST', '/apps/v1', makeCreateBody(developer.groupId))).json()
      const ownGroup = { context: 'https://a.test/', type: 'Group', data: { name: 'Mine' } }
      const { '@id': groupId } = (await stranger.call('POST', '/identities/v1', ownGroup)).json()
      await joinGroup(sandbox, { groupId, userId: developer.userId })
      const elsewhere = (await developer.call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      t.match((await lab('POST', 'reset', { seeds: true })).json(), { removed: { applications: 1 } })
      t.equal((await stranger.call('GET', `/apps/v1/${theirs['@id']}`)).statusCode, 200)
      t.equal((await stranger.call('GET', `/apps/v1/${elsewhere['@id']}`)).statusCode, 404)
    },
  )

  t.test(
    `resetting a suite removes the faults of its clients, and forgets the failed sign-ins of its people (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const email = 'ann@example.test'
      const [one, two] = [await makeAll(sandbox, lab, 'one'), await makeAll(sandbox, lab, 'two')]
      for (const { clientId } of [one, two]) await lab('POST', 'faults', { fault: 'exchange-503', clientId })
      const ann = (await lab('POST', 'people', { email, suite: 'one' })).json()
      for (let times = 0; times < 10; times += 1) await signIn(openBrowser(sandbox), {}, { email, password: 'wrong' })
      t.notMatch((await signIn(openBrowser(sandbox), {}, ann)).body, 'name="decision"', 'the person must be locked out')
      await lab('POST', 'reset', { suite: 'one' })
      const again = (await lab('POST', 'people', { email, suite: 'one' })).json()
      t.match((await signIn(openBrowser(sandbox), {}, again)).body, 'name="decision"')
      t.match((await lab('GET', 'faults')).json().faults, [{ clientId: two.clientId }])
      t.equal((await lab('GET', `faults?clientId=${one.clientId}`)).json().faults.length, 0)
    },
  )

  t.test(
    `a reset of one suite keeps failures that all suites share, such as wrong secrets of the seeded client; a reset of all suites deletes these failures (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const guess = async () => (await exchange(sandbox, { client_secret: 'wrong' })).statusCode
      for (let times = 0; times < 10; times += 1) await guess()
      await lab('POST', 'reset', { suite: 'one' })
      t.equal(await guess(), 429)
      await lab('POST', 'reset', { all: true })
      t.equal(await guess(), 401)
    },
  )

  t.test(
    `the laboratory can set token lifetimes for one client, and other clients keep their lifetimes (${database.name})`,
    async t => {
      const { sandbox, lab } = await start(t)
      const lifetimes = { accessTokenSeconds: 5, refreshTokenSeconds: 60, codeSeconds: 2 }
      const made = (await lab('POST', 'applications', { redirectUri, lifetimes })).json()
      t.strictSame(made.lifetimes, lifetimes)
      const other = await makeAll(sandbox, lab)
      t.equal(other.tokens.expires_in, 86_400)
      const { userId } = made.person
      const signedIn = (await lab('POST', 'sign-in', { userId, clientId: made.clientId })).json()
      t.equal(signedIn.expiresIn, 5)
      const credentials = { client_id: made.clientId, client_secret: made.clientSecret, redirect_uri: redirectUri }
      const begin = async () => {
        const url = `${portalUrl}${startOf(made.clientId)}`
        return (
          new URL((await lab('POST', 'sign-in', { userId, url })).json().redirectUrl).searchParams.get('code') ?? ''
        )
      }
      const code = await begin()
      sandbox.passTime(2_000)
      t.match((await exchange(sandbox, { ...credentials, code })).json(), { error: 'invalid_grant' })
      const tokens = (await exchange(sandbox, { ...credentials, code: await begin() })).json()
      t.equal(tokens.expires_in, 5)
      sandbox.passTime(59_000)
      const fields = { ...credentials, redirect_uri: undefined }
      const renewed = (await refresh(sandbox, tokens.refresh_token, fields)).json()
      t.equal(renewed.expires_in, 5)
      sandbox.passTime(60_000)
      t.equal((await refresh(sandbox, renewed.refresh_token, fields)).statusCode, 401)
      t.equal((await renew(sandbox, other)).statusCode, 200)
      const changed = await lab('PUT', `applications/${made.clientId}/lifetimes`, {})
      t.match(
        changed.json(),
        { accessTokenSeconds: 86_400, codeSeconds: 60 },
        'the client must have the lifetimes from the settings again',
      )
      t.equal((await lab('PUT', `applications/${seeded.clientId}/lifetimes`, { codeSeconds: 9 })).statusCode, 200)
    },
  )
}
