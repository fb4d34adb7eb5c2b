// Reads the JSON body of a call by the schema that describes it, and says everything that is wrong with it at once.
import { type FieldMessages, LabError } from './lab-error.ts'

export type ValueSchema = { description?: string } & (
  | { type: 'string'; minLength?: number; maxLength?: number; pattern?: string; examples?: string[]; enum?: string[] }
  | { type: 'integer'; minimum: number; maximum: number }
  | { type: 'boolean' }
  | { type: 'array'; minItems: number; maxItems: number; items: ValueSchema }
  | ObjectSchema
)

/** Nothing but the properties that stand here, all of them optional but those that are required. */
export interface ObjectSchema {
  description?: string
  type: 'object'
  properties: Record<string, ValueSchema>
  required?: string[]
  additionalProperties: false
}

/** Takes T to be what the schema describes. Throws LabError 422 with what is allowed for each bad field. */
export function readBody<T>(body: unknown, schema: ObjectSchema): T {
  const problems: FieldMessages = {}
  check(body, schema, '', problems)
  if (Object.keys(problems).length > 0) throw new LabError(422, problems)
  return body as T
}

function check(value: unknown, schema: ValueSchema, name: string, problems: FieldMessages): void {
  if (schema.type === 'object' && isObject(value)) checkObject(value, schema, name, problems)
  else if (schema.type === 'array' && isListFor(value, schema))
    for (const [index, item] of value.entries()) check(item, schema.items, `${name}[${index}]`, problems)
  else if (schema.type === 'object' || schema.type === 'array' || !isScalarFor(value, schema))
    problems[name || 'body'] = [`This must be ${inWords(schema)}.`]
}

function checkObject(
  value: Record<string, unknown>,
  schema: ObjectSchema,
  name: string,
  problems: FieldMessages,
): void {
  const { properties, required = [] } = schema
  const fullName = (own: string) => (name ? `${name}.${own}` : own)
  for (const own of Object.keys(value)
    .filter(own => !Object.hasOwn(properties, own))
    .slice(0, 10))
    problems[fullName(own.slice(0, 100))] = [`There is no such field. There are ${Object.keys(properties).join(', ')}.`]
  for (const [own, ownSchema] of Object.entries(properties))
    if (value[own] !== undefined) check(value[own], ownSchema, fullName(own), problems)
    else if (required.includes(own)) problems[fullName(own)] = [`This is missing. It must be ${inWords(ownSchema)}.`]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isListFor(value: unknown, { minItems, maxItems }: { minItems: number; maxItems: number }): value is unknown[] {
  return Array.isArray(value) && value.length >= minItems && value.length <= maxItems
}

function isScalarFor(value: unknown, schema: Exclude<ValueSchema, { type: 'object' | 'array' }>): boolean {
  if (schema.type === 'boolean') return typeof value === 'boolean'
  if (schema.type === 'integer')
    return Number.isInteger(value) && (value as number) >= schema.minimum && (value as number) <= schema.maximum
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '', enum: allowed } = schema
  // NUL has no place in PostgreSQL's text, and half a surrogate pair none in UTF-8.
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) return false
  if (value.length < minLength || value.length > maxLength || (allowed && !allowed.includes(value))) return false
  return pattern === '' || value.search(pattern) === 0
}

/** What is allowed, after "This must be". */
function inWords(schema: ValueSchema): string {
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'integer') return `a whole number from ${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'object') return 'a JSON object'
  if (schema.type === 'array')
    return `a list of ${schema.minItems} to ${schema.maxItems}, each ${inWords(schema.items)}`
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  const example = schema.examples ? `, such as ${schema.examples.join(' or ')}` : ''
  const { minLength = 0, maxLength } = schema
  return maxLength === undefined ? `a text${example}` : `a text of ${minLength} to ${maxLength} characters${example}`
}
