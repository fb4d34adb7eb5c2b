// These tests repeat the modules of the OpenID Foundation's conformance suite for an authorization server without
// OpenID Connect. Each test name begins with the name of a module. The suite itself cannot test the platform, because
// the platform has its own paths and its own grant_type.
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

/**
 * Starts a login. Returns the status of the answer, and the parameters that its redirect or its link sends to the
 * client.
 */
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
  'oidcc-server-client-secret-post: a client authenticates with client_id and client_secret in the form',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.equal((await exchange(sandbox, { code: await getCode(sandbox) })).statusCode, 200)
  },
)

t.test('oidcc-response-type-missing: a login request without response_type gets an error and no code', async t => {
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

t.test(
  'oidcc-codereuse: if a code is used again immediately, it is refused, but the tokens of its first exchange stay valid',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox)
    const { access_token: accessToken } = (await exchange(sandbox, { code })).json()
    t.match((await exchange(sandbox, { code })).json(), invalidGrant)
    t.equal(await isAccepted(sandbox, accessToken), true)
  },
)

t.test(
  'oidcc-codereuse-30seconds: if a code is used again after 30 seconds, the portal refuses it, and the tokens of its first exchange become invalid',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox)
    const tokens = (await exchange(sandbox, { code })).json()
    sandbox.passTime(30_000)
    t.match((await exchange(sandbox, { code })).json(), invalidGrant)
    t.equal(await isAccepted(sandbox, tokens.access_token), false)
    t.match((await refresh(sandbox, tokens.refresh_token)).json(), invalidGrant)
  },
)

t.test(
  'oidcc-ensure-registered-redirect-uri: if a redirect URI is not registered, the portal shows an error page, and does not redirect',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { statusCode } = await start(sandbox, startUrl({ redirect_uri: 'https://other.example.test/exchangeToken' }))
    t.equal(statusCode, 400)
  },
)

t.test(
  'oidcc-ensure-redirect-uri-in-authorization-request: if a login request has no redirect_uri, the portal shows an error page, and does not redirect',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.equal((await start(sandbox, startUrl({ redirect_uri: undefined }))).statusCode, 400)
  },
)

t.test(
  'oidcc-redirect-uri-query-OK: if a registered redirect URI has a query, the redirect keeps the query and adds the code',
  async t => {
    const redirectUri = `${seeded.redirectUri}?foo=bar`
    const sandbox = await buildTestSandbox(t, { redirectUris: [redirectUri] })
    const parameters = await logIn(sandbox, { redirect_uri: redirectUri })
    t.equal(parameters.get('foo'), 'bar')
    const code = parameters.get('code') ?? ''
    t.equal((await exchange(sandbox, { code, redirect_uri: redirectUri })).statusCode, 200)
  },
)

t.test(
  'oidcc-redirect-uri-query-added: if a client adds a query to its registered redirect URI, the portal shows an error page',
  async t => {
    const sandbox = await buildTestSandbox(t)
    t.equal((await start(sandbox, startUrl({ redirect_uri: `${seeded.redirectUri}?foo=bar` }))).statusCode, 400)
  },
)

t.test(
  'oidcc-redirect-uri-query-mismatch: if a client changes the query of its registered redirect URI, the portal shows an error page',
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

t.test('oidcc-ensure-request-with-unknown-parameter-succeeds: a login with an unknown parameter succeeds', async t => {
  const sandbox = await buildTestSandbox(t)
  t.match((await logIn(sandbox, { extra: 'foobar' })).get('code'), /^\w{30}$/)
})

t.test('oidcc-ensure-request-with-valid-pkce-succeeds: a login with PKCE succeeds', async t => {
  const sandbox = await buildTestSandbox(t)
  const code_verifier = makeVerifier()
  const code = await getCode(sandbox, startWithPkce(code_verifier))
  t.equal((await exchange(sandbox, { code, code_verifier })).statusCode, 200)
})

t.test('oidcc-ensure-post-request-succeeds: a client can start a login with a form or with a link', async t => {
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
  t.equal(
    (await browser.get(locationOf(refused))).statusCode,
    400,
    'the portal must also check a redirect URI that a form sends',
  )
})

t.test(
  'oidcc-refresh-token: a client can renew its tokens with a refresh token, and renew again with the new refresh token',
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

t.test(
  `${fapi}-ensure-authorization-code-is-bound-to-client: a client cannot use the code of another client`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox)
    t.match((await exchange(sandbox, { code, ...(await makeOtherClient(sandbox)) })).json(), invalidGrant)
  },
)

