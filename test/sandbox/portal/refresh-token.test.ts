// Tests renewals: the new tokens, and what happens if a replaced refresh token is used again.
import t from 'tap'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { getTokens, isAccepted, makeOtherClient, refresh, untilNotBusy } from '../support/tokens.ts'

const dayMs = 86_400_000
const invalidGrant = { error: 'invalid_grant' }

for (const database of await openDatabases(t)) {
  t.test(`RF-01: a renewal returns a new access token and a new refresh token (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const first = await getTokens(sandbox)
    sandbox.passTime(3_600_000)
    const answer = await refresh(sandbox, first.refresh_token)
    t.match(answer, { statusCode: 200, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } })
    const second = answer.json()
    t.strictSame(Object.keys(second).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type'])
    t.match(second, { expires_in: 86400, token_type: 'Bearer', scope: '', refresh_token: /^[A-Za-z0-9]{30}$/ })
    t.not(second.refresh_token, first.refresh_token)
    t.not(second.access_token, first.access_token)
    t.equal(await isAccepted(sandbox, second.access_token), true)
    t.equal(await isAccepted(sandbox, first.access_token), true, 'the earlier access token must stay valid')
    sandbox.passTime(3_600_000)
    t.match(await refresh(sandbox, second.refresh_token), { statusCode: 200 })
  })

  t.test(
    `RF-02: if one refresh token is renewed 50 times at the same time on two instances, all answers have the same new refresh token (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const { refresh_token: token } = await getTokens(one)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => untilNotBusy(() => refresh(index % 2 ? one : other, token))),
      )
      for (const answer of answers) t.equal(answer.statusCode, 200)
      const successors = new Set(answers.map(answer => answer.json().refresh_token))
      t.equal(successors.size, 1)
      const [row] = await one.store.read.selectFrom('grants').select('generation').execute()
      t.equal(row?.generation, 1, 'the refresh token must be replaced once')
      t.match(await refresh(other, [...successors][0]), { statusCode: 200 })
    },
  )

  t.test(
    `RF-02: if a replaced refresh token is sent again within 10 seconds, the answer has the same new refresh token again (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { refresh_token: token } = await getTokens(sandbox)
      const { refresh_token: successor } = (await refresh(sandbox, token)).json()
      sandbox.passTime(9999)
      const again = await refresh(sandbox, token)
      t.equal(again.statusCode, 200)
      t.equal(again.json().refresh_token, successor)
      t.equal(await isAccepted(sandbox, again.json().access_token), true)
      t.match(await refresh(sandbox, successor), { statusCode: 200 })
    },
  )

  t.test(
    `RF-06: if a client uses a replaced refresh token after 10 seconds, the portal ends the whole token family (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const first = await getTokens(sandbox)
      const second = (await refresh(sandbox, first.refresh_token)).json()
      sandbox.passTime(10_000)
      const reused = await refresh(sandbox, first.refresh_token)
      t.equal(reused.statusCode, 401)
      t.match(reused.json(), invalidGrant)
      t.match(
        (await refresh(sandbox, second.refresh_token)).json(),
        invalidGrant,
        'the newest token must also become invalid',
      )
      for (const tokens of [first, second]) t.equal(await isAccepted(sandbox, tokens.access_token), false)
    },
  )

  t.test(
    `RF-06: if a refresh token was replaced two or more renewals ago and is used again, the token family ends immediately (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const other = await getTokens(sandbox)
      const { refresh_token: first } = await getTokens(sandbox)
      const { refresh_token: second } = (await refresh(sandbox, first)).json()
      const { refresh_token: third } = (await refresh(sandbox, second)).json()
      t.match((await refresh(sandbox, first)).json(), invalidGrant)
      t.match((await refresh(sandbox, second)).json(), invalidGrant)
      t.match((await refresh(sandbox, third)).json(), invalidGrant)
      t.match(
        await refresh(sandbox, other.refresh_token),
        { statusCode: 200 },
        'another login of the user must stay valid',
      )
    },
  )

  t.test(
    `RF-01: another client can neither use a refresh token nor end the token family (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const stranger = await makeOtherClient(sandbox)
      const { refresh_token: first } = await getTokens(sandbox)
      t.match((await refresh(sandbox, first, stranger)).json(), invalidGrant)
      const { refresh_token: second } = (await refresh(sandbox, first)).json()
      sandbox.passTime(11_000)
      t.match(
        (await refresh(sandbox, first, stranger)).json(),
        invalidGrant,
        'another client must not use a replaced token',
      )
      t.match(await refresh(sandbox, second), { statusCode: 200 })
    },
  )

  t.test(`RF-07: if a refresh token is not used for 14 days, it expires (${database.name})`, async t => {
    const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
    const [used, unused] = [await getTokens(sandbox), await getTokens(sandbox)]
    sandbox.passTime(14 * dayMs - 1000)
    const answer = await refresh(sandbox, used.refresh_token)
    t.equal(answer.statusCode, 200)
    sandbox.passTime(1000)
    t.match((await refresh(sandbox, unused.refresh_token)).json(), invalidGrant)
    t.match(await refresh(sandbox, answer.json().refresh_token), { statusCode: 200 })
  })

  t.test(
    `RF-07: a token family ends after 90 days, however often its tokens are renewed (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      let { refresh_token: token } = await getTokens(sandbox)
      const rotate = async () => {
        const answer = await refresh(sandbox, token)
        t.equal(answer.statusCode, 200)
        return answer.json().refresh_token
      }
      for (let fortnight = 0; fortnight < 6; fortnight += 1) {
        sandbox.passTime(13 * dayMs)
        token = await rotate()
      }
      sandbox.passTime(12 * dayMs - 1000)
      const newest = await rotate()
      sandbox.passTime(1000)
      t.match((await refresh(sandbox, newest)).json(), invalidGrant)
      t.match(
        (await refresh(sandbox, token)).json(),
        invalidGrant,
        'the previous token must become invalid with the family',
      )
    },
  )
}

t.test('RF-01: each mistake in a renewal gets its own error, and the refresh token still works', async t => {
  const sandbox = await buildTestSandbox(t)
  const { refresh_token: token } = await getTokens(sandbox)
  const cases: [string | undefined, Record<string, string | undefined>, number, string][] = [
    [undefined, {}, 400, 'invalid_request'],
    ['', {}, 400, 'invalid_request'],
    [token, { client_secret: undefined }, 400, 'invalid_request'],
    [token, { client_id: undefined }, 400, 'invalid_request'],
    [token, { client_secret: 'wrong' }, 401, 'invalid_client'],
    [token, { client_id: 'nobody' }, 401, 'invalid_client'],
    [token, { scope: 'admin' }, 400, 'invalid_scope'],
    ['x'.repeat(30), {}, 401, 'invalid_grant'],
    ['x'.repeat(2_048), {}, 401, 'invalid_grant'],
    ['x'.repeat(10_000), {}, 400, 'invalid_request'],
    ['nul\0', {}, 401, 'invalid_grant'],
  ]
  for (const [refreshToken, fields, statusCode, error] of cases) {
    const answer = await refresh(sandbox, refreshToken, { state: 'its-state', ...fields })
    t.equal(answer.statusCode, statusCode, JSON.stringify(fields))
    t.match(answer.json(), { error, state: 'its-state' }, JSON.stringify(fields))
    t.equal(answer.headers['www-authenticate'], undefined)
    t.equal(answer.headers['cache-control'], 'no-store')
  }
  const good = await refresh(sandbox, token, { state: 'its-state', redirect_uri: seeded.redirectUri })
  t.match(
    good.json(),
    { state: 'its-state' },
    'the portal must repeat the state, and must ignore fields of other grants',
  )
})

t.test('RF-01: a renewal accepts a JSON body, and if a field is repeated, the error is invalid_request', async t => {
  const { portal, ...sandbox } = await buildTestSandbox(t)
  const { refresh_token } = await getTokens({ portal })
  const payload = {
    grant_type: 'refresh_token',
    refresh_token,
    client_id: seeded.clientId,
    client_secret: seeded.clientSecret,
  }
  const url = '/api/exchangeToken'
  const repeated = await portal.inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `${new URLSearchParams(payload)}&refresh_token=${refresh_token}`,
  })
  t.match(repeated, { statusCode: 400 })
  t.match(repeated.json(), { error: 'invalid_request' })
  const answer = await portal.inject({ method: 'POST', url, payload })
  t.equal(answer.statusCode, 200)
  const log = sandbox.logLines.join('')
  t.match(log, '"grantType":"refresh_token"')
  for (const secret of [refresh_token, answer.json().refresh_token, answer.json().access_token, seeded.clientSecret])
    t.notOk(log.includes(secret), 'LG-01: the log must not contain the secret')
})

t.test(
  'SE-01: the database contains no refresh token in plain text, neither a replaced token nor a new one',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { refresh_token: first } = await getTokens(sandbox)
    const { refresh_token: second } = (await refresh(sandbox, first)).json()
    const { read } = sandbox.store
    const dump = JSON.stringify([
      await read.selectFrom('grants').selectAll().execute(),
      await read.selectFrom('spent_refresh_tokens').selectAll().execute(),
    ])
    for (const token of [first, second]) t.notOk(dump.includes(token))
  },
)
