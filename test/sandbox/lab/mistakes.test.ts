// Each client makes one mistake in a whole sandbox. The laboratory must name the mistake, and must not blame a correct
// client.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { exchange, locationOf, logIn, openBrowser, type StartParameters, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, callAsStranger, makeCreateBody } from '../support/call-api.ts'
import { makeOtherClient, refresh, type Tokens } from '../support/tokens.ts'

const random = () => randomBytes(32).toString('base64url')
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

async function buildWatched(t: Test): Promise<TestSandbox> {
  return buildTestSandbox(t, { lab: { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined } })
}

interface Login {
  clientId: string | null
  steps: { kind: string; reason: string | null; checks: { name: string; passed: boolean }[]; start?: unknown }[]
  noticed: { id: string }[]
  outcome: string
  verdict: { fault: string | null }
}

/** Returns all logins, with the newest login first. */
async function readLogins({ lab }: TestSandbox): Promise<Login[]> {
  const headers = { host: '127.0.0.1:4002' }
  const { logins } = (await lab!.inject({ url: '/lab/v1/logins', headers })).json()
  const answers = logins.map(({ id }: { id: string }) => lab!.inject({ url: `/lab/v1/logins/${id}`, headers }))
  return (await Promise.all(answers)).map(answer => answer.json())
}

/** Starts a login as a correct client, and returns the code, the state and the verifier for the exchange. */
async function begin(sandbox: TestSandbox, parameters: StartParameters = {}) {
  const [state, verifier] = [random(), random()]
  const arrived = await logIn(sandbox, {
    state,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
  return { code: arrived.get('code') ?? '', state, code_verifier: verifier }
}

async function getTokens(sandbox: TestSandbox): Promise<Tokens> {
  return (await exchange(sandbox, await begin(sandbox))).json()
}

const callApi = ({ api }: TestSandbox, headers: Record<string, string>, query = '') =>
  api.inject({ url: `/apps/v1${query}`, headers })

const revoke = ({ portal }: TestSandbox, token: string) =>
  portal.inject({
    method: 'POST',
    url: '/api/revokeToken',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ token, client_id: seeded.clientId, client_secret: seeded.clientSecret }).toString(),
  })

interface Mistake {
  make(sandbox: TestSandbox): Promise<unknown>
  reason?: string
  notice?: string
  /** The check that failed. */
  check?: string
  /** The step kind that the laboratory must recognise. */
  kind?: string
}

