// The parts of an OpenAPI document that the sandbox reads: for the page that describes the calls, and for RAML.

export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  type?: string
  format?: string
  description?: string
  enum?: string[]
  examples?: unknown[]
  minLength?: number
  maxLength?: number
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema
  items?: Schema
  anyOf?: Schema[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

export interface Answer {
  description: string
  headers?: Record<string, { description?: string; schema: Schema }>
  content?: Record<string, { schema: Schema }>
}

export interface Operation {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> }
  responses: Record<string, Answer>
}

export interface OpenApi {
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string }[]
  components: { schemas: Record<string, Schema> }
  /** The operations of each path, keyed by the method in lower case. */
  paths: Record<string, Record<string, Operation>>
}
