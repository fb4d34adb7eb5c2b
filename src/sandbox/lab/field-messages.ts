// Turns the errors of Ajv, which checks each call against its schema, into messages about the fields of the call.
import type { ErrorObject } from 'ajv'
import type { FieldProblems } from '../observe/refusal.ts'

/** An answer names at most this many unknown fields or parameters, and shows only the beginning of a long name. */
export const mostUnknown = 10
export const longestShownName = 100

/** Returns every problem at once. `place` is the part of the request that was checked. */
export function messagesOf(errors: ErrorObject[], place: string | undefined): FieldProblems {
  const messages: FieldProblems = {}
  const lists = errors.filter(({ keyword }) => /^(min|max)Items$/.test(keyword)).map(error => `${error.instancePath}/`)
  let unknown = 0
  for (const error of errors) {
    // If a list is too long or too short, its items are not checked.
    if (lists.some(list => error.instancePath.startsWith(list))) continue
    if (error.keyword === 'additionalProperties' && ++unknown > mostUnknown) continue
    const [name, message] = place === 'querystring' ? inAddress(error) : inBody(error)
    messages[name] = [message]
  }
  return messages
}

function inAddress({ keyword, instancePath, params, parentSchema = {} }: ErrorObject): [name: string, message: string] {
  if (keyword !== 'additionalProperties')
    return [
      instancePath.slice(1),
      keyword === 'type' ? 'Send this parameter only once.' : `This must be ${inWords(parentSchema)}.`,
    ]
  return [
    params.additionalProperty.slice(0, longestShownName),
    `There is no such parameter. ${describeParameters(Object.keys(parentSchema.properties))}`,
  ]
}

export function describeParameters(names: string[]): string {
  return names.length > 0 ? `The parameters of this call are ${names.join(', ')}.` : 'This call has no parameters.'
}

function inBody({ keyword, instancePath, params, parentSchema = {} }: ErrorObject): [name: string, message: string] {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.')
  const nameOf = (own: string) => (path ? `${path}.${own}` : own)
  if (keyword === 'additionalProperties')
    return [
      nameOf(params.additionalProperty.slice(0, longestShownName)),
      `There is no such field. The fields are ${Object.keys(parentSchema.properties).join(', ')}.`,
    ]
  if (keyword === 'required') {
    const missing = parentSchema.properties[params.missingProperty]
    return [nameOf(params.missingProperty), `This is missing. It must be ${inWords(missing)}.`]
  }
  return [path || 'body', `This must be ${inWords(parentSchema)}.`]
}

// biome-ignore lint/suspicious/noExplicitAny: Ajv types the fields of a schema as `any`
function inWords(schema: any): string {
  const { type, title, minimum, maximum, minItems, maxItems, items, examples, minLength = 0, maxLength } = schema
  if (title) return title
  if (type === 'boolean') return 'true or false'
  if (type === 'integer') return `a whole number from ${minimum} to ${maximum}`
  if (type === 'object') return 'a JSON object'
  if (type === 'array') return `a list of ${minItems} to ${maxItems} items, each ${inWords(items)}`
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  const example = examples ? `, such as ${examples.join(' or ')}` : ''
  return maxLength === undefined
    ? `a string${example}`
    : `a string of ${minLength} to ${maxLength} characters${example}`
}