const mistakes: Record<string, Mistake> = {
  'a client id that is wrong': {
    make: ({ portal }) => portal.inject(startUrl({ client_id: 'nobody' })),
    reason: 'client-unknown',
  },
  'no client id': { make: ({ portal }) => portal.inject(startUrl({ client_id: undefined })), reason: 'field-missing' },
  'a redirect URI that is not registered': {
    make: ({ portal }) => portal.inject(startUrl({ redirect_uri: `${seeded.redirectUri}/` })),
    reason: 'redirect-uri-unregistered',
    notice: 'other-redirect-uri',
    check: 'redirect_uri',
  },
  'no response_type': {
    make: ({ portal }) => portal.inject(startUrl({ response_type: undefined })),
    reason: 'field-missing',
  },
  'a response_type of token': {
    make: ({ portal }) => portal.inject(startUrl({ response_type: 'token' })),
    reason: 'response-type-unsupported',
  },
  'a cancel_url of another site': {
    make: ({ portal }) => portal.inject(startUrl({ cancel_url: 'https://elsewhere.test/' })),
    reason: 'cancel-url-foreign',
    check: 'cancel_url',
  },
  'a plain challenge': {
    make: ({ portal }) => portal.inject(startUrl({ code_challenge: random(), code_challenge_method: 'plain' })),
    reason: 'challenge-invalid',
  },
  'no state in the login request': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox, { state: undefined })), state: undefined }),
    notice: 'no-state',
  },
  'a state that is too short': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox, { state: 'k7Rq' })), state: 'k7Rq' }),
    notice: 'short-state',
  },
  'no PKCE': {
    make: async sandbox => {
      const login = await begin(sandbox, { code_challenge: undefined, code_challenge_method: undefined })
      return exchange(sandbox, { ...login, code_verifier: undefined })
    },
    notice: 'no-pkce',
  },
  'no state at the exchange': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), state: undefined }),
    reason: 'state-missing',
    notice: 'no-state-at-exchange',
    check: 'state',
  },
  'a state that is invented at the exchange': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), state: random() }),
    reason: 'state-differs',
    notice: 'invented-state',
    check: 'state',
  },
  'no verifier': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), code_verifier: undefined }),
    reason: 'verifier-missing',
    check: 'code_verifier',
  },
  'a verifier of another login': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), code_verifier: random() }),
    reason: 'verifier-differs',
    check: 'code_verifier',
  },
  'a verifier without a challenge': {
    make: async sandbox =>
      exchange(sandbox, await begin(sandbox, { code_challenge: undefined, code_challenge_method: undefined })),
    reason: 'verifier-unexpected',
    check: 'code_verifier',
  },
  'another redirect URI at the exchange': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), redirect_uri: 'http://localhost:3000/' }),
    reason: 'redirect-uri-differs',
    notice: 'other-redirect-uri',
    check: 'redirect_uri',
  },
  'a wrong secret': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), client_secret: random() }),
    reason: 'secret-wrong',
    check: 'client_secret',
  },
  'no secret': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), client_secret: undefined }),
    reason: 'field-missing',
  },
  'a code that was cut off': {
    make: async sandbox => {
      const login = await begin(sandbox)
      return exchange(sandbox, { ...login, code: login.code.slice(1) })
    },
    reason: 'code-unknown',
    check: 'code',
  },
  'a code that is sent twice': {
    make: async sandbox => {
      const login = await begin(sandbox)
      await exchange(sandbox, login)
      return exchange(sandbox, login)
    },
    reason: 'code-used',
    notice: 'code-sent-twice',
    check: 'code',
  },
  'a code that is too old': {
    make: async sandbox => {
      const login = await begin(sandbox)
      sandbox.passTime(61_000)
      return exchange(sandbox, login)
    },
    reason: 'code-expired',
    check: 'code',
  },
  'a code of another client': {
    make: async sandbox => exchange(sandbox, { ...(await begin(sandbox)), ...(await makeOtherClient(sandbox)) }),
    reason: 'code-of-another-client',
    check: 'code',
  },
  'a code in the address': {
    make: async sandbox => {
      const { code, state } = await begin(sandbox)
      const query = new URLSearchParams({ code, client_id: seeded.clientId, client_secret: seeded.clientSecret })
      return sandbox.portal.inject({
        method: 'POST',
        url: `/api/exchangeToken?${query}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ client_id: seeded.clientId, state }).toString(),
      })
    },
    reason: 'field-misplaced',
    notice: 'secret-in-address',
  },
  'another content type': {
    make: ({ portal }) =>
      portal.inject({
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { 'content-type': 'text/plain' },
        payload: 'code',
      }),
    reason: 'content-type-unsupported',
  },
  'a body that is not JSON': {
    make: ({ portal }) =>
      portal.inject({
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { 'content-type': 'application/json' },
        payload: '{',
      }),
    reason: 'body-unreadable',
  },
  'a call with GET': {
    make: ({ portal }) => portal.inject('/api/exchangeToken'),
    reason: 'method-not-allowed',
    kind: 'exchange',
  },
  'an address that does not exist': { make: ({ portal }) => portal.inject('/api/exchangeTokens'), reason: 'not-found' },
  'a call from a page': {
    make: ({ portal }) =>
      portal.inject({ method: 'POST', url: '/api/exchangeToken', headers: { 'sec-fetch-site': 'cross-site' } }),
    reason: 'cross-site',
  },
  'an exchange after a refusal': {
    make: async sandbox => {
      const state = random()
      const browser = openBrowser(sandbox)
      const answer = await browser.submit(await signIn(browser, { state }), { decision: 'decline' })
      t.match(locationOf(answer), 'error=access_denied')
      return exchange(sandbox, { code: 'made-up', state })
    },
    reason: 'consent-declined',
    notice: 'exchange-after-refusal',
  },
  'an old refresh token': {
    make: async sandbox => {
      const { refresh_token: token } = await getTokens(sandbox)
      await refresh(sandbox, token)
      sandbox.passTime(11_000)
      return refresh(sandbox, token)
    },
    reason: 'refresh-token-used',
    notice: 'old-refresh-token',
    check: 'refresh_token',
  },
  'a refresh token that the portal did not issue': {
    make: sandbox => refresh(sandbox, 'a'.repeat(30)),
    reason: 'refresh-token-unknown',
    check: 'refresh_token',
  },
  'a refresh token of another client': {
    make: async sandbox => refresh(sandbox, (await getTokens(sandbox)).refresh_token, await makeOtherClient(sandbox)),
    reason: 'refresh-token-of-another-client',
    check: 'refresh_token',
  },
  'a refresh token that was revoked': {
    make: async sandbox => {
      const tokens = await getTokens(sandbox)
      await revoke(sandbox, tokens.access_token)
      return refresh(sandbox, tokens.refresh_token)
    },
    reason: 'refresh-token-expired',
    check: 'refresh_token',
  },
  'a call without a token': { make: sandbox => callApi(sandbox, {}), reason: 'token-missing' },
  'a call with a token that was cut off': {
    make: async sandbox =>
      callApi(sandbox, { authorization: `Bearer ${(await getTokens(sandbox)).access_token.slice(0, -1)}` }),
    reason: 'token-malformed',
  },
  'a call with an expired token': {
    make: async sandbox => {
      const { access_token: token } = await getTokens(sandbox)
      sandbox.passTime(86_400_000 + 61_000)
      return callApi(sandbox, { authorization: `Bearer ${token}` })
    },
    reason: 'token-expired',
    notice: 'expired-token',
  },
  'a call with a revoked token': {
    make: async sandbox => {
      const { access_token: token } = await getTokens(sandbox)
      await revoke(sandbox, token)
      sandbox.passTime(1_000)
      return callApi(sandbox, { authorization: `Bearer ${token}` })
    },
    reason: 'token-revoked',
    notice: 'revoked-token',
  },
  'a token of a login that invites somebody': {
    make: async sandbox => {
      const { groupId, userId } = await callAsDeveloper(sandbox)
      const { access_token: token } = await getTokens(sandbox)
      const url = `/identities/v1/${userId}/link/${groupId}`
      return sandbox.api.inject({ method: 'POST', url, headers: { authorization: `Bearer ${token}` } })
    },
    reason: 'token-of-another-kind',
  },
  'an application’s own token for another application': {
    make: async sandbox => {
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { tokens } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      const headers = { authorization: `Bearer ${tokens[0].token}` }
      return sandbox.api.inject({ url: `/apps/v1/${seeded.clientId}`, headers })
    },
    reason: 'token-of-another-kind',
  },
  'an application’s own token at /api/me': {
    make: async sandbox => {
      const { call, groupId } = await callAsDeveloper(sandbox)
      const { tokens } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
      return sandbox.portal.inject({ url: '/api/me', headers: { authorization: `Bearer ${tokens[0].token}` } })
    },
    reason: 'token-of-another-kind',
  },
  'an application of other people': {
    make: async sandbox => {
      const { call } = await callAsStranger(sandbox)
      return call('POST', `/apps/v1/${seeded.clientId}/refreshSecret`)
    },
    reason: 'not-allowed',
  },
  'a consent for another user': {
    make: ({ portal }) =>
      portal.inject({
        method: 'POST',
        url: '/api/authorizeApplication',
        payload: { userId: randomUUID(), clientId: seeded.clientId, email: seeded.email, password: seeded.password },
      }),
    reason: 'user-differs',
  },
  'a token in the address': {
    make: async sandbox => callApi(sandbox, {}, `?access_token=${(await getTokens(sandbox)).access_token}`),
    reason: 'token-missing',
    notice: 'token-in-query',
  },
  'an exchange in JSON': {
    make: async sandbox => {
      const fields = {
        ...(await begin(sandbox)),
        grant_type: 'authorization_code',
        client_id: seeded.clientId,
        client_secret: seeded.clientSecret,
        redirect_uri: seeded.redirectUri,
      }
      const headers = { 'content-type': 'application/json' }
      const payload = JSON.stringify(fields)
      const answer = await sandbox.portal.inject({ method: 'POST', url: '/api/exchangeToken', headers, payload })
      t.equal(answer.statusCode, 200)
    },
    notice: 'json-exchange',
  },
  'an application without the envelope': {
    make: async sandbox => {
      const { call, groupId } = await callAsDeveloper(sandbox)
      const authorization = `Bearer ${(await getTokens(sandbox)).access_token}`
      const answer = await call('POST', '/apps/v1', makeCreateBody(groupId).data, { authorization })
      t.equal(answer.statusCode, 201)
    },
    notice: 'flat-body',
  },
  'headers of the visitor’s browser': {
    make: async sandbox =>
      callApi(sandbox, {
        authorization: `Bearer ${(await getTokens(sandbox)).access_token}`,
        'user-agent': 'Mozilla/5.0',
        'accept-language': 'de',
      }),
    notice: 'browser-headers',
  },
}

for (const [name, { make, reason, notice, check, kind }] of Object.entries(mistakes))
  t.test(`the laboratory recognises this mistake of a client: ${name}`, async t => {
    const sandbox = await buildWatched(t)
    await make(sandbox)
    const logins = await readLogins(sandbox)
    const steps = logins.flatMap(login => login.steps)
    const reasons = steps.flatMap(step => step.reason ?? [])
    if (reason) t.ok(reasons.includes(reason), `${reasons} has ${reason}`)
    else t.same(reasons, [])
    const noticed = logins.flatMap(login => login.noticed.map(({ id }) => id))
    if (notice) t.ok(noticed.includes(notice), `${noticed} has ${notice}`)
    if (kind) t.equal(steps.find(step => step.reason === reason)?.kind, kind)
    if (check) {
      const refused = steps.find(step => step.reason === reason)
      t.same(
        refused?.checks.filter(({ passed }) => !passed).map(({ name }) => name),
        [check],
      )
    }
  })

t.test(
  'if a client tries again after a fault, the laboratory names the fault, and does not report a mistake of the client',
  async t => {
    const sandbox = await buildWatched(t)
    const { refresh_token: token } = await getTokens(sandbox)
    const order = (fault: string) =>
      sandbox.lab!.inject({
        method: 'POST',
        url: '/lab/v1/faults',
        headers: { host: '127.0.0.1:4002' },
        payload: { fault, options: { retryAfter: 0 } },
      })
    await order('refresh-503')
    t.equal((await refresh(sandbox, token)).statusCode, 503)
    t.equal((await refresh(sandbox, token)).statusCode, 200)
    await order('exchange-503')
    const login = await begin(sandbox)
    t.equal((await exchange(sandbox, login)).statusCode, 503)
    t.equal((await exchange(sandbox, login)).statusCode, 200)
    const logins = await readLogins(sandbox)
    t.same(
      logins.flatMap(({ noticed }) => noticed.map(({ id }) => id)).filter(id => id !== 'no-revocation'),
      [],
    )
    t.match(
      logins.map(({ verdict }) => verdict.fault),
      ['exchange-503', 'refresh-503'],
    )
  },
)