t.test(
  `${fapi}-attempt-reuse-authorization-code-after-one-second: a code that is used again after one second is refused`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox)
    t.equal((await exchange(sandbox, { code })).statusCode, 200)
    sandbox.passTime(1000)
    t.match((await exchange(sandbox, { code })).json(), invalidGrant)
  },
)

t.test(`${fapi}-ensure-token-endpoint-fails-with-expired-auth-code: an expired code is refused`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox)
  sandbox.passTime(61_000)
  t.match((await exchange(sandbox, { code })).json(), invalidGrant)
})

t.test(`${fapi}-incorrect-pkce-code-verifier-rejected: an exchange with a wrong verifier is refused`, async t => {
  const sandbox = await buildTestSandbox(t)
  const code = await getCode(sandbox, startWithPkce(makeVerifier()))
  t.match((await exchange(sandbox, { code, code_verifier: makeVerifier() })).json(), invalidGrant)
})

t.test(
  `${fapi}-ensure-pkce-code-verifier-required: if a login request had a challenge, the portal refuses an exchange without a verifier`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const code = await getCode(sandbox, startWithPkce(makeVerifier()))
    t.match((await exchange(sandbox, { code })).json(), invalidGrant)
  },
)

t.test(
  `${fapi}-par-plain-pkce-rejected: the portal refuses a login request with the challenge method “plain”`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const url = startUrl({ code_challenge: makeVerifier(), code_challenge_method: 'plain' })
    t.match((await start(sandbox, url)).parameters, { error: 'invalid_request' })
  },
)

t.test(
  `${fapi}-ensure-response-type-token-fails: the portal refuses a login request with response_type=token, and does not issue a token`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { parameters } = await start(sandbox, startUrl({ response_type: 'token' }))
    t.match(parameters, { error: 'unsupported_response_type', state: 'a-state' })
    t.notOk('access_token' in parameters)
  },
)

t.test(
  `${fapi}-ensure-authorization-request-with-long-state: the portal returns a state of 384 characters unchanged`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const state = randomBytes(288).toString('base64url')
    const parameters = await logIn(sandbox, { state })
    t.equal(parameters.get('state'), state)
    t.match((await exchange(sandbox, { code: parameters.get('code') ?? '', state })).json(), { state })
  },
)

t.test(`${fapi}-ensure-authorization-request-without-state-success: a login without a state succeeds`, async t => {
  const sandbox = await buildTestSandbox(t)
  const parameters = await logIn(sandbox, { state: undefined })
  t.equal(parameters.get('state'), null)
  const answer = await exchange(sandbox, { code: parameters.get('code') ?? '', state: undefined })
  t.equal(answer.statusCode, 200)
})

t.test(
  `${fapi}-access-token-type-header-case-sensitivity: the API accepts the word “Bearer” in upper or lower case`,
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { access_token: token } = await getTokens(sandbox)
    for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
      const answer = await sandbox.api.inject({ url: '/apps/v1', headers: { authorization: `${scheme} ${token}` } })
      t.equal(answer.statusCode, 200, scheme)
    }
  },
)

t.test(
  `${fapi}-user-rejects-authentication: if the visitor declines, the portal redirects to cancel_url with access_denied and the state`,
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
