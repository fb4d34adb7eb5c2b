// The OpenAPI document of the laboratory. Every test that calls the laboratory compares the answer with this document
// (support/call-lab.ts).
import swaggerParser from '@apidevtools/swagger-parser'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { listRoutes } from '../../support/list-routes.ts'
import { buildTestLab } from '../support/call-lab.ts'

interface Document {
  openapi: string
  servers: { url: string }[]
  security: object[]
  components: { schemas: Record<string, object> }
  paths: Record<
    string,
    Record<string, { responses: object; requestBody?: { content: Record<string, { schema: object }> } }>
  >
}

t.test('the laboratory’s OpenAPI 3.1 document is valid, and describes every call of the laboratory', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  const document = (await lab('GET', 'openapi.json')).json<Document>()
  t.match(document, { openapi: /^3\.1\.\d$/, servers: [{ url: 'http://127.0.0.1:4002' }] })
  await t.resolves(swaggerParser.validate(structuredClone(document) as never))
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'components', 'security', 'paths'])
  ajv.addSchema(document, 'lab')
  for (const name of Object.keys(document.components.schemas))
    t.ok(ajv.compile({ $ref: `lab#/components/schemas/${name}` }), `${name} is JSON schema 2020-12`)
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  )
  const there = listRoutes(sandbox.lab!)
    .filter(({ url }) => url.startsWith('/lab/v1/') && url !== '/lab/v1/openapi.json')
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
  t.ok(there.length > 15)
  t.strictSame(described.sort(), there.sort())
})

t.test(
  'if a body does not match the laboratory’s OpenAPI document, the laboratory refuses the body, and names the wrong field and the allowed values',
  async t => {
    const { lab } = await buildTestLab(t)
    const redirectUri = 'http://localhost:3456/'
    const rows: [string, unknown, object][] = [
      [
        'people',
        { email: 5, other: 1 },
        { email: [/a string of 3 to 254/], other: [/The fields are email, password/] },
      ],
      ['people', { password: 'short' }, { password: [/a string of 8 to 1000/] }],
      ['people', { email: 'nobody' }, { email: [/e-mail address like/] }],
      ['people', { firstName: 'A\0' }, { firstName: [/a string/] }],
      ['people', [], { body: [/a JSON object/] }],
      ['people', { suite: 'a b' }, { suite: [/letters, digits, dots, hyphens or underscores, such as my-tests-1/] }],
      ['groups', {}, { members: [/missing.*a list of 1 to 20/] }],
      ['groups', { members: ['a', 5] }, { 'members[1]': [/a string/] }],
      ['applications', {}, { redirectUri: [/at least one redirect URI/] }],
      ['applications', { redirectUri: 'http://client.example.test/' }, { redirectUris: [/https/] }],
      ['applications', { redirectUri: `${redirectUri},https://b.test` }, { redirectUri: [/comma/] }],
      ['applications', { redirectUri, groupId: 'a' }, { userId: [/a member of the group/] }],
      ['applications', { redirectUri, lifetimes: { codeSeconds: 601 } }, { 'lifetimes.codeSeconds': [/1 to 600/] }],
      ['applications', { redirectUri, userId: 'a', email: 'b@c.test' }, { userId: [/not both/] }],
      ['sign-in', {}, { userId: [/either userId or email/] }],
      ['sign-in', { userId: 'a', clientId: 'b', url: 'c' }, { clientId: [/Leave clientId out/] }],
      ['expire', { what: 'cookie' }, { what: [/one of access-token, refresh-token, code, portal-session/] }],
      ['expire', { what: 'code', value: 'a', email: 'a@b.test' }, { email: [/not both/] }],
      ['expire', { what: 'access-token', value: 'a' }, { value: [/not an access token/] }],
      ['expire', { what: 'portal-session', userId: 'a', clientId: 'b' }, { clientId: [/Leave clientId out/] }],
      ['reset', { all: 'yes' }, { all: [/true or false/] }],
      ['reset', { all: true, suite: 'a' }, { all: [/not both/] }],
    ]
    for (const [path, body, message] of rows) {
      const answer = await lab('POST', path, body)
      t.match([answer.statusCode, answer.json()], [422, { error: { status: 422, message } }], JSON.stringify(body))
    }
    t.equal((await lab('PUT', 'applications/nothing/lifetimes', {})).statusCode, 404)
    t.equal((await lab('POST', 'people')).statusCode, 400, 'no body at all')
  },
)

t.test('if the laboratory has a token, its OpenAPI document says that calls must send the token', async t => {
  const open = (await (await buildTestLab(t)).lab('GET', 'openapi.json')).json<Document>()
  t.strictSame(open.security, [{ labToken: [] }, {}])
})
