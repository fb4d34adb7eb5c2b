// Tests like the modules of the OpenID Foundation's conformance suite for an authorization server without OpenID
// Connect. Each title begins with the name of its module. The suite itself cannot test the platform, because the
// platform has its own addresses and grant_type.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { exchange, locationOf, logIn, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'
import { getCode, getTokens, isAccepted, makeOtherClient, refresh } from '../support/tokens.ts'

const fapi = 'fapi2-security-profile-final'
const invalidGrant = { error: 'invalid_grant' }
const makeVerifier = () => randomBytes(32).toString('base64url')

const startWithPkce = (verifier: string) => ({
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
})

/** Sends a start. Returns the status of the answer, and the parameters for the client in its redirect or link. */
async function start(sandbox: TestSandbox, url: string) {
  const answer = await openBrowser(sandbox).get(url)
  // Nobody is signed in, so the page has a link to the client instead of a redirect.
  const link = /<a class="button" href="([^"]+)" rel="noreferrer">/.exec(answer.body)?.[1]?.replaceAll('&amp;', '&')
  const location = answer.headers.location ?? link
  return {
    statusCode: answer.statusCode,
    parameters: Object.fromEntries(new URL(`${location}`, portalUrl).searchParams),
  }
}

t.test(
  'oidcc-server-client-secret-post: a client authenticates by client_id and client_secret in the form',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 200)
  },
)

t.test('oidcc-response-type-missing: a start without response_type is an error, and gives no code', async t => {
  const sandbox = await buildTestSandbox(t)
  const browser = openBrowser(sandbox)
  const page = await browser.get(startUrl({ response_type: undefined }))
  t.equal(page.statusCode, 400)
  t.match(page.body, 'error=invalid_request')
  t.notMatch(page.body, 'code=')
  await browser.submit(await signIn(browser), { decision: 'allow' })
  const back = new URL(locationOf(await browser.get(startUrl({ response_type: undefined })))).searchParams
  t.match(Object.fromEntries(back), { error: 'invalid_request', state: 'a-state' })
  t.notOk(back.has('code'))
})

t.test('oidcc-codereuse: a code that is used again at once is refused, but its tokens stay valid', async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  const { access_token: accessToken } = (await exchange(sandbox, { code })).json()
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
  t.equal(await isAccepted(sandbox, accessToken), true)
})

t.test('oidcc-codereuse-30seconds: a code used again after 30 seconds is refused, and its tokens end', async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  const tokens = (await exchange(sandbox, { code })).json()
  sandbox.passTime(30_000)
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
  t.equal(await isAccepted(sandbox, tokens.access_token), false)
  t.match((await refresh(sandbox, tokens.refresh_token)).json(), invalidGrant)
})

t.test('oidcc-ensure-registered-redirect-uri: another redirect URI gets a page, and nobody is sent there', async t => {
  const sandbox = await buildTestSandbox(t)
  const { statusCode } = await start(sandbox, startUrl({ redirect_uri: 'https://other.example.test/exchangeToken' }))
  t.equal(statusCode, 400)
})

t.test(
  'oidcc-ensure-redirect-uri-in-authorization-request: a start without redirect_uri gets a page and no redirect',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.equal((await start(sandbox, startUrl({ redirect_uri: undefined }))).statusCode, 400)
  },
)

t.test(
  'oidcc-redirect-uri-query-OK: the query of a registered redirect URI is kept, and the code is added to it',
  async t => {
    const redirectUri = `${seeded.redirectUri}?foo=bar`
    const sandbox = await buildTestSandbox(t, { redirectUris: [redirectUri] })
    const parameters = await logIn(sandbox, { redirect_uri: redirectUri })
    t.equal(parameters.get('foo'), 'bar')
    const code = parameters.get('code') ?? ''
    t.equal((await exchange(sandbox, { code, redirect_uri: redirectUri })).statusCode, 200)
  },
)

t.test('oidcc-redirect-uri-query-added: a redirect URI with a query that was not registered gets a page', async t => {
  const sandbox = await buildTestSandbox(t)
  t.equal((await start(sandbox, startUrl({ redirect_uri: `${seeded.redirectUri}?foo=bar` }))).statusCode, 400)
})

t.test(
  'oidcc-redirect-uri-query-mismatch: a redirect URI whose query differs from the registered URI gets a page',
  async t => {
    const sandbox = await buildTestSandbox(t, { redirectUris: [`${seeded.redirectUri}?foo=bar`] })
    t.equal((await start(sandbox, startUrl({ redirect_uri: `${seeded.redirectUri}?bar=foo` }))).statusCode, 400)
  },
)

t.test('oidcc-redirect-uri-regfrag: a redirect URI with a fragment cannot be registered', async t => {
  const sandbox = await buildTestSandbox(t)
  const { call, groupId } = await callAsDeveloper(sandbox)
  const redirectUris = 'https://weather.example.test/exchangeToken#fragment'
  const answer = await call('POST', '/apps/v1', makeCreateBody(groupId, { redirectUris, defaultRedirectUri: '' }))
  t.equal(answer.statusCode, 422)
})

t.test('oidcc-ensure-request-with-unknown-parameter-succeeds', async t => {
  const sandbox = await buildTestSandbox(t)
  t.match((await logIn(sandbox, { extra: 'foobar' })).get('code'), /^\w{30}$/)
})

