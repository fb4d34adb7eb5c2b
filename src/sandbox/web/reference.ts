// Makes the contents of the page that describes the calls, from the OpenAPI document. For each call, the page shows the
// fields, an example to copy, and the answer.
import type { Answer, OpenApi, Operation, Parameter, Schema } from '../http/openapi-types.ts'

/**
 * Values for the example answers. The key is the name of a field, such as `name`, or its type and name, such as
 * `Group.name`.
 */
export type Samples = Record<string, unknown>

interface Field {
  name: string
  /** The type in words, such as `string, at most 200 characters`. */
  type: string
  isRequired: boolean
  description: string | undefined
}

export interface Call {
  id: string
  method: string
  path: string
  summary: string
  description: string | undefined
  needsToken: boolean
  fields: { heading: string; fields: Field[] }[]
  /** A command for a terminal, or an address for a browser. */
  example: { isAddress: boolean; text: string }
  answers: { status: string; description: string; body: string | undefined; headers: Field[] }[]
  errors: { status: string; id: string }[]
}

interface ErrorAnswer {
  id: string
  status: string
  description: string
}

export interface Reference {
  sections: { name: string; calls: Call[] }[]
  /** All error answers of the calls. Each error answer is listed once. */
  errors: ErrorAnswer[]
}

export function describeCalls(document: OpenApi, samples: Samples): Reference {
  const errors: ErrorAnswer[] = []
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const calls = operations.map(({ path, method, operation }) => {
    const { operationId, summary, description, security, responses } = operation
    const answers = Object.entries(responses)
    const needsToken = security?.length !== 0
    const call: Call = {
      id: operationId,
      method: method.toUpperCase(),
      path,
      summary,
      description,
      needsToken,
      fields: listFields(operation, document),
      example: writeExample(document, { path, method, operation, needsToken }),
      answers: answers.filter(([status]) => isGood(status)).map(answer => describeAnswer(answer, document, samples)),
      errors: answers
        .filter(([status]) => !isGood(status))
        .map(([status, { description }]) => ({ status, id: findOrAdd(errors, status, description).id })),
    }
    return { tag: operation.tags[0], call }
  })
  return {
    sections: document.tags.map(({ name }) => ({
      name,
      calls: calls.filter(({ tag }) => tag === name).map(({ call }) => call),
    })),
    errors: errors.sort((one, other) => Number(one.status) - Number(other.status)),
  }
}

const isGood = (status: string) => Number(status) < 400

/** Finds the error with this status and description, or adds it. A status with several descriptions has several ids. */
function findOrAdd(errors: ErrorAnswer[], status: string, description: string): ErrorAnswer {
  const known = errors.find(error => error.status === status && error.description === description)
  if (known) return known
  const count = errors.filter(error => error.status === status).length
  const added = { id: count === 0 ? `error-${status}` : `error-${status}-${count + 1}`, status, description }
  errors.push(added)
  return added
}

function listFields({ parameters = [], requestBody }: Operation, document: OpenApi): Call['fields'] {
  const fieldsIn = (place: Parameter['in']) =>
    parameters
      .filter(parameter => parameter.in === place)
      .map(({ name, schema, required, description }) => toField(name, { description, ...schema }, required === true))
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  return [
    { heading: 'In the path', fields: fieldsIn('path') },
    { heading: 'In the query', fields: fieldsIn('query') },
    { heading: 'Headers', fields: fieldsIn('header') },
    { heading: 'Body', fields: body ? bodyFieldsOf(body, document) : [] },
  ].filter(({ fields }) => fields.length > 0)
}

/**
 * Returns the fields of a body. If the body is accepted with and without an envelope, the function returns the fields
 * without the envelope.
 */
function bodyFieldsOf(schema: Schema, document: OpenApi): Field[] {
  const { properties, required = [], anyOf } = resolve(schema, document)
  if (!properties) return anyOf ? bodyFieldsOf(anyOf.at(-1)!, document) : []
  return Object.entries(properties).map(([name, property]) =>
    toField(name, resolve(property, document), required.includes(name)),
  )
}

function toField(name: string, schema: Schema, isRequired: boolean): Field {
  const { type = 'string', enum: values, minLength, maxLength, description } = schema
  const length =
    minLength !== undefined && minLength === maxLength
      ? `${maxLength} characters`
      : maxLength && `at most ${maxLength.toLocaleString('en')} characters`
  return {
    name,
    type: [values ? values.join(' or ') : type, length].filter(Boolean).join(', '),
    isRequired,
    description,
  }
}

function resolve(schema: Schema, { components }: OpenApi): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (components.schemas[name] ?? {})
}

