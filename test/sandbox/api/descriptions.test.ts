// Tests that the OpenAPI document, the RAML document and the pages describe the same API.
import swaggerParser from '@apidevtools/swagger-parser'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import amf from 'amf-client-js'
import t from 'tap'
import { toRaml } from '../../../src/sandbox/api/raml.ts'
import { buildTestSandbox, portalUrl } from '../support/build-test-sandbox.ts'

type Schema = Record<string, unknown>

interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, Answer>
}

interface Answer {
  description: string
  headers?: Record<string, { schema: Schema }>
  content?: Record<string, { schema: Schema }>
}

interface Document {
  openapi: string
  servers: { url: string }[]
  components: { schemas: Record<string, Schema> }
  paths: Record<string, Record<string, Operation>>
}

const apiUrl = 'https://api.example.test'

/**
 * Parses and validates the document with the RAML parser AMF. Returns three things: whether the document is valid, its
 * problems, and the document as OpenAPI.
 */
async function readRaml(text: string) {
  const raml = amf.RAMLConfiguration.RAML10().baseUnitClient()
  const parsed = await raml.parseContent(text)
  const report = await raml.validate(parsed.baseUnit)
  const problems = [...parsed.results, ...report.results].map(({ message }) => message)
  const conforms = parsed.conforms && report.conforms
  if (!conforms) return { conforms, problems, document: undefined }
  const oas = amf.OASConfiguration.OAS30().baseUnitClient()
  const { baseUnit } = oas.transform(parsed.baseUnit, amf.PipelineId.Compatibility)
  return { conforms, problems, document: JSON.parse(oas.render(baseUnit, 'application/json')) as Document }
}

/** Returns every operation with its parameters, fields and answers, in the same format for RAML and OpenAPI. */
async function outline(document: Document): Promise<Record<string, unknown>> {
  const { paths } = (await swaggerParser.dereference(structuredClone(document) as never)) as unknown as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => ['get', 'post', 'put', 'delete'].includes(method))
      .map(([method, operation]) => [`${method} ${path}`, outlineOperation(operation)]),
  )
  return Object.fromEntries(operations.sort())
}

function outlineOperation({ operationId, parameters = [], requestBody, responses }: Operation) {
  return {
    operationId,
    parameters: Object.fromEntries(
      parameters.map(({ name, in: place, required = false, schema }) => [
        `${place} ${name}`,
        { required, ...outlineSchema(schema) },
      ]),
    ),
    body: outlineContent(requestBody?.content),
    answers: Object.fromEntries(
      Object.entries(responses).map(([status, { description, headers = {}, content }]) => {
        const outlined = Object.entries(headers).map(([name, { schema }]) => [name, outlineSchema(schema)])
        return [status, { description, headers: Object.fromEntries(outlined), body: outlineContent(content) }]
      }),
    ),
  }
}

function outlineContent(content: Record<string, { schema: Schema }> = {}) {
  return Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, outlineSchema(schema)]))
}

const limits = ['type', 'enum', 'minLength', 'maxLength', 'minItems', 'maxItems']

function outlineSchema(schema: Schema): Schema {
  const { anyOf, properties, required, items, additionalProperties, patternProperties } = schema
  const anyField = additionalProperties ?? (patternProperties && Object.values(patternProperties)[0])
  return {
    ...Object.fromEntries(limits.filter(name => name in schema).map(name => [name, schema[name]])),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map(outlineSchema) }),
    ...(Array.isArray(required) && { required: [...required].sort() }),
    ...(isSchema(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, outlineSchema(field as Schema)]),
      ),
    }),
    ...(isSchema(items) && { items: outlineSchema(items) }),
    ...(isSchema(anyField) && { anyField: outlineSchema(anyField) }),
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

const { api } = await buildTestSandbox(t, { apiUrl })
const openapi = await api.inject('/apps/v1/openapi.json')
const raml = await api.inject('/apps/v1/api.raml')
/**
 * Read the RAML document only once, because AMF needs more time for it than all other tests of this file need together.
 */
const { conforms, problems, document } = await readRaml(raml.body)

t.test('api-descriptions: the API’s OpenAPI 3.1 document is valid, and can be read without a token', async t => {
  t.equal(openapi.statusCode, 200)
  t.equal(openapi.headers['content-type'], 'application/json; charset=utf-8')
  const document = openapi.json<Document>()
  t.match(document, { openapi: /^3\.1\.\d$/, servers: [{ url: apiUrl }] })
  // The page that shows the document replaces each reference with its target. With circular references this replacement
  // would never end.
  await t.resolves(swaggerParser.validate(structuredClone(document) as never, { dereference: { circular: false } }))
  const ajv = new Ajv2020({ strict: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'components', 'security', 'paths'])
  ajv.addSchema(document, 'api')
  for (const name of Object.keys(document.components.schemas))
    t.ok(ajv.compile({ $ref: `api#/components/schemas/${name}` }), `${name} is JSON schema 2020-12`)
})

