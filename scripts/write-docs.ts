// Writes the parts of the documents that are made from the sandbox's schemas and catalogues: npm run docs
import { readFileSync, writeFileSync } from 'node:fs'
import { checks } from '../src/conformance/checks.ts'
import { listChecks } from '../src/conformance/report/terminal.ts'
import { toApiError } from '../src/sandbox/api/api-error.ts'
import { settings } from '../src/sandbox/config.ts'
import { createSandbox } from '../src/sandbox/create-sandbox.ts'
import { type Reason, reasons } from '../src/sandbox/observe/reasons.ts'
import { Refusal } from '../src/sandbox/observe/refusal.ts'
import { oauthAnswerOf } from '../src/sandbox/portal/oauth-errors.ts'
import { writeCatalogue } from './fault-catalogue.ts'
import { code, toRow } from './markdown.ts'
import { makeExamples } from './platform-examples.ts'
import { linkRules, platformRules } from './rule-tables.ts'

/** The parts of OpenAPI and JSON Schema that the sandbox uses. */
interface Schema {
  $ref?: string
  anyOf?: Schema[]
  title?: string
  type?: string | string[]
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  default?: unknown
  description?: string
}

interface Operation {
  tags: string[]
  summary: string
  description?: string
  parameters?: { in: string; name: string; description?: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string }>
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Returns the text of each document, keyed by its path. */
export async function makeDocuments(): Promise<Map<string, string>> {
  const { lab, api } = await readDescriptions()
  const orderFault = lab.paths['/lab/v1/faults']!.post!
  const newApp = api.components.schemas.NewApp!
  return new Map([
    ['docs/conformance-checks.md', listChecks(checks)],
    ['docs/faults.md', writeCatalogue()],
    [
      'docs/laboratory.md',
      fill('docs/laboratory.md', {
        'calls that show what happened': tableOfCalls(lab, 'What happened'),
        'calls for faults': tableOfCalls(lab, 'Faults'),
        'fields of a fault': tableOfFields(bodyOf(orderFault)),
        'calls for set-up': tableOfCalls(lab, 'Set-up'),
        'fields for set-up': tableOfBodies(lab, 'Set-up'),
      }),
    ],
    [
      'docs/application-api.md',
      fill('docs/application-api.md', {
        'calls for applications': tableOfCalls(api, 'Applications'),
        'fields of an application': tableOfFields(newApp),
        'calls for groups': tableOfCalls(api, 'Groups'),
        'fields of a group': tableOfFields(api.components.schemas.NewGroup!),
      }),
    ],
    ['docs/reference/platform.md', fill('docs/reference/platform.md', platformRules(), await makeExamples())],
    ['docs/refusals.md', fill('docs/refusals.md', { reasons: tableOfReasons() })],
    ['docs/sandbox-settings.md', fill('docs/sandbox-settings.md', { settings: tableOfSettings() })],
    ['.env.sandbox.example', settingsForEnvironment()],
  ])
}

async function readDescriptions(): Promise<{ lab: OpenApi; api: OpenApi }> {
  const sandbox = await createSandbox()
  try {
    const read = async (url: string) => (await (await fetch(url)).json()) as OpenApi
    return {
      lab: await read(`${sandbox.labUrl}/lab/v1/openapi.json`),
      api: await read(`${sandbox.apiUrl}/apps/v1/openapi.json`),
    }
  } finally {
    await sandbox.close()
  }
}

/**
 * Puts each table or example between the comments that contain its name. Throws an error if the document does not have
 * these comments.
 */
function fill(path: string, tables: Record<string, string>, examples: Record<string, string> = {}): string {
  let document = readFileSync(path, 'utf8')
  for (const [name, table] of Object.entries(tables)) document = fillOne(path, document, `table: ${name}`, table)
  for (const [name, example] of Object.entries(examples))
    document = fillOne(path, document, `example: ${name}`, example)
  return document
}

function fillOne(path: string, document: string, name: string, text: string): string {
  const [start, end] = [`<!-- made by npm run docs, ${name} -->\n`, '<!-- end -->']
  const from = document.indexOf(start)
  const to = document.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`${path} lacks the lines “${start.trim()}” and “${end}”.`)
  return document.slice(0, from) + start + text + document.slice(to)
}

