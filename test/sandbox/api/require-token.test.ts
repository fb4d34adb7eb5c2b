// Tests that every call needs an access token in the Authorization header, and how long a token is valid.
import t from 'tap'
import { addSigningKey } from '../../../src/sandbox/store/keys.ts'
import { sweep } from '../../../src/sandbox/store/sweep.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callFromPortal } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { openAsDeveloper } from '../support/forms.ts'
import { getTokens, refresh } from '../support/tokens.ts'

function list({ api }: TestSandbox, authorization?: string, url = '/apps/v1') {
  return api.inject({ url, headers: authorization === undefined ? {} : { authorization } })
}

t.test(
  'AP-01, AP-02: the API reads the token only from the Authorization header, and accepts the word “Bearer” in upper or lower case',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { accessToken } = await callAsDeveloper(sandbox)
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      t.equal((await list(sandbox, `${scheme} ${accessToken}`)).statusCode, 200, scheme)
    const none = await list(sandbox)
    t.equal(none.statusCode, 401)
    t.strictSame(none.json(), { error: { status: 401, message: 'Unauthorized' } })
    t.equal(none.headers['www-authenticate'], 'Bearer realm="application API"')
    const challenge = 'Bearer realm="application API"'
    const withError = `${challenge}, error="invalid_token"`
    const refused = [
      ['Bearer', challenge],
      ['Bearer ', challenge],
      ['', challenge],
      [`Basic ${accessToken}`, challenge],
      [accessToken, challenge],
      [`Bearer  ${accessToken}`, withError],
      [`Bearer ${accessToken}, Bearer ${accessToken}`, withError],
      [`bearer ${'x'.repeat(10_000)}`, withError],
      ['Bearer %E0%A4%A', withError],
      ['Bearer \u00e9', withError],
    ] as const
    for (const [authorization, expected] of refused) {
      const answer = await list(sandbox, authorization)
      t.equal(answer.statusCode, 401, authorization.slice(0, 20))
      t.equal(answer.headers['www-authenticate'], expected, authorization.slice(0, 20))
    }
    t.equal((await list(sandbox, undefined, `/apps/v1?access_token=${accessToken}`)).statusCode, 401)
    t.equal((await list(sandbox, `Bearer ${accessToken}`, `/apps/v1?access_token=${accessToken}`)).statusCode, 400)
  },
)

t.test('AP-01: without a valid token every API operation answers 401 before it checks anything else', async t => {
  const sandbox = await buildTestSandbox(t)
  const id = seeded.clientId
  const operations = [
    ['GET', '/apps/v1'],
    ['POST', '/apps/v1'],
    ['GET', `/apps/v1/${id}`],
    ['PUT', `/apps/v1/${id}`],
    ['DELETE', `/apps/v1/${id}`],
    ['POST', `/apps/v1/${id}/refreshSecret`],
    ['GET', '/apps/v1/unknown'],
    ['POST', '/identities/v1'],
    ['POST', `/identities/v1/${id}/link/${id}`],
    ['GET', `/identities/v1/${id}/links`],
  ] as const
  for (const [method, url] of operations) {
    const send = (headers: Record<string, string>) =>
      method === 'GET'
        ? sandbox.api.inject({ method, url, headers })
        : sandbox.api.inject({ method, url, headers: { 'content-type': 'text/plain', ...headers }, payload: 'no JSON' })
    const none = await send({})
    const bad = await send({ authorization: 'Bearer x' })
    for (const [answer, challenge] of [
      [none, 'Bearer realm="application API"'],
      [bad, 'Bearer realm="application API", error="invalid_token"'],
    ] as const) {
      t.strictSame(answer.json(), { error: { status: 401, message: 'Unauthorized' } }, `${method} ${url}`)
      t.equal(answer.headers['www-authenticate'], challenge)
      t.equal(answer.headers['cache-control'], 'no-store')
    }
  }
  t.equal((await sandbox.store.read.selectFrom('applications').selectAll().execute()).length, 1)
})

t.test('AP-02: the API does not accept an access token in a form body', async t => {
  const sandbox = await buildTestSandbox(t)
  const { accessToken } = await callAsDeveloper(sandbox)
  const send = (headers: Record<string, string>) =>
    sandbox.api.inject({
      method: 'POST',
      url: '/apps/v1',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: `access_token=${accessToken}`,
    })
  t.equal((await send({})).statusCode, 401)
  t.equal((await send({ authorization: `Bearer ${accessToken}` })).statusCode, 415)
})

t.test(
  'AP-03: a token expires after exactly 24 hours, and an instance whose clock is a minute behind accepts a new token',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { accessToken } = await callAsDeveloper(sandbox)
    for (const [ms, statusCode] of [
      [-61_000, 401],
      [1000, 200],
      [60_000, 200],
      [86_400_000 - 1000, 200],
      [1000, 401],
    ] as const) {
      sandbox.passTime(ms)
      t.equal((await list(sandbox, `Bearer ${accessToken}`)).statusCode, statusCode, sandbox.now().toISOString())
    }
  },
)

for (const database of await openDatabases(t))
  t.test(
    `AP-03: the sweep does not make an access token invalid before its 24 hours have passed (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const ofPage = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
      const ofClient = await callAsDeveloper(sandbox)
      const { refresh_token: refreshToken } = await getTokens(sandbox)
      sandbox.passTime(86_400_000 - 1000)
      await sweep(sandbox.store, sandbox.now())
      for (const { accessToken } of [ofPage, ofClient])
        t.equal((await list(sandbox, `Bearer ${accessToken}`)).statusCode, 200)
      t.equal((await refresh(sandbox, refreshToken)).statusCode, 200, 'the refresh token must still work')
      sandbox.passTime(1000)
      for (const { accessToken } of [ofPage, ofClient])
        t.equal((await list(sandbox, `Bearer ${accessToken}`)).statusCode, 401)
    },
  )

t.test(
  'SE-06: tokens that were signed with an older key stay valid, and the sandbox finds a new key that another process uses',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { accessToken } = await callAsDeveloper(sandbox)
    sandbox.passTime(1000)
    await sandbox.store.transaction(db => addSigningKey(db, sandbox.now()))
    const other = await buildTestSandbox(t, { databaseUrl: sandbox.config.databaseUrl.reveal(), at: sandbox.now() })
    const { accessToken: newer } = await callAsDeveloper(other)
    t.not(accessToken.split('.')[0], newer.split('.')[0], 'signed with another key')
    t.equal((await list(other, `Bearer ${accessToken}`)).statusCode, 200)
    t.equal((await list(sandbox, `Bearer ${newer}`)).statusCode, 200)
  },
)
