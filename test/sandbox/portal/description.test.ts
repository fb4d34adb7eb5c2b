// What the portal says of itself, to programs: its metadata and keys, and the description of its calls.

import swaggerParser from '@apidevtools/swagger-parser'
import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { exchange, logIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded } from '../support/build-test-sandbox.ts'
import { recordRoutes } from '../support/list-routes.ts'
import { getTokens, type Tokens } from '../support/tokens.ts'

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
    end_session_endpoint: `${portalUrl}/sign-out`,
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
  for (const name of [
    'authorization_endpoint',
    'token_endpoint',
    'revocation_endpoint',
    'end_session_endpoint',
    'jwks_uri',
  ]) {
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

t.test('the OpenAPI 3.1 document of the portal is valid, and describes every call that there is', async t => {
  const routesOf = recordRoutes(t)
  const { portal } = await buildTestSandbox(t)
  const document = (await portal.inject('/api/openapi.json')).json()
  t.match(document, { openapi: '3.1.0', servers: [{ url: portalUrl }] })
  // The page that shows it puts what is meant in place of each reference, which in a circle would never end.
  await t.resolves(swaggerParser.validate(structuredClone(document), { dereference: { circular: false } }))
  const there = routesOf(portal)
    .map(({ url }) => url)
    .filter(url => /^\/(api|\.well-known)\//.test(url) && !['/api/docs', '/api/openapi.json'].includes(url))
  t.strictSame(Object.keys(document.paths).sort(), ['/', ...new Set(there)].sort())
  for (const [url, methods] of Object.entries(document.paths as Record<string, object>))
    for (const method of Object.keys(methods)) {
      const { statusCode } = await portal.inject({ method: method.toUpperCase() as 'GET', url })
      t.notOk([404, 405, 500].includes(statusCode), `${method} ${url}: ${statusCode}`)
    }
})

t.test('a login takes the parameters and answers with the fields that the description names', async t => {
  const sandbox = await buildTestSandbox(t)
  const { paths, components } = (await sandbox.portal.inject('/api/openapi.json')).json()
  const sent = new URLSearchParams(startUrl().slice(2))
  const required = paths['/'].get.parameters.filter((one: { required: boolean }) => one.required)
  for (const { name } of required) t.ok(sent.has(name), name)
  const code = (await logIn(sandbox)).get('code') ?? ''
  const tokens = (await exchange(sandbox, { code })).json<Tokens>()
  t.strictSame(Object.keys(tokens).sort(), Object.keys(components.schemas.Tokens.properties).sort())
  const me = await sandbox.portal.inject({
    url: '/api/me',
    headers: { authorization: `Bearer ${tokens.access_token}` },
  })
  t.strictSame(Object.keys(me.json()).sort(), Object.keys(components.schemas.Person.properties).sort())
  const form = paths['/api/register'].post.requestBody.content['application/x-www-form-urlencoded']
  const registered = await sandbox.portal.inject({
    method: 'POST',
    url: '/api/register',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form.example).toString(),
  })
  t.equal(registered.statusCode, 201, 'the example works as it stands')
})
