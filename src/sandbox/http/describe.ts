// Makes the OpenAPI description from the routes' own schemas, and has helpers for writing these schemas.
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'

export type Schema = Record<string, unknown>

export const text = { type: 'string' }
export const time = { type: 'string', format: 'date-time' }
export const count = { type: 'integer', minimum: 0 }

export function object(properties: Schema, { optional = [] }: { optional?: string[] } = {}): Schema {
  const required = Object.keys(properties).filter(name => !optional.includes(name))
  return { type: 'object', ...(required.length > 0 && { required }), properties }
}

export function only(...values: string[]): Schema {
  return { type: 'string', enum: values }
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

/** Refers to a schema that was added to the server under this name. */
export function ref(name: string): Schema {
  return { $ref: `${name}#` }
}

/** The schema of a body that contains its fields either directly, or in an envelope (under `data`). */
export function inEnvelopeOrNot(envelope: string, plain: string): Schema {
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { if: { type: 'object', required: ['data'] }, then: ref(envelope), else: ref(plain) }
}

/** Describes a JSON answer. `schema` is the name of the answer's schema. */
export function answer(description: string, schema: string) {
  return { description, content: { 'application/json': { schema: ref(schema) } } }
}

/** Describes the parameters of an address. Only the parameters in the path are required. */
export function parameters(properties: Record<string, object>) {
  return { type: 'object', properties }
}

export interface Description {
  title: string
  version: string
  description: string
  url: string
  tags: readonly string[]
  /** The name of the security scheme that all calls use, and the scheme itself. */
  security: Record<string, { type: 'http'; scheme: 'bearer'; bearerFormat?: string; description?: string }>
  /** Whether the calls also work without a token. */
  isOpen?: boolean
}

/**
 * Collects every route that has a tag and is added to the scope after this call. Pages and files have no tag, so the
 * description leaves them out. Fastify checks requests with the same schemas.
 */
export async function describeRoutes(
  scope: FastifyInstance,
  schemas: Record<string, Schema>,
  { title, version, description, url, tags, security, isOpen = false }: Description,
): Promise<void> {
  for (const [name, schema] of Object.entries(schemas)) scope.addSchema({ $id: name, ...schema })
  await scope.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description },
      servers: [{ url }],
      tags: tags.map(name => ({ name })),
      components: { securitySchemes: security },
      security: [Object.fromEntries(Object.keys(security).map(name => [name, []])), ...(isOpen ? [{}] : [])],
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: schema && { ...schema, body: toAnyOf(schema.body) }, url }),
    refResolver: { buildLocalReference: json => String(json.$id) },
  })
}

/**
 * Replaces `if`, `then` and `else` with a list of the forms that a body may have. These keywords tell the validation
 * which form the caller has used. A reader of the description does not need these keywords.
 */
function toAnyOf(body: unknown): unknown {
  const { if: condition, then, else: otherwise, ...others } = (body ?? {}) as Schema
  return condition ? { anyOf: [then, otherwise], ...others } : body
}