function tableOfCalls(description: OpenApi, tag: string): string {
  /** The descriptions of the parameters in the rows above. */
  const known = new Set<string>()
  const rows = callsOf(description, tag).map(([call, { summary, description = '', parameters = [] }]) => {
    const query = parameters
      .filter(parameter => parameter.in !== 'path')
      .map(({ name, schema, description = '' }) => {
        const values = allowed(schema)
        return { name: code(name), words: `${code(name)}${values && ` (${values})`}: ${description}` }
      })
    const [repeated, others] = [
      query.filter(({ words }) => known.has(words)),
      query.filter(({ words }) => !known.has(words)),
    ]
    for (const { words } of others) known.add(words)
    const asAbove = repeated.length > 0 && `${repeated.map(({ name }) => name).join(', ')}: as above.`
    const words = others.map(({ words }) => words)
    return [code(call), [`${withoutStop(summary)}.`, description, ...words, asAbove].filter(Boolean).join(' ')]
  })
  return toTable(['Call', 'What it does'], rows)
}

/** Returns a table with the fields of all request bodies, call by call. */
function tableOfBodies(description: OpenApi, tag: string): string {
  const rows = callsOf(description, tag).flatMap(([call, operation]) =>
    fieldRows(bodyOf(operation)).map(row => [code(call.replace('/lab/v1', '')), ...row]),
  )
  return toTable(['Call', 'Field', 'Allowed', 'What it says'], rows)
}

function tableOfFields(schema: Schema): string {
  return toTable(['Field', 'Allowed', 'What it says'], fieldRows(schema))
}

function fieldRows({ properties = {}, required = [] }: Schema): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const limits = [required.includes(name) && 'needed', allowed(schema)].filter(Boolean).join('; ')
    const row = [code(name), limits, schema.description ?? '']
    const inner = fieldRows(schema).map(([field, ...others]) => [code(`${name}.${field!.slice(1, -1)}`), ...others])
    return [row, ...inner]
  })
}

function callsOf({ paths }: OpenApi, tag: string): [call: string, operation: Operation][] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation]),
  )
}

function bodyOf({ requestBody }: Operation): Schema {
  return requestBody?.content['application/json']?.schema ?? {}
}

/** Returns the values that a schema allows, in words. */
function allowed(schema: Schema): string {
  const words = schema.title ?? allowedValues(schema)
  return schema.default === undefined ? words : `${words}; default ${code(String(schema.default))}`
}

function allowedValues({ anyOf, enum: values, type, ...schema }: Schema): string {
  if (anyOf) return anyOf.map(allowedValues).join(' or ')
  if (values) return values.map(value => code(String(value))).join(', ')
  if ([type].flat().includes('string')) return range(schema.minLength, schema.maxLength, 'characters')
  if (type === 'integer') return range(schema.minimum, schema.maximum)
  if (type === 'array') return `a list of ${range(schema.minItems, schema.maxItems)}`
  return type === 'boolean' ? '`true` or `false`' : 'an object'
}

function range(least = 0, most?: number, of = ''): string {
  if (most === undefined) return least > 0 ? `${least} or more ${of}`.trim() : ''
  const highest = most.toLocaleString('en')
  return (least === 0 && of ? `at most ${highest} ${of}` : `${least} to ${highest} ${of}`).trim()
}

function tableOfReasons(): string {
  const rows = Object.entries(reasons).map(([reason, { found, fix, reference }]) => {
    const refusal = new Refusal(reason as Reason)
    const [status, error] = oauthAnswerOf(refusal).answer
    const { statusCode } = toApiError(refusal)
    const answers = [
      status !== 500 && `${status} ${code(error)}`,
      statusCode !== 500 && statusCode !== 401 && `API: ${statusCode}`,
    ]
    return [code(reason), found, fix, answers.filter(Boolean).join('; '), linkRules(reference)]
  })
  return toTable(['Reason', 'What was found', 'How to fix it', 'Answer to a call', 'Reference'], rows)
}

function tableOfSettings(): string {
  const rows = settings.map(({ name, default: value, about }) => [code(name), value ? code(value) : 'not set', about])
  return toTable(['Setting', 'Default', 'What it is'], rows)
}

function settingsForEnvironment(): string {
  const [head = ''] = readFileSync('.env.sandbox.example', 'utf8').split('\n')
  return `${head}\n${settings.map(({ name, default: value, about }) => `\n# ${about}\n#${name}=${value}\n`).join('')}`
}

function toTable(head: string[], rows: string[][]): string {
  return `${[toRow(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(toRow)].join('\n')}\n`
}

const withoutStop = (sentence: string) => sentence.replace(/\.$/, '')

if (import.meta.main) for (const [path, document] of await makeDocuments()) writeFileSync(path, document)
