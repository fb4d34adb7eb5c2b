// The portal's description of its calls: every call that there is, and answers that are as it says.
import swaggerParser from '@apidevtools/swagger-parser'
import t from 'tap'
import { exchange, logIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, portalUrl } from '../support/build-test-sandbox.ts'
import { recordRoutes } from '../support/list-routes.ts'
import type { Tokens } from '../support/tokens.ts'

t.test('the OpenAPI 3.1 document of the portal is valid, and describes every call that there is', async t => {
  const routesOf = recordRoutes(t)
  const { portal } = await buildTestSandbox(t)
  const document = (await portal.inject('/api/openapi.json')).json()
  t.match(document, { openapi: '3.1.0', servers: [{ url: portalUrl }] })
  await t.resolves(swaggerParser.validate(structuredClone(document)))
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