t.test('api-descriptions: the API’s RAML 1.0 document is valid, and can be read without a token', async t => {
  t.equal(raml.statusCode, 200)
  t.equal(raml.headers['content-type'], 'application/raml+yaml; charset=utf-8')
  t.strictSame([conforms, problems], [true, []])
  t.match(raml.body, `\nbaseUri: ${apiUrl}\n`)
  const broken = await readRaml(raml.body.replace('body: AppCollection', 'body: Nothing'))
  t.equal(broken.conforms, false, 'the test must notice a broken document')
})

t.test('the RAML document quotes strings that YAML would otherwise not read as strings', async t => {
  const info = { title: 'No', version: 'true', description: 'null' }
  const schemas = { on: { type: 'string', description: 'Yesterday' } }
  const text = toRaml({ info, servers: [], tags: [], components: { schemas }, paths: {} })
  for (const line of ['title: "No"', 'version: "true"', 'description: "null"', '  "on":', '    description: Yesterday'])
    t.ok(text.split('\n').includes(line), line)
})

t.test(
  'the OpenAPI document and the RAML document of the API have the same operations, fields and statuses',
  async t => {
    if (!document) throw new Error('the RAML document does not conform')
    const fromRaml = await outline(document)
    const fromOpenapi = await outline(openapi.json())
    t.strictSame(Object.keys(fromRaml), Object.keys(fromOpenapi))
    for (const [name, operation] of Object.entries(fromOpenapi)) t.strictSame(fromRaml[name], operation, name)
  },
)

t.test(
  'api-operations: the OpenAPI document and the RAML document list every operation of the API with its statuses',
  async t => {
    const { paths } = openapi.json<Document>()
    const statuses = (method: string, path: string) =>
      Object.keys(paths[path]?.[method]?.responses ?? {})
        .map(Number)
        .filter(status => ![400, 413, 415, 500, 503].includes(status))
    const operations: [string, string, number[]][] = [
      ['get', '/apps/v1', [200, 401]],
      ['post', '/apps/v1', [201, 401, 403, 404, 422]],
      ['get', '/apps/v1/{app_id}', [200, 401, 403, 404]],
      ['put', '/apps/v1/{app_id}', [200, 401, 403, 404, 412, 422]],
      ['delete', '/apps/v1/{app_id}', [204, 401, 403, 404, 412]],
      ['post', '/apps/v1/{app_id}/refreshSecret', [201, 401, 403, 404]],
      ['post', '/identities/v1', [201, 401, 403, 422]],
      ['post', '/identities/v1/{user_id}/link/{group_id}', [201, 401, 403, 404, 409, 422]],
      ['delete', '/identities/v1/{user_id}/link/{group_id}', [204, 401, 403, 404, 409]],
      ['get', '/identities/v1/{user_id}/links', [200, 401, 403, 404, 422]],
    ]
    for (const [method, path, expected] of operations)
      t.strictSame(statuses(method, path), expected, `${method} ${path}`)
    t.equal(
      Object.values(paths).flatMap(methods => Object.keys(methods)).length,
      operations.length,
      'the description must have no other operations',
    )
  },
)

t.test('the page that describes the API calls is public, and loads nothing from other sites', async t => {
  const page = await api.inject('/apps/v1/docs')
  t.equal(page.statusCode, 200)
  t.match(page.headers['content-type'], /^text\/html/)
  t.equal(
    page.headers['content-security-policy'],
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; " +
      "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  )
  const resources = [...page.body.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(
    ([, address]) => address ?? '',
  )
  t.equal(resources.length, 4, 'an icon, two stylesheets and a script')
  for (const address of resources) {
    t.match(address, /^\/assets\//)
    t.equal((await api.inject(address)).statusCode, 200, address)
  }
  t.notMatch(page.body, /<script>|<style|style="|onload="/)
  t.match(page.body, `href="${portalUrl}/account/token"`, 'the page must link to the page for tokens')
})

t.test('the page at / of the API explains the API, and links to the OpenAPI and RAML documents', async t => {
  const page = await api.inject('/')
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': /^text\/html/,
    'content-security-policy': /^default-src 'none'; style-src 'self'/,
  })
  t.match(page.body, '<h1>Create and manage applications from a program</h1>')
  t.match(
    page.body,
    '/apps/v1 \\\n  -H &quot;Authorization: Bearer $TOKEN&quot;</code></pre>',
    'the page must contain an example command',
  )
  const links = [...page.body.matchAll(/href="(\/[^"]+)"/g)].map(([, address]) => address ?? '')
  for (const address of ['/apps/v1/docs', '/apps/v1/openapi.json', '/apps/v1/api.raml']) t.ok(links.includes(address))
  for (const address of links) t.equal((await api.inject(address)).statusCode, 200, address)
})
