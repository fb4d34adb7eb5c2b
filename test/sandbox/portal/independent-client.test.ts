// An independent OAuth library signs in at the portal. The portal is a real process, and the connections are real.
import * as oauth from 'oauth4webapi'
import t, { type Test } from 'tap'
import { findFreePort } from '../../support/free-port.ts'
import { locationOf, openBrowser } from '../support/browser.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { openDatabases } from '../support/each-database.ts'
import { startSandbox } from '../support/start-sandbox.ts'

const client: oauth.Client = { client_id: seeded.clientId }
const secret = oauth.ClientSecretPost(seeded.clientSecret)
const options = { [oauth.allowInsecureRequests]: true }

async function openIssuer(t: Test, databaseUrl: string) {
  const issuer = new URL(`http://127.0.0.1:${await findFreePort()}`)
  const settings = { PORTAL_PORT: issuer.port, PORTAL_URL: issuer.origin }
  const sandbox = await startSandbox(t, { databaseUrl, settings })
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  return { server, sandbox, apiUrl: new URL(`http://127.0.0.1:${sandbox.apiPort}/apps/v1`) }
}

/**
 * Signs in and allows the application. Resolves to the parameters of the redirect, after the library has checked them.
 */
async function signIn({ server, sandbox }: Awaited<ReturnType<typeof openIssuer>>, codeVerifier: string) {
  const state = oauth.generateRandomState()
  const start = new URL(server.authorization_endpoint ?? '')
  start.search = `${new URLSearchParams({
    grant_type: 'authorization',
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: seeded.redirectUri,
    cancel_url: seeded.cancelUrl,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  })}`
  const browser = openBrowser(sandbox)
  const credentials = { email: seeded.email, password: seeded.password }
  const signedIn = await browser.submit(await browser.get(start.pathname + start.search), credentials)
  const page = await browser.get(locationOf(signedIn))
  const answer = page.statusCode === 303 ? page : await browser.submit(page, { decision: 'allow' })
  return { state, parameters: oauth.validateAuthResponse(server, client, new URL(locationOf(answer)), state) }
}

/** Resolves to the error that the library throws, or to undefined if the call succeeds. */
const refusalOf = (answer: Promise<unknown>) =>
  answer.then(
    () => undefined,
    (error: unknown) => error,
  )

for (const database of await openDatabases(t)) {
  t.test(
    `the library oauth4webapi can sign in with PKCE, call the API, renew its tokens and revoke the tokens (${database.name})`,
    async t => {
      const issuer = await openIssuer(t, await database.make(t))
      const { server, apiUrl } = issuer
      const codeVerifier = oauth.generateRandomCodeVerifier()
      const { state, parameters } = await signIn(issuer, codeVerifier)

      const exchanged = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        secret,
        parameters,
        seeded.redirectUri,
        codeVerifier,
        { ...options, additionalParameters: { state } },
      )
      const first = await oauth.processAuthorizationCodeResponse(server, client, exchanged)
      t.match(first, { token_type: 'bearer', expires_in: 86400, refresh_token: String, state })

      const request = new Request(apiUrl, { headers: { authorization: `Bearer ${first.access_token}` } })
      const claims = await oauth.validateJwtAccessToken(server, request, client.client_id, options)
      t.equal(claims.sub, parameters.get('subject'), 'RFC 9068, with the published keys')
      const list = () =>
        oauth.protectedResourceRequest(first.access_token, 'GET', apiUrl, undefined, undefined, options)
      t.equal((await list()).status, 200)

      const refreshed = await oauth.refreshTokenGrantRequest(server, client, secret, first.refresh_token ?? '', options)
      const second = await oauth.processRefreshTokenResponse(server, client, refreshed)
      t.match(second, { token_type: 'bearer', refresh_token: String })
      t.not(second.refresh_token, first.refresh_token)

      const revoked = await oauth.revocationRequest(server, client, secret, second.refresh_token ?? '', options)
      await oauth.processRevocationResponse(revoked)
      const dead = await oauth.refreshTokenGrantRequest(server, client, secret, second.refresh_token ?? '', options)
      const refusal = await refusalOf(oauth.processRefreshTokenResponse(server, client, dead))
      t.match(refusal, { error: 'invalid_grant', status: 401 })
      t.match(
        await refusalOf(list()),
        { status: 401 },
        'the access token must become invalid together with the refresh token',
      )
    },
  )

  t.test(`if the portal refuses a call, the library oauth4webapi can read the reason (${database.name})`, async t => {
    const issuer = await openIssuer(t, await database.make(t))
    const { server } = issuer
    const { state, parameters } = await signIn(issuer, oauth.generateRandomCodeVerifier())
    const exchange = async (authentication: oauth.ClientAuth) => {
      const verifier = oauth.generateRandomCodeVerifier()
      const more = { ...options, additionalParameters: { state } }
      const uri = seeded.redirectUri
      return oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(server, client, authentication, parameters, uri, verifier, more),
      )
    }
    const cases: [string, oauth.ClientAuth, { error: string; status: number }][] = [
      ['a wrong verifier', secret, { error: 'invalid_grant', status: 401 }],
      ['a wrong secret', oauth.ClientSecretPost('wrong'), { error: 'invalid_client', status: 401 }],
      ['not in the metadata', oauth.ClientSecretBasic(seeded.clientSecret), { error: 'invalid_request', status: 400 }],
    ]
    for (const [name, authentication, refusal] of cases)
      t.match(await refusalOf(exchange(authentication)), refusal, name)
  })
}
