// Tests the exchange: which requests get tokens, and what happens if a code is used a second time.
import { createHash } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { createPasswords } from '../../../src/sandbox/people/hash-passwords.ts'
import { exchange, logIn, openBrowser, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { openDatabases } from '../support/each-database.ts'
import { getCode, isAccepted, makeOtherClient, refresh, untilNotBusy } from '../support/tokens.ts'

for (const database of await openDatabases(t)) {
  t.test(
    `TK-09: if one code is exchanged 50 times at the same time on two instances, exactly one exchange succeeds (${database.name})`,
    async t => {
      const databaseUrl = await database.make(t)
      const one = await buildTestSandbox(t, { databaseUrl })
      const other = await buildTestSandbox(t, { databaseUrl })
      const code = await getCode(one)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) => untilNotBusy(() => exchange(index % 2 ? one : other, { code }))),
      )
      t.equal(answers.filter(answer => answer.statusCode === 200).length, 1)
      const refused = answers.filter(answer => answer.statusCode !== 200)
      for (const answer of refused) t.match(answer, { statusCode: 401 })
      for (const answer of refused) t.match(answer.json(), { error: 'invalid_grant', state: 'a-state' })
    },
  )

  t.test(
    `TK-10: if a code is used again after more than 10 s, the tokens of the first exchange become invalid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const code = await getCode(sandbox)
      const { access_token: accessToken, refresh_token: refreshToken } = (await exchange(sandbox, { code })).json()
      t.equal(await isAccepted(sandbox, accessToken), true)
      sandbox.passTime(11_000)
      t.match((await exchange(sandbox, { code })).json(), { error: 'invalid_grant' })
      t.equal(await isAccepted(sandbox, accessToken), false)
      t.match((await refresh(sandbox, refreshToken)).json(), { error: 'invalid_grant' })
    },
  )

  t.test(
    `TK-10: if a client exchanges the same code twice within 10 s, the tokens of the first exchange stay valid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const code = await getCode(sandbox)
      const { access_token: accessToken, refresh_token: refreshToken } = (await exchange(sandbox, { code })).json()
      for (const ms of [0, 1_000, 9_000]) {
        sandbox.passTime(ms)
        const replay = await exchange(sandbox, { code })
        t.equal(replay.statusCode, 401)
        t.match(replay.json(), { error: 'invalid_grant' })
      }
      t.equal(sandbox.logLines.filter(line => line.includes('code-replayed')).length, 3)
      t.equal(await isAccepted(sandbox, accessToken), true)
      t.equal((await refresh(sandbox, refreshToken)).statusCode, 200)
    },
  )

  t.test(
    `TK-10: if a used code is sent again with another state, redirect URI or verifier, the tokens from this code become invalid immediately (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const code_verifier = 'v'.repeat(43)
      const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
      const bound = { code_challenge, code_challenge_method: 'S256' }
      for (const other of [
        { state: 'another' },
        { state: undefined },
        { redirect_uri: 'https://other.example.test/' },
        { code_verifier: 'w'.repeat(43) },
        { code_verifier: undefined },
      ]) {
        const code = await getCode(sandbox, bound)
        const { access_token: accessToken } = (await exchange(sandbox, { code, code_verifier })).json()
        t.match((await exchange(sandbox, { code, code_verifier, ...other })).json(), { error: 'invalid_grant' })
        t.equal(await isAccepted(sandbox, accessToken), false, JSON.stringify(other))
      }
      const code = await getCode(sandbox)
      const { access_token: accessToken } = (await exchange(sandbox, { code })).json()
      t.match((await exchange(sandbox, { code, code_verifier })).json(), { error: 'invalid_grant' })
      t.ok(await isAccepted(sandbox, accessToken), 'a verifier counts only if the login had a challenge')
    },
  )

  t.test(
    `TK-10: if another client sends a used code, the tokens of the client that owns the code stay valid (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { client } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const code = await getCode(sandbox)
      const { access_token: accessToken, refresh_token: refreshToken } = (await exchange(sandbox, { code })).json()
      for (const ms of [0, 30_000]) {
        sandbox.passTime(ms)
        const foreign = { client_id: client.clientId, client_secret: client.clientSecrets[0] }
        const replay = await exchange(sandbox, { code, ...foreign })
        t.equal(replay.statusCode, 401)
        t.match(replay.json(), { error: 'invalid_grant' })
      }
      t.equal(await isAccepted(sandbox, accessToken), true)
      t.equal((await refresh(sandbox, refreshToken)).statusCode, 200)
    },
  )

  t.test(
    `TK-02: each mistake in an exchange gets its own error, and the code still works in a correct exchange (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const code = await getCode(sandbox)
      const cases: [Record<string, string | undefined>, number, string][] = [
        [{ grant_type: undefined }, 400, 'invalid_request'],
        [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
        [{ code: undefined }, 400, 'invalid_request'],
        [{ code: '' }, 400, 'invalid_request'],
        [{ client_id: undefined }, 400, 'invalid_request'],
        [{ client_secret: undefined }, 400, 'invalid_request'],
        [{ redirect_uri: undefined }, 400, 'invalid_request'],
        [{ redirect_uri: `${seeded.redirectUri}/` }, 400, 'invalid_request'],
        [{ redirect_uri: `${seeded.redirectUri}\0` }, 400, 'invalid_request'],
        [{ client_secret: 'wrong' }, 401, 'invalid_client'],
        [{ client_id: 'nobody' }, 401, 'invalid_client'],
        [{ client_id: 'nul\0' }, 401, 'invalid_client'],
        [{ code: 'x'.repeat(30) }, 401, 'invalid_grant'],
        [{ state: 'another' }, 401, 'invalid_grant'],
        [{ state: undefined }, 401, 'invalid_grant'],
        [{ code_verifier: 'v'.repeat(43) }, 401, 'invalid_grant'],
      ]
      for (const [fields, statusCode, error] of cases) {
        const answer = await exchange(sandbox, { code, ...fields })
        t.equal(answer.statusCode, statusCode, JSON.stringify(fields))
        t.equal(answer.json().error, error, JSON.stringify(fields))
        t.match(answer.json().error_description, /^[\x20-\x7e]+$/)
        t.equal(answer.headers['www-authenticate'], undefined)
        t.equal(answer.headers['cache-control'], 'no-store')
      }
      t.equal((await exchange(sandbox, { code })).statusCode, 200)
    },
  )
}

t.test(
  'TK-13, TK-03: the answer to an exchange has exactly the platform’s fields and the field “scope”, and must not be cached',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const answer = await exchange(sandbox, { code: await getCode(sandbox) })
    t.equal(answer.statusCode, 200)
    t.match(answer.headers, {
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    const tokens = answer.json()
    t.strictSame(Object.keys(tokens).sort(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'scope',
      'state',
      'token_type',
    ])
    t.match(tokens, {
      expires_in: 86400,
      token_type: 'Bearer',
      scope: '',
      state: 'a-state',
      refresh_token: /^[A-Za-z0-9]{30}$/,
    })
  },
)

t.test('TK-14: an access token is a signed JWT with the documented claims and no personal data', async t => {
  const sandbox = await buildTestSandbox(t)
  const parameters = await logIn(sandbox)
  const { access_token: accessToken } = (await exchange(sandbox, { code: parameters.get('code') ?? '' })).json()
  t.match(decodeProtectedHeader(accessToken), { alg: 'ES256', typ: 'at+jwt', kid: /^[\w-]+$/ })
  const claims = decodeJwt(accessToken)
  t.match(claims, { iss: portalUrl, sub: parameters.get('subject'), aud: seeded.clientId, type: 'User', jti: String })
  t.equal((claims.exp ?? 0) - (claims.iat ?? 0), 86400)
  t.notMatch(JSON.stringify(claims), seeded.email)
})

t.test(
  'TK-01: an exchange accepts a form or JSON as its body, and refuses other content types, other methods, and parameters in the address',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { portal } = sandbox
    const payload = {
      grant_type: 'authorization_code',
      code: await getCode(sandbox),
      client_id: seeded.clientId,
      client_secret: seeded.clientSecret,
      redirect_uri: seeded.redirectUri,
      state: 'a-state',
    }
    const url = '/api/exchangeToken'
    t.equal((await portal.inject({ method: 'POST', url, payload })).statusCode, 200)
    t.equal((await portal.inject({ method: 'GET', url })).statusCode, 405)
    t.equal((await portal.inject({ method: 'OPTIONS', url })).statusCode, 405)
    const text = await portal.inject({ method: 'POST', url, payload: 'x', headers: { 'content-type': 'text/plain' } })
    t.match(text, { statusCode: 415 })
    const inAddress = await portal.inject({ method: 'POST', url: `${url}?client_secret=canary`, payload })
    t.match(inAddress, { statusCode: 400 })
    t.match(inAddress.json(), { error: 'invalid_request' })
    t.notMatch(sandbox.logLines.join(''), 'canary')
  },
)

t.test(
  'TK-03, TK-15: every answer to an exchange is JSON; browsers must not cache or sniff the answer, and no other origin can read it',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const url = '/api/exchangeToken'
    const foreign = { origin: 'http://localhost:3000' }
    const type = 'application/x-www-form-urlencoded'
    const preflight = { ...foreign, 'access-control-request-method': 'POST' }
    const answers = [
      await exchange(sandbox, { code: await getCode(sandbox) }),
      await exchange(sandbox, { code: 'x' }),
      await exchange(sandbox, { client_secret: 'wrong', code: 'x' }),
      await sandbox.portal.inject({ method: 'POST', url, headers: { 'content-type': type }, payload: 'x' }),
      await sandbox.portal.inject({ method: 'POST', url, headers: { 'content-type': 'text/plain' }, payload: 'x' }),
      await sandbox.portal.inject({ method: 'POST', url, payload: { a: 'x'.repeat(40_000) } }),
      await sandbox.portal.inject({ method: 'OPTIONS', url, headers: preflight }),
      await sandbox.portal.inject({ method: 'GET', url }),
      await sandbox.portal.inject({ url: '/api/nothing' }),
      await sandbox.portal.inject({ method: 'POST', url, headers: foreign, payload: {} }),
    ]
    t.strictSame(
      answers.map(answer => answer.statusCode),
      [200, 401, 401, 400, 415, 413, 403, 405, 404, 403],
    )
    for (const answer of answers) {
      t.match(answer.headers, {
        'cache-control': 'no-store',
        pragma: 'no-cache',
        'content-type': 'application/json; charset=utf-8',
        'x-content-type-options': 'nosniff',
      })
      t.notOk(Object.keys(answer.headers).some(name => name.startsWith('access-control-')))
    }
  },
)

t.test(
  'TK-07: an exchange must have a redirect_uri, which must equal the redirect_uri of the login request byte by byte',
  async t => {
    const other = `${seeded.redirectUri}/other`
    const sandbox = await buildTestSandbox(t, { redirectUris: [seeded.redirectUri, other] })
    const code = await getCode(sandbox)
    for (const redirect_uri of [undefined, '', other, `${seeded.redirectUri}?`, seeded.redirectUri.toUpperCase()]) {
      const answer = await exchange(sandbox, { code, redirect_uri })
      t.equal(answer.statusCode, 400, redirect_uri ?? 'missing')
      t.match(answer.json(), { error: 'invalid_request' })
    }
    t.equal((await exchange(sandbox, { code })).statusCode, 200)
  },
)

t.test(
  'TK-08: the state of an exchange must equal the state of the login request, and each answer repeats the state of the exchange',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const state = `A+/=%&"<é😀 '~`
    const code = await getCode(sandbox, { state })
    for (const wrong of [`${state} `, state.toLowerCase(), 'é', undefined]) {
      const answer = await exchange(sandbox, { code, state: wrong })
      t.equal(answer.statusCode, 401)
      t.equal(answer.json().error, 'invalid_grant')
      t.equal(answer.json().state, wrong)
    }
    const answer = await exchange(sandbox, { code, state })
    t.equal(answer.statusCode, 200)
    t.equal(answer.json().state, state)
  },
)

