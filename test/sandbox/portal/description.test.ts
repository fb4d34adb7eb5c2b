// Tests what the portal publishes for programs: its metadata, its public keys, and the OpenAPI document of its calls.

import swaggerParser from '@apidevtools/swagger-parser'
import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import { listRoutes } from '../../support/list-routes.ts'
import { exchange, logIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl, seeded } from '../support/build-test-sandbox.ts'
import { readDescription } from '../support/check-answer.ts'
import { getTokens, type Tokens } from '../support/tokens.ts'

interface Operation {
  requestBody: {
    content: Record<
      string,
      { example: object; schema: { required: string[]; properties: Record<string, { enum?: string[] }> } }
    >
  }
}

const metadataUrl = '/.well-known/oauth-authorization-server'
const keysUrl = '/.well-known/jwks.json'

t.test('AZ-15: the portal’s metadata names the issuer, every endpoint, and the supported methods', async t => {
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

t.test('AZ-15: every address in the portal’s metadata is served', async t => {
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

t.test(
  'TK-14: an access token can be verified with the portal’s published keys, and these keys contain no private key',
  async t => {
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
  },
)

t.test(
  'the portal’s two well-known addresses accept only GET, and other well-known addresses do not exist',
  async t => {
    const { portal } = await buildTestSandbox(t)
    for (const url of [metadataUrl, keysUrl]) {
      const refused = await portal.inject({ method: 'POST', url })
      t.match(refused, { statusCode: 405, headers: { allow: 'GET', 'cache-control': 'no-store' } })
      t.match(refused.json(), { error: 'invalid_request' })
    }
    const missing = await portal.inject({ url: '/.well-known/openid-configuration' })
    t.match(missing, { statusCode: 404, headers: { 'cache-control': 'no-store' } })
  },
)

t.test('the OpenAPI 3.1 document of the portal is valid, and describes every call of the portal', async t => {
  const { portal } = await buildTestSandbox(t)
  const document = (await portal.inject('/api/openapi.json')).json()
  t.match(document, { openapi: '3.1.0', servers: [{ url: portalUrl }] })
  // The page that shows the document replaces each reference with its target. With circular references this replacement
  // would never end.
  await t.resolves(swaggerParser.validate(structuredClone(document), { dereference: { circular: false } }))
  const there = listRoutes(portal)
    .map(({ url }) => url)
    .filter(url => /^\/(api|\.well-known)\//.test(url) && !['/api/docs', '/api/openapi.json'].includes(url))
  t.strictSame(Object.keys(document.paths).sort(), ['/', ...new Set(there)].sort())
  for (const [url, methods] of Object.entries(document.paths as Record<string, object>))
    for (const method of Object.keys(methods)) {
      const { statusCode } = await portal.inject({ method: method.toUpperCase() as 'GET', url })
      t.notOk([404, 405, 500].includes(statusCode), `${method} ${url}: ${statusCode}`)
    }
})

t.test(
  'a login works with the parameters in the portal’s OpenAPI document, and every answer matches the document',
  async t => {
    const sandbox = await buildTestSandbox(t)
    const { portal } = sandbox
    const { paths } = (await portal.inject('/api/openapi.json')).json()
    const check = await readDescription(portal, { url: '/api/openapi.json' })
    const sent = new URLSearchParams(startUrl().slice(2))
    const required = paths['/'].get.parameters.filter((one: { required: boolean }) => one.required)
    t.strictSame(
      required.map(({ name }: { name: string }) => name),
      ['grant_type', 'response_type', 'client_id', 'redirect_uri', 'cancel_url'],
    )
    for (const { name } of required) t.ok(sent.has(name), name)

    const call = async (method: 'GET' | 'POST', url: string, fields?: object, headers = {}) => {
      const answer = await portal.inject({ method, url, headers, ...(fields && { payload: fields }) })
      t.doesNotThrow(() => check(method, url, answer))
      return answer
    }
    const client = { client_id: seeded.clientId, client_secret: seeded.clientSecret }
    const code = (await logIn(sandbox)).get('code') ?? ''
    const exchanged = await exchange(sandbox, { code })
    t.doesNotThrow(() => check('POST', '/api/exchangeToken', exchanged))
    const tokens = exchanged.json<Tokens>()
    const me = await call('GET', '/api/me', undefined, { authorization: `Bearer ${tokens.access_token}` })
    const person = { userId: me.json()['@id'], email: seeded.email, password: seeded.password }
    const answers = [
      me,
      await call('POST', '/api/exchangeToken', {
        grant_type: 'refresh_token',
        refresh_token: tokens.refresh_token,
        ...client,
      }),
      await call('POST', '/api/revokeToken', { token: tokens.refresh_token, ...client }),
      await call('POST', '/api/authorizeApplication', { clientId: seeded.clientId, ...person }),
      await call('POST', '/api/authorize', {
        ...Object.fromEntries(sent),
        email: person.email,
        password: person.password,
      }),
      await call('GET', metadataUrl),
      await call('GET', keysUrl),
    ]
    for (const { statusCode, body } of answers) t.equal(statusCode, 200, body)
  },
)

t.test('if a call lacks a field that the portal’s OpenAPI document requires, the error names the field', async t => {
  const { portal } = await buildTestSandbox(t)
  const { paths } = (await portal.inject('/api/openapi.json')).json()
  for (const [url, { post }] of Object.entries<{ post?: Operation }>(paths))
    for (const [type, { schema }] of Object.entries(post?.requestBody.content ?? {})) {
      // In these two calls a missing field gets another error: a list of all problems, or the error of a login request.
      if (url === '/api/register' || url === '/api/authorize') continue
      const fields = Object.fromEntries(
        Object.keys(schema.properties).map(name => [name, schema.properties[name]?.enum?.[0] ?? 'a']),
      )
      for (const name of schema.required) {
        const answer = await portal.inject({
          method: 'POST',
          url,
          headers: { 'content-type': type },
          payload:
            type === 'application/json'
              ? JSON.stringify({ ...fields, [name]: undefined })
              : new URLSearchParams({ ...fields, [name]: '' }).toString(),
        })
        t.equal(answer.statusCode, 400)
        t.match(answer.body, `${name} is missing.`)
      }
    }
})

t.test(
  'in the portal’s OpenAPI document, every body has an example, because otherwise the page shows the word "string" for each field',
  async t => {
    const { portal } = await buildTestSandbox(t)
    const { paths } = (await portal.inject('/api/openapi.json')).json()
    const examples = Object.entries<{ post?: Operation }>(paths).flatMap(([url, { post }]) =>
      Object.values(post?.requestBody.content ?? {}).map(({ example }) => [url, example]),
    )
    t.equal(examples.length, 10, 'five calls, as a form and as JSON')
    for (const [url, example] of examples) t.type(example, 'object', String(url))
  },
)

t.test('a request with the unchanged example body from the portal’s OpenAPI document makes a new account', async t => {
  const { portal } = await buildTestSandbox(t)
  const { paths } = (await portal.inject('/api/openapi.json')).json()
  const form = paths['/api/register'].post.requestBody.content['application/x-www-form-urlencoded']
  const check = await readDescription(portal, { url: '/api/openapi.json' })
  const registered = await portal.inject({
    method: 'POST',
    url: '/api/register',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form.example).toString(),
  })
  t.equal(registered.statusCode, 201)
  t.doesNotThrow(() => check('POST', '/api/register', registered))
})