function describeAnswer([status, answer]: [string, Answer], document: OpenApi, samples: Samples) {
  const { description, headers = {}, content } = answer
  const schema = content?.['application/json']?.schema
  return {
    status,
    description,
    body: schema && JSON.stringify(makeSample(schema, document, samples), null, 2),
    headers: Object.entries(headers).map(([name, header]) =>
      toField(name, { description: header.description, ...header.schema }, false),
    ),
  }
}

/**
 * Returns an example value that the schema allows. `name` is the name of the field. If `samples` has a value for the
 * field's type and name, such as `Group.name`, then `name` contains both.
 */
function makeSample(schema: Schema, document: OpenApi, samples: Samples, name = ''): unknown {
  const { type, format, enum: values, examples, properties, items, additionalProperties } = resolve(schema, document)
  if (name in samples) return samples[name]
  if (values) return values[0]
  if (properties) {
    const typeName = properties['@type']?.enum?.[0]
    const sampleNameOf = (key: string) => (`${typeName}.${key}` in samples ? `${typeName}.${key}` : key)
    const members = Object.entries(properties).map(([key, property]) => {
      return [key, makeSample(property, document, samples, sampleNameOf(key))]
    })
    return Object.fromEntries(members)
  }
  // Only one object can have fields with arbitrary names: the object that lists the problems of each wrong field.
  if (additionalProperties) return { name: ['Enter a name.'] }
  if (items) return [makeSample(items, document, samples, name)]
  if (type === 'array') return []
  if (type === 'object') return {}
  if (examples) return examples[0]
  if (format === 'date-time') return '2026-03-01T12:00:00+00:00'
  if (format === 'uuid') return '0b3c8a54-2f0f-4f5e-9d55-1c1f6f2a7a10'
  if (type === 'integer') return 3600
  return type === 'boolean' ? true : ''
}

/** The shell variable that has the value of this field: `$USER_ID` for `userId` and for `user_id`. */
const variableOf = (name: string) => `$${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`

interface Example {
  path: string
  method: string
  operation: Operation
  needsToken: boolean
}

function writeExample(document: OpenApi, { path, method, operation, needsToken }: Example): Call['example'] {
  const { parameters = [], requestBody, responses } = operation
  const base = `${document.servers[0]?.url}${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => variableOf(name))}`
  const query = parameters.filter(({ in: place }) => place === 'query')
  // A GET without a JSON answer shows a page, so its example is an address for a browser.
  const isAddress = method === 'get' && !Object.values(responses).some(({ content }) => content)
  if (isAddress) {
    const pairs = query.map(({ name, schema }) => `${name}=${schema.enum?.[0] ?? name.toUpperCase()}`)
    return { isAddress, text: [base, ...pairs.map((pair, index) => `  ${index ? '&' : '?'}${pair}`)].join('\n') }
  }
  const requiredParameters = query.filter(({ required }) => required)
  const pairs = requiredParameters.map(({ name, schema }) => `${name}=${schema.enum?.[0] ?? variableOf(name)}`)
  const address = pairs.length > 0 ? `"${base}?${pairs.join('&')}"` : base
  const options = [
    method === 'get' || (method === 'post' && requestBody) ? '' : `-X ${method.toUpperCase()}`,
    needsToken ? '-H "Authorization: Bearer $TOKEN"' : '',
    ...writeBody(requestBody, document),
  ].filter(Boolean)
  return { isAddress, text: [`curl -sS ${address}`, ...options].join(' \\\n  ') }
}

/** Returns the options that make curl send the body. */
function writeBody(body: Operation['requestBody'], document: OpenApi): string[] {
  const form = body?.content['application/x-www-form-urlencoded']
  if (form) {
    const exampleValues = (form.example ?? {}) as Record<string, string>
    const { properties = {}, required = [], anyOf = [] } = form.schema
    const shownNames = new Set([...required, ...(anyOf.at(-1)?.required ?? []), ...Object.keys(exampleValues)])
    return Object.keys(properties)
      .filter(name => shownNames.has(name))
      .map(name => {
        const value = exampleValues[name] ?? properties[name]?.enum?.[0] ?? variableOf(name)
        return /^\w+$/.test(value) ? `-d ${name}=${value}` : `--data-urlencode "${name}=${value}"`
      })
  }
  const json = body?.content['application/json']
  if (!json) return []
  const example = json.example ?? makeSample(json.schema.anyOf?.[0] ?? json.schema, document, {})
  // The shell does not replace variables in single quotes. Each variable is therefore in double quotes, between two
  // strings in single quotes.
  const text = JSON.stringify(example, null, 2).replaceAll(/"\$(\w+)"/g, `"'"$$$1"'"`)
  return [`-H 'Content-Type: application/json'`, `-d '${text}'`]
}
