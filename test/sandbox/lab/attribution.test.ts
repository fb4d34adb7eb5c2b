// How the laboratory finds the login and the client of a step, and how a link leads a developer from an answer to its
// step.
import t from 'tap'
import { exchange, locationOf } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { buildTestLab, type CallLab } from '../support/call-lab.ts'
import { getCode, getTokens, makeOtherClient, type Tokens } from '../support/tokens.ts'

interface Login {
  id: string
  clientId: string | null
  outcome: string
  steps: { id: string; requestId: string; kind: string; route: string; reason: string | null }[]
}

/** Returns all logins of a client. If `clientId` is null, the function returns all logins without a known client. */
async function readLogins(lab: CallLab, clientId: string | null): Promise<Login[]> {
  const { logins } = (await lab('GET', 'logins')).json() as { logins: Login[] }
  const own = logins.filter(login => login.clientId === clientId)
  return Promise.all(own.map(async ({ id }) => (await lab('GET', `logins/${id}`)).json()))
}

const routesOf = (logins: Login[]) => logins.flatMap(({ steps }) => steps.map(({ route }) => route))

const listWith = ({ api }: TestSandbox, token: string, headers: Record<string, string> = {}) =>
  api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${token}`, ...headers } })

/** Follows the laboratory link in an answer. Returns the id of the login, and the number of the step in this login. */
async function follow(sandbox: TestSandbox, url: unknown): Promise<[login: string, step: number]> {
  const { pathname } = new URL(String(url))
  const answer = await sandbox.lab!.inject({ url: pathname, headers: { host: '127.0.0.1' } })
  const [, login = '', step = ''] = /^\/logins\/([\w-]+)#step-(\d+)$/.exec(locationOf(answer)) ?? []
  return [login, Number(step)]
}

const helpOf = ({ headers }: { headers: Record<string, unknown> }) =>
  /^<(.+)>; rel="help"$/.exec(String(headers.link))?.[1]

t.test(
  'if a client sends the same X-Request-Id with several calls, the link in each answer leads to the step of that call',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    const headers = { 'x-request-id': 'one-for-all' }
    const first = await sandbox.portal.inject({ method: 'POST', url: '/api/exchangeToken', headers })
    const tokens = await getTokens(sandbox)
    await listWith(sandbox, tokens.access_token, headers)
    const refused = await sandbox.api.inject({
      url: '/apps/v1/nobody',
      headers: { authorization: 'Bearer a.b', ...headers },
    })
    const logins = [...(await readLogins(lab, null)), ...(await readLogins(lab, seeded.clientId))]
    const steps = logins.flatMap(login => login.steps)
    t.equal(new Set(steps.map(({ id }) => id)).size, steps.length, 'each step has an id of its own')
    t.equal(steps.filter(({ requestId }) => requestId === 'one-for-all').length, 3)
    for (const [url, route] of [
      [first.json().error_uri, '/api/exchangeToken'],
      [helpOf(refused), '/apps/v1/:app_id'],
    ]) {
      const [id, number] = await follow(sandbox, url)
      t.match(logins.find(login => login.id === id)?.steps[number - 1], { route, requestId: 'one-for-all' })
    }
    const [found] = await follow(sandbox, 'http://127.0.0.1:4002/requests/one-for-all')
    t.ok(
      logins.some(({ id }) => id === found),
      'the address with the X-Request-Id must lead to a step with this id',
    )
  },
)

t.test(
  'a call with an app access token, or with a token from the laboratory, is listed under the client of the token',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    const { call, groupId } = await callAsDeveloper(sandbox)
    const created = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
    const clientId: string = created.client.clientId
    await listWith(sandbox, created.tokens[0].token)
    await listWith(sandbox, created.tokens[0].token)
    const [ofAppToken, ...others] = await readLogins(lab, clientId)
    t.same(others, [], 'calls with the same token must be steps of the same entry')
    t.match(ofAppToken, { outcome: 'no login', steps: [{ route: '/apps/v1' }, { route: '/apps/v1' }] })

    const made = (await lab('POST', 'applications', { redirectUri: seeded.redirectUri })).json()
    const own = { userId: made.userId, clientId: made.clientId }
    const { accessToken } = (await lab('POST', 'sign-in', own)).json()
    await listWith(sandbox, accessToken)
    await sandbox.portal.inject({ url: '/api/me', headers: { authorization: `Bearer ${accessToken}` } })
    t.same(routesOf(await readLogins(lab, made.clientId)), ['/apps/v1', '/api/me'])
  },
)

t.test('a call with a bad token or a wrong content type is listed under the client that sent the call', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  const made = (await lab('POST', 'applications', { redirectUri: seeded.redirectUri })).json()
  const own = { userId: made.userId, clientId: made.clientId }
  const { accessToken } = (await lab('POST', 'sign-in', own)).json()
  await lab('POST', 'expire', { what: 'access-token', value: accessToken })
  t.equal((await listWith(sandbox, accessToken)).statusCode, 401)
  t.equal((await listWith(sandbox, accessToken.slice(0, -4))).statusCode, 401)
  const fields = { grant_type: 'authorization_code', code: 'none', client_id: made.clientId, client_secret: 'wrong' }
  for (const payload of [JSON.stringify(fields), new URLSearchParams(fields).toString()]) {
    const headers = { 'content-type': 'text/plain;charset=UTF-8' }
    const answer = await sandbox.portal.inject({ method: 'POST', url: '/api/exchangeToken', headers, payload })
    t.match(answer, { statusCode: 415 })
  }
  const reasons = (await readLogins(lab, made.clientId)).flatMap(({ steps }) => steps.map(({ reason }) => reason))
  t.same(reasons.sort(), ['content-type-unsupported', 'content-type-unsupported', 'token-expired', 'token-malformed'])
})

t.test('if a body has a wrong content type, the portal stops reading it at the size limit for forms', async t => {
  // The portal does the same without a laboratory.
  for (const { portal } of [(await buildTestLab(t)).sandbox, await buildTestSandbox(t)]) {
    const send = (length: number) => {
      const payload = `client_id=${'x'.repeat(length)}`
      return portal.inject({
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { 'content-type': 'text/plain' },
        payload,
      })
    }
    t.match(await send(100), { statusCode: 415 })
    t.match(await send(2_000_000), { statusCode: 413 })
  }
})

t.test(
  'if another client sends the code of a login, the exchange is listed under the other client, and not as a step of the login',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    const other = await makeOtherClient(sandbox)
    const code = await getCode(sandbox)
    await exchange(sandbox, { code, ...other })
    const [login] = await readLogins(lab, other.client_id)
    t.match(login?.steps, [{ kind: 'exchange', reason: 'code-of-another-client' }])
    const own = (await readLogins(lab, seeded.clientId)).flatMap(({ steps }) => steps.map(({ reason }) => reason))
    t.notOk(own.includes('code-of-another-client'))
  },
)

t.test('the laboratory records a request even if the `URL` class cannot parse the request’s address', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  t.equal((await sandbox.portal.inject({ method: 'GET', url: { pathname: '//' } })).statusCode, 404)
  const [login] = await readLogins(lab, null)
  t.match(login?.steps, [{ reason: 'not-found', route: '(none)' }])
})

t.test('a request with an unreadable address is recorded as a step, and the answer links to this step', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  for (const [server, path] of [
    [sandbox.portal, '/%'],
    [sandbox.api, '/apps/v1/%ff'],
    [sandbox.api, `/apps/v1/${'a'.repeat(101)}`],
  ] as const) {
    const answer = await server.inject({ method: 'GET', url: path, headers: { authorization: 'Bearer secret' } })
    t.match(answer.statusCode, /400|414/, path)
    const [id, number] = await follow(sandbox, helpOf(answer))
    const login = (await readLogins(lab, null)).find(login => login.id === id)
    const requestId = String(answer.headers['x-request-id'])
    t.match(login?.steps[number - 1], { reason: 'address-unreadable', route: '(none)', requestId }, path)
    t.notMatch(JSON.stringify(login), 'Bearer secret')
  }
})

t.test(
  'if faults delay the exchange and the renewal of a login, the outcome of the login is still “signed in”, and the renewal is recorded as a step of the kind “refresh”',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    for (const place of ['exchange', 'refresh'])
      await lab('POST', 'faults', { fault: `${place}-late`, options: { seconds: 0.01 } })
    const code = await getCode(sandbox)
    // A delayed answer needs a real connection, so the test cannot use `inject`.
    const address = await sandbox.portal.listen({ host: '127.0.0.1', port: 0 })
    const post = async (fields: Record<string, string>) => {
      const { clientId: client_id, clientSecret: client_secret } = seeded
      const body = new URLSearchParams({ client_id, client_secret, ...fields })
      return (await fetch(`${address}/api/exchangeToken`, { method: 'POST', body })).json() as Promise<Tokens>
    }
    const { redirectUri: redirect_uri } = seeded
    const tokens = await post({ grant_type: 'authorization_code', code, redirect_uri, state: 'a-state' })
    await post({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })
    const [login] = await readLogins(lab, seeded.clientId)
    t.equal(login?.outcome, 'signed in')
    t.equal(login?.steps.at(-1)?.kind, 'refresh')
  },
)

t.test(
  'laboratory-links: every refusal has the request id in a header; if the sandbox has a laboratory, the refusal also links to the laboratory',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    const off = await buildTestLab(t, { lab: undefined })
    const calls = [
      { listener: 'api', url: '/apps/v1' },
      { listener: 'portal', url: '/api/me' },
      { listener: 'portal', url: '/api/exchangeToken' },
    ] as const
    const headers = { 'x-request-id': 'mine' }
    for (const { listener, url } of calls) {
      const refused = await sandbox[listener].inject({ url, headers })
      t.equal(refused.headers['x-request-id'], 'mine', url)
      const [id] = await follow(sandbox, helpOf(refused))
      t.equal((await lab('GET', `logins/${id}`)).json().steps[0].request.path, url)
      const alone = await off.sandbox[listener].inject({ url, headers })
      t.match(alone.headers, { 'x-request-id': 'mine', link: undefined }, url)
      t.same(alone.body.includes('/requests/'), false)
    }
  },
)
