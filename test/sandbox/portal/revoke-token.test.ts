// Tests the call that revokes tokens: which tokens become invalid, and which stay valid.
import t from 'tap'
import { userTokenLifetime } from '../../../src/sandbox/tokens/access-token.ts'
import { exchange } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { getTokens, isAccepted, refresh } from '../support/tokens.ts'

function revoke({ portal }: TestSandbox, fields: Record<string, string>, contentType?: string) {
  const all = { client_id: seeded.clientId, client_secret: seeded.clientSecret, ...fields }
  return portal.inject({
    method: 'POST',
    url: '/api/revokeToken',
    headers: { 'content-type': contentType ?? 'application/x-www-form-urlencoded' },
    payload: contentType ? JSON.stringify(all) : new URLSearchParams(all).toString(),
  })
}

for (const database of await openDatabases(t)) {
  t.test(
    `revoke-call: if a refresh token is revoked, its whole token family ends, and all access tokens of the family become invalid (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const sandbox = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const [first, another] = [await getTokens(sandbox), await getTokens(sandbox)]
      const second = (await refresh(sandbox, first.refresh_token)).json()
      const answer = await revoke(sandbox, { token: second.refresh_token, token_type_hint: 'refresh_token' })
      t.match(answer, { statusCode: 200, body: '', headers: { 'cache-control': 'no-store' } })
      for (const { access_token, refresh_token } of [first, second]) {
        t.equal(
          await isAccepted(other, access_token),
          false,
          'the token must become invalid immediately on every instance',
        )
        t.match((await refresh(other, refresh_token)).json(), { error: 'invalid_grant' })
      }
      t.equal(await isAccepted(other, another.access_token), true, 'another login must stay valid')
      t.match(
        await revoke(sandbox, { token: second.refresh_token }),
        { statusCode: 200 },
        'revoking again must succeed',
      )
    },
  )

  t.test(
    `revoke-call: if a replaced refresh token or an access token is revoked, the whole token family also ends (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      for (const which of ['refresh_token', 'access_token'] as const) {
        const first = await getTokens(sandbox)
        const second = (await refresh(sandbox, first.refresh_token)).json()
        t.match(await revoke(sandbox, { token: first[which] }), { statusCode: 200 }, which)
        t.equal(await isAccepted(sandbox, second.access_token), false)
        t.match((await refresh(sandbox, second.refresh_token)).json(), { error: 'invalid_grant' })
      }
    },
  )

  t.test(
    `revoke-call: if a client revokes an unknown token or another client’s token, the answer is 200, and all tokens stay valid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { client, tokens: appTokens } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const stranger = { client_id: client.clientId, client_secret: client.clientSecrets[0] }
      const { refresh_token: replaced } = await getTokens(sandbox)
      const tokens = (await refresh(sandbox, replaced)).json()
      const ofOthers = [
        { token: replaced, ...stranger },
        { token: tokens.refresh_token, ...stranger },
        { token: tokens.access_token, ...stranger },
        { token: appTokens[0].token },
      ]
      for (const fields of ofOthers) t.match(await revoke(sandbox, fields), { statusCode: 200 })
      for (const token of ['x'.repeat(30), 'nul\0', 'é', 'a.b.c', 'x'.repeat(2000)])
        t.match(await revoke(sandbox, { token }), { statusCode: 200 }, token.slice(0, 9))
      t.equal(await isAccepted(sandbox, tokens.access_token), true)
      t.equal(await isAccepted(sandbox, appTokens[0].token), true)
      t.match(await refresh(sandbox, tokens.refresh_token), { statusCode: 200 })
    },
  )
}

t.test(
  'revoke-call: if an expired access token is revoked, the answer is 200, and the refresh token stays valid',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { access_token, refresh_token } = await getTokens(sandbox)
    sandbox.passTime((userTokenLifetime + 1) * 1000)
    t.match(await revoke(sandbox, { token: access_token }), { statusCode: 200 })
    t.match(await refresh(sandbox, refresh_token), { statusCode: 200 })
  },
)

t.test('TK-02: an invalid revocation request gets the right OAuth error, and does not revoke any token', async t => {
  const sandbox = await buildTestSandbox(t)
  const { refresh_token: token } = await getTokens(sandbox)
  const cases: [Record<string, string>, number, string][] = [
    [{}, 400, 'invalid_request'],
    [{ token: '' }, 400, 'invalid_request'],
    [{ token, client_secret: '' }, 400, 'invalid_request'],
    [{ token, client_id: '' }, 400, 'invalid_request'],
    [{ token, client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ token, client_id: 'nobody' }, 401, 'invalid_client'],
  ]
  for (const [fields, statusCode, error] of cases) {
    const answer = await revoke(sandbox, fields)
    t.equal(answer.statusCode, statusCode, JSON.stringify(fields))
    t.match(answer.json(), { error })
  }
  const url = '/api/revokeToken'
  t.match(await sandbox.portal.inject({ url }), { statusCode: 405, headers: { allow: 'POST' } })
  t.match(await sandbox.portal.inject({ method: 'POST', url: `${url}?token=${token}` }), { statusCode: 400 })
  t.match(await refresh(sandbox, token), { statusCode: 200 })
  t.match(await revoke(sandbox, { token }, 'application/json'), { statusCode: 200 }, 'a JSON body must be accepted')
  t.notOk(sandbox.logLines.join('').includes(token), 'LG-01: the token is not logged')
})

t.test('TK-04: wrong secrets in revocations and wrong secrets in exchanges count towards the same limit', async t => {
  const sandbox = await buildTestSandbox(t)
  const { refresh_token: token } = await getTokens(sandbox)
  for (let attempt = 0; attempt < 10; attempt += 1)
    t.equal((await revoke(sandbox, { token, client_secret: `wrong ${attempt}` })).statusCode, 401)
  const wrong = { client_secret: 'wrong 10' }
  t.match(await revoke(sandbox, { token, ...wrong }), { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
  t.match(await exchange(sandbox, { code: 'x', ...wrong }), { statusCode: 429 })
})