t.test('TK-02: if an exchange contains a field twice, the error is invalid_request', async t => {
  const sandbox = await buildTestSandbox(t)
  const answer = await sandbox.portal.inject({
    method: 'POST',
    url: '/api/exchangeToken',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: `grant_type=authorization_code&code=a&code=b&client_id=${seeded.clientId}&client_secret=x&redirect_uri=y`,
  })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: 'invalid_request' })
})

t.test('TK-02, TK-08: if a JSON field contains half of a surrogate pair, the error is invalid_request', async t => {
  const { portal } = await buildTestSandbox(t)
  const fields = ['grant_type', 'code', 'refresh_token', 'client_id', 'client_secret', 'redirect_uri', 'state']
  for (const [url, names] of [
    ['/api/exchangeToken', [...fields, 'code_verifier', 'scope']],
    ['/api/revokeToken', ['token', 'client_id', 'client_secret']],
  ] as const)
    for (const name of names) {
      const answer = await portal.inject({ method: 'POST', url, payload: { [name]: 'a\ud800b' } })
      t.equal(answer.statusCode, 400, name)
      t.match(answer.json(), { error: 'invalid_request', error_description: `${name} must be a string.` })
    }
})

t.test(
  'TK-04: after 10 wrong secrets for a client, more wrong secrets get a 429 answer with Retry-After, but the right secret is still accepted',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox)
    for (let attempt = 1; attempt <= 50; attempt += 1) {
      const refused = await exchange(sandbox, { code, client_secret: `wrong ${attempt}` })
      if (attempt <= 10) t.equal(refused.statusCode, 401)
      else t.match(refused, { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
    }
    t.equal((await exchange(sandbox, { code })).statusCode, 200, 'the right secret must still be accepted')
    sandbox.passTime(15 * 60_000)
    t.equal((await exchange(sandbox, { code, client_secret: 'wrong 51' })).statusCode, 401)
  },
)

