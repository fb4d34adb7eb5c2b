// The RAML 1.0 description of the API (rule api-descriptions), made from its OpenAPI document.
import { stringify } from 'yaml'
import type { OpenApi, Operation, Schema } from '../http/openapi-types.ts'

export function toRaml({ info, servers, components, paths }: OpenApi): string {
  const description = {
    ...info,
    baseUri: servers[0]?.url,
    mediaType: 'application/json',
    securedBy: ['accessToken'],
    securitySchemes: {
      accessToken: {
        type: 'x-bearer',
        displayName: 'Access token',
        description: 'An access token of the portal: a JWT, sent as RFC 6750 describes.',
        describedBy: { headers: { Authorization: { description: 'Bearer, a space, and the token.' } } },
      },
    },
    types: mapValues(components.schemas, toType),
    ...mapValues(paths, toResource),
  }
  // YAML 1.1 reads more words as true or false than YAML 1.2 does, such as `no` and `on`. With this version, `stringify`
  // also puts these words in quotation marks.
  return `#%RAML 1.0\n${stringify(description, { version: '1.1' })}`
}

function toResource(methods: Record<string, Operation>) {
  const inPath = Object.values(methods).flatMap(({ parameters = [] }) => parameters.filter(one => one.in === 'path'))
  const uriParameters = Object.fromEntries(inPath.map(one => [one.name, toParameter(one)]))
  return { ...(inPath.length > 0 && { uriParameters }), ...mapValues(methods, toMethod) }
}

function toMethod({ operationId, summary, description, parameters = [], requestBody, responses }: Operation) {
  const those = (place: string) =>
    Object.fromEntries(
      parameters
        .filter(one => one.in === place)
        .map(one => [one.required ? one.name : `${one.name}?`, toParameter(one)]),
    )
  return withoutEmpty({
    displayName: operationId,
    description: [summary, description].filter(Boolean).join('. '),
    queryParameters: those('query'),
    headers: those('header'),
    body: toBody(requestBody?.content),
    responses: mapValues(responses, ({ description, headers = {}, content }) =>
      withoutEmpty({ description, headers: mapValues(headers, toParameter), body: toBody(content) }),
    ),
  })
}

function toParameter({ schema, description }: { schema: Schema; description?: string }) {
  const type = toType(schema)
  return { ...(typeof type === 'string' ? { type } : type), ...(description && { description }) }
}

function toBody(content: Record<string, { schema: Schema }> = {}) {
  const schema = content['application/json']?.schema
  return schema && toType(schema)
}

/**
 * Returns the name of a RAML type. If a name cannot express the whole schema, the function returns a declaration
 * instead.
 */
function toType(schema: Schema): string | Record<string, unknown> {
  const { $ref, type, format, description, properties, required = [], additionalProperties, items, anyOf } = schema
  if ($ref) return $ref.split('/').at(-1) ?? ''
  if (anyOf) return anyOf.map(toType).join(' | ')
  const { enum: values, minLength, maxLength, minItems, maxItems } = schema
  const facets = withoutEmpty({
    description,
    enum: values,
    minLength,
    maxLength,
    minItems,
    maxItems,
    items: items && toType(items),
    properties: {
      ...Object.fromEntries(
        Object.entries(properties ?? {}).map(([name, one]) => [
          required.includes(name) ? name : `${name}?`,
          toType(one),
        ]),
      ),
      // Allows fields with any name.
      ...(additionalProperties && { '//': toType(additionalProperties) }),
    },
  })
  const name = format === 'date-time' ? 'datetime' : (type ?? 'any')
  return Object.keys(facets).length === 0 ? name : { type: name, ...facets }
}

function withoutEmpty(values: Record<string, unknown>): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)))
}

function mapValues<T, R>(values: Record<string, T>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
}
