import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { buildTestSandbox, portalUrl, seeded } from '../support/build-test-sandbox.ts'
import { getTokens } from '../support/tokens.ts'

const metadataUrl = '/.well-known/oauth-authorization-server'
const keysUrl = '/.well-known/jwks.json'

t.test('AZ-15: the metadata names the issuer, every endpoint and what is supported', async t => {
  const { portal } = await buildTestSandbox(t)
  const answer = await portal.inject({ url: metadataUrl })
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, max-age=300',
    'x-content-type-options': 'nosniff',
  })
  t.strictSame(answer.json(), {
    issuer: portalUrl,
    authorization_endpoint: `${portalUrl}/`,
    token_endpoint: `${portalUrl}/api/exchangeToken`,
    revocation_endpoint: `${portalUrl}/api/revokeToken`,
    jwks_uri: `${portalUrl}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  })
})

t.test('AZ-15: every address of the metadata is there', async t => {
  const { portal } = await buildTestSandbox(t)
  const metadata = (await portal.inject({ url: metadataUrl })).json()
  for (const name of ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint', 'jwks_uri']) {
    const { origin, pathname } = new URL(metadata[name])
    t.equal(origin, portalUrl)
    t.not((await portal.inject({ url: pathname })).statusCode, 404, name)
  }
})

t.test('TK-14: an access token verifies with the published keys, which hold nothing private', async t => {
  const sandbox = await buildTestSandbox(t)
  const answer = await sandbox.portal.inject({ url: keysUrl })
  t.match(answer, { statusCode: 200, headers: { 'cache-control': 'public, max-age=300' } })
  const { keys } = answer.json()
  t.equal(keys.length, 1)
  t.strictSame(Object.keys(keys[0]).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  t.match(keys[0], { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
  const { access_token: accessToken } = await getTokens(sandbox)
  const { payload, protectedHeader } = await jwtVerify(accessToken, createLocalJWKSet(answer.json()), {
    issuer: portalUrl,
    audience: seeded.clientId,
    typ: 'at+jwt',
    currentDate: sandbox.now(),
  })
  t.equal(payload.type, 'User')
  t.equal(protectedHeader.kid, keys[0].kid)
})

t.test('the well-known addresses take GET only, and others do not exist', async t => {
  const { portal } = await buildTestSandbox(t)
  for (const url of [metadataUrl, keysUrl]) {
    const refused = await portal.inject({ method: 'POST', url })
    t.match(refused, { statusCode: 405, headers: { allow: 'GET', 'cache-control': 'no-store' } })
    t.match(refused.json(), { error: 'invalid_request' })
  }
  const missing = await portal.inject({ url: '/.well-known/openid-configuration' })
  t.match(missing, { statusCode: 404, headers: { 'cache-control': 'no-store' } })
})