t.test('TK-05: if a client authenticates in two ways in one request, the portal refuses the request', async t => {
  const sandbox = await buildTestSandbox(t)
  const payload = {
    grant_type: 'authorization_code',
    code: await getCode(sandbox),
    client_id: seeded.clientId,
    client_secret: seeded.clientSecret,
    redirect_uri: seeded.redirectUri,
    state: 'a-state',
  }
  const authorization = `Basic ${Buffer.from(`${seeded.clientId}:${seeded.clientSecret}`).toString('base64')}`
  const send = (headers: Record<string, string>) =>
    sandbox.portal.inject({ method: 'POST', url: '/api/exchangeToken', headers, payload })
  const both = await send({ authorization })
  t.equal(both.statusCode, 400)
  t.match(both.json(), { error: 'invalid_request' })
  t.equal((await send({})).statusCode, 200)
})

t.test('TK-06: a code works only for the client to which the portal issued the code', async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  const stolen = await exchange(sandbox, { code, ...(await makeOtherClient(sandbox)) })
  t.equal(stolen.statusCode, 401)
  t.match(stolen.json(), { error: 'invalid_grant' })
  t.equal((await exchange(sandbox, { code })).statusCode, 200, 'the code must still work for its client')
})

t.test('TK-11: codes and access tokens live as long as the settings say', async t => {
  const sandbox = await buildTestSandbox(t, { codeSeconds: 5, accessTokenSeconds: 90 })
  const [early, late] = [await getCode(sandbox), await getCode(sandbox)]
  sandbox.passTime(4_000)
  const answer = (await exchange(sandbox, { code: early })).json()
  t.equal(answer.expires_in, 90)
  const { iat = 0, exp = 0 } = decodeJwt(answer.access_token)
  t.equal(exp - iat, 90)
  sandbox.passTime(1_000)
  t.match((await exchange(sandbox, { code: late })).json(), { error: 'invalid_grant' })
})

