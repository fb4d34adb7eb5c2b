// The JSON Schemas of the application API's answers, as far as the pages depend on them.
//
// A field is required only if a page cannot work without it. For all other fields, application.ts replaces a value that
// is missing or has the wrong type with an empty value. So one faulty record does not hide the other records of a list.
import type { JSONSchema } from 'json-schema-to-ts'

/** An id that fits into an address. */
const id = { type: 'string', pattern: '^[\\w-]{1,100}$' } as const

/** GET and PUT of one application. */
export const applicationSchema = {
  type: 'object',
  required: ['@id'],
  properties: { '@id': id, data: {}, metadata: {}, inLinks: {}, client: {} },
} as const satisfies JSONSchema

/** Lists of applications and of links to groups. */
export const collectionSchema = {
  type: 'object',
  required: ['ItemList'],
  properties: { ItemList: { type: 'array' } },
} as const satisfies JSONSchema

/** POST of an application. Only this answer contains the client secret. */
export const createdApplicationSchema = {
  type: 'object',
  required: ['@id', 'client'],
  properties: {
    '@id': id,
    client: {
      type: 'object',
      required: ['clientId', 'clientSecrets'],
      properties: {
        clientId: { type: 'string', minLength: 1 },
        clientSecrets: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
      },
    },
    tokens: {},
  },
} as const satisfies JSONSchema

export const newSecretSchema = {
  type: 'object',
  required: ['clientSecret'],
  properties: { clientSecret: { type: 'string' } },
} as const satisfies JSONSchema

/** No field is required, because without a usable id the form says that the group could not be created. */
export const createdGroupSchema = { type: 'object', properties: { '@id': {} } } as const satisfies JSONSchema

/** The query of the list page. */
export const listQuerySchema = {
  type: 'object',
  properties: { q: { type: 'string' }, page: { type: 'string' }, sort: { type: 'string' } },
} as const satisfies JSONSchema

// Yours: the data models that the request envelope names (rule create-envelope).
export const applicationEnvelope = {
  context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
  type: 'App',
}
export const groupEnvelope = { context: 'https://standards.oftrust.net/v2/Context/Identity/Group/', type: 'Group' }
