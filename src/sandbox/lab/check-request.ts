// What is wrong with a call, in the laboratory's words: from what Ajv found with the schemas that describe the call.
import type { ErrorObject } from 'ajv'

/** What is wrong, by field. */
export type FieldMessages = Record<string, string[]>

/** PostgreSQL cannot store NUL in a text, and UTF-8 cannot encode half a surrogate pair. */
export const storable = '^[^\\0\\p{Cs}]*$'

/** The parameters of a call's address. Unknown ones are refused: a misspelled parameter must not widen what the call does. */
export function queryOf(properties: Record<string, object> = {}) {
  return { type: 'object', additionalProperties: false, properties } as const
}

const mostUnknown = 10

/** Every problem at once. `place` is the part of the request that was checked. */
export function messagesOf(errors: ErrorObject[], place: string | undefined): FieldMessages {
  const messages: FieldMessages = {}
  const lists = errors.filter(({ keyword }) => /^(min|max)Items$/.test(keyword)).map(error => `${error.instancePath}/`)
  let unknown = 0
  for (const error of errors) {
    // The items of a list that is too long or too short are not checked.
    if (lists.some(list => error.instancePath.startsWith(list))) continue
    if (error.keyword === 'additionalProperties' && ++unknown > mostUnknown) continue
    const [name, message] = place === 'querystring' ? inAddress(error) : inBody(error)
    messages[name] = [message]
  }
  return messages
}

function inAddress({ keyword, instancePath, params, parentSchema = {} }: ErrorObject): [name: string, message: string] {
  if (keyword !== 'additionalProperties')
    return [instancePath.slice(1), keyword === 'type' ? 'Give it once.' : `This must be ${inWords(parentSchema)}.`]
  const known = Object.keys(parentSchema.properties)
  const accepted = known.length > 0 ? `This call takes ${known.join(', ')}.` : 'This call takes none.'
  return [params.additionalProperty.slice(0, 100), `There is no such parameter. ${accepted}`]
}

function inBody({ keyword, instancePath, params, parentSchema = {} }: ErrorObject): [name: string, message: string] {
  const path = instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.')
  const nameOf = (own: string) => (path ? `${path}.${own}` : own)
  if (keyword === 'additionalProperties')
    return [
      nameOf(params.additionalProperty.slice(0, 100)),
      `There is no such field. There are ${Object.keys(parentSchema.properties).join(', ')}.`,
    ]
  if (keyword === 'required') {
    const missing = parentSchema.properties[params.missingProperty]
    return [nameOf(params.missingProperty), `This is missing. It must be ${inWords(missing)}.`]
  }
  return [path || 'body', `This must be ${inWords(parentSchema)}.`]
}

// biome-ignore lint/suspicious/noExplicitAny: Ajv gives any schema back
function inWords(schema: any): string {
  const { type, title, minimum, maximum, minItems, maxItems, items, examples, minLength = 0, maxLength } = schema
  if (title) return title
  if (type === 'boolean') return 'true or false'
  if (type === 'integer') return `a whole number from ${minimum} to ${maximum}`
  if (type === 'object') return 'a JSON object'
  if (type === 'array') return `a list of ${minItems} to ${maxItems}, each ${inWords(items)}`
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  const example = examples ? `, such as ${examples.join(' or ')}` : ''
  return maxLength === undefined ? `a text${example}` : `a text of ${minLength} to ${maxLength} characters${example}`
}