t.test('TK-11: a code is valid for 60 seconds', async t => {
  const sandbox = await buildTestSandbox(t)
  const [early, late] = [await getCode(sandbox), await getCode(sandbox)]
  sandbox.passTime(59_000)
  t.equal((await exchange(sandbox, { code: early })).statusCode, 200)
  sandbox.passTime(2000)
  t.match((await exchange(sandbox, { code: late })).json(), { error: 'invalid_grant' })
})

t.test(
  'TK-12: if the login request has a challenge, the exchange needs the verifier; if the login request has no challenge, the exchange must have no verifier',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const verifier = 'v'.repeat(50)
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const start = () => getCode(sandbox, { code_challenge, code_challenge_method: 'S256' })
    const plain = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
    const refused = await openBrowser(sandbox).get(startUrl(plain))
    t.match(refused.body, 'code_challenge_method must be S256.', 'the method plain must be refused')
    t.equal((await exchange(sandbox, { code: await start(), code_verifier: verifier })).statusCode, 200)
    t.equal((await exchange(sandbox, { code: await start(), code_verifier: 'w'.repeat(50) })).statusCode, 401)
    t.equal((await exchange(sandbox, { code: await start() })).statusCode, 401)
    t.equal((await exchange(sandbox, { code: await getCode(sandbox), code_verifier: verifier })).statusCode, 401)
  },
)

t.test(
  'if a login request has no state, the exchange can have any state or no state, and the answer repeats the state of the exchange',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const without = await exchange(sandbox, { code: await getCode(sandbox, { state: undefined }), state: undefined })
    t.equal(without.statusCode, 200)
    t.notOk('state' in without.json())
    const withOne = await exchange(sandbox, { code: await getCode(sandbox, { state: undefined }), state: 'late' })
    t.equal(withOne.json().state, 'late')
  },
)

t.test('AZ-10, SE-01: the database contains no code, token, secret or password in plain text', async t => {
  const sandbox = await buildTestSandbox(t, { passwords: createPasswords() })
  const code = await getCode(sandbox)
  const tokens = (await exchange(sandbox, { code })).json()
  const { read } = sandbox.store
  const rows = await Promise.all([
    read.selectFrom('grants').selectAll().execute(),
    read.selectFrom('client_secrets').selectAll().execute(),
    read.selectFrom('users').selectAll().execute(),
    read.selectFrom('portal_sessions').selectAll().execute(),
  ])
  const dump = JSON.stringify(rows)
  for (const secret of [code, tokens.access_token, tokens.refresh_token, seeded.clientSecret, seeded.password])
    t.notOk(dump.includes(secret))
  t.match(dump, /\$argon2id\$v=19\$m=19456,t=2,p=1\$/, 'PS-04')
})
