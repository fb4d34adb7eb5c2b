// The JSON Schemas of the application API's answers. The schemas contain only the fields that the pages need.
//
// A field is required only if a page cannot work without it. For all other fields, if a value is missing or has the
// wrong type, application.ts uses an empty value instead. So a faulty record in a list does not hide the other records.
import type { JSONSchema } from 'json-schema-to-ts'
import { applicationId } from './application.ts'

const id = { type: 'string', pattern: applicationId.source } as const

/** The answer to a GET or a PUT of one application. */
export const applicationSchema = {
  type: 'object',
  required: ['@id'],
  properties: { '@id': id, data: {}, metadata: {}, inLinks: {}, client: {} },
} as const satisfies JSONSchema

/** The answer to a GET of a list. The list contains applications, or links to groups. */
export const collectionSchema = {
  type: 'object',
  required: ['ItemList'],
  properties: { ItemList: { type: 'array' } },
} as const satisfies JSONSchema

/** The answer to the POST that creates an application. Only this answer contains the first client secret. */
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

/** No field is required. If the answer has no usable id, the form says that the group could not be created. */
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