t.test('oidcc-ensure-request-with-valid-pkce-succeeds', async t => {
  const sandbox = await buildTestSandbox(t)
  const code_verifier = makeVerifier()
  const code = await getCode(sandbox, startWithPkce(code_verifier))
  t.equal((await exchange(sandbox, { code, code_verifier })).statusCode, 200)
})

t.test(
  'oidcc-ensure-post-request-succeeds: the client’s site can start a login with a form as well as with a link',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const browser = openBrowser(sandbox)
    const fields = { ...Object.fromEntries(new URLSearchParams(startUrl().slice(2))), extra: 'foobar' }
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' }
    const answer = await browser.post('/', fields, { headers })
    t.equal(answer.statusCode, 303)
    t.equal(locationOf(answer), startUrl())
    const page = await browser.get(locationOf(answer))
    const signedIn = await browser.submit(page, { email: seeded.email, password: seeded.password })
    const consent = await browser.get(locationOf(signedIn))
    const end = new URL(locationOf(await browser.submit(consent, { decision: 'allow' })))
    t.match(end.searchParams.get('code'), /^\w{30}$/)
    const refused = await browser.post('/', { ...fields, redirect_uri: 'https://evil.test/' }, { headers })
    t.equal((await browser.get(locationOf(refused))).statusCode, 400, 'the redirect URI must be checked like any other')
  },
)

t.test(
  'oidcc-refresh-token: a refresh token gives new tokens, and the new refresh token gives tokens again',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const first = await getTokens(sandbox)
    const second = (await refresh(sandbox, first.refresh_token)).json()
    t.equal(await isAccepted(sandbox, second.access_token), true)
    const third = (await refresh(sandbox, second.refresh_token)).json()
    t.equal(await isAccepted(sandbox, third.access_token), true)
  },
)

t.test(`${fapi}-refresh-token: a client cannot use the refresh token of another client`, async t => {
  const sandbox = await buildTestSandbox(t)
  const { refresh_token: token } = await getTokens(sandbox)
  t.match((await refresh(sandbox, token, await makeOtherClient(sandbox))).json(), invalidGrant)
})

t.test(`${fapi}-ensure-authorization-code-is-bound-to-client`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  t.match((await exchange(sandbox, { code, ...(await makeOtherClient(sandbox)) })).json(), invalidGrant)
})

t.test(`${fapi}-attempt-reuse-authorization-code-after-one-second`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  t.equal((await exchange(sandbox, { code })).statusCode, 200)
  sandbox.passTime(1000)
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
})

t.test(`${fapi}-ensure-token-endpoint-fails-with-expired-auth-code`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  sandbox.passTime(61_000)
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
})

t.test(`${fapi}-incorrect-pkce-code-verifier-rejected`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox, startWithPkce(makeVerifier()))
  t.match((await exchange(sandbox, { code, code_verifier: makeVerifier() })).json(), invalidGrant)
})

t.test(`${fapi}-ensure-pkce-code-verifier-required`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox, startWithPkce(makeVerifier()))
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
})

t.test(`${fapi}-par-plain-pkce-rejected: the method plain is refused at the start`, async t => {
  const sandbox = await buildTestSandbox(t)
  const url = startUrl({ code_challenge: makeVerifier(), code_challenge_method: 'plain' })
  t.match((await start(sandbox, url)).parameters, { error: 'invalid_request' })
})

t.test(`${fapi}-ensure-response-type-token-fails`, async t => {
  const sandbox = await buildTestSandbox(t)
  const { parameters } = await start(sandbox, startUrl({ response_type: 'token' }))
  t.match(parameters, { error: 'unsupported_response_type', state: 'a-state' })
  t.notOk('access_token' in parameters)
})

t.test(
  `${fapi}-ensure-authorization-request-with-long-state: a state of 384 characters is returned unchanged`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const state = randomBytes(288).toString('base64url')
    const parameters = await logIn(sandbox, { state })
    t.equal(parameters.get('state'), state)
    t.match((await exchange(sandbox, { code: parameters.get('code') ?? '', state })).json(), { state })
  },
)

t.test(`${fapi}-ensure-authorization-request-without-state-success`, async t => {
  const sandbox = await buildTestSandbox(t)
  const parameters = await logIn(sandbox, { state: undefined })
  t.equal(parameters.get('state'), null)
  const answer = await exchange(sandbox, { code: parameters.get('code') ?? '', state: undefined })
  t.equal(answer.statusCode, 200)
})

t.test(`${fapi}-access-token-type-header-case-sensitivity: the API accepts Bearer in any case`, async t => {
  const sandbox = await buildTestSandbox(t)
  const { access_token: token } = await getTokens(sandbox)
  for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
    const answer = await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `${scheme} ${token}` } })
    t.equal(answer.statusCode, 200, scheme)
  }
})

t.test(
  `${fapi}-user-rejects-authentication: declining leads to cancel_url with access_denied and the state`,
  async t => {
    const browser = openBrowser(await buildTestSandbox(t))
    const answer = await browser.submit(await signIn(browser), { decision: 'decline' })
    const { searchParams } = new URL(locationOf(answer))
    t.strictSame(Object.fromEntries(searchParams), { error: 'access_denied', state: 'a-state' })
  },
)

t.test(`${fapi}-ensure-client-id-in-token-endpoint: an exchange without client_id is refused`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  const answer = await exchange(sandbox, { code, client_id: undefined })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { error: 'invalid_request' })
})
