// The schemas of the API's requests and answers. Fastify checks requests with these schemas, and the OpenAPI and RAML
// descriptions are made from them.
import { changedApplication, clientFields, descriptiveFields, newApplication } from '../applications/fields.ts'
import { longestGroupName } from '../groups/limits.ts'
import { listOf, object, only, ref, type Schema, text } from '../http/describe.ts'
import { contexts } from '../values/contexts.ts'

const uuid = { type: 'string', format: 'uuid' }
const time = { type: 'string', format: 'date-time', description: 'RFC 3339, with +00:00.' }
const secret = { type: 'string', minLength: 43, maxLength: 43, description: 'Shown here, and never again.' }

function collectionOf(item: Schema): Schema {
  return object({ '@context': only(contexts.collection), '@type': only('collection'), ItemList: listOf(item) })
}

/** The schemas of the two fields with which a request body names its data model. */
function namesOf(type: keyof typeof contexts): Schema {
  const context = {
    type: 'string',
    format: 'uri',
    description: 'The data model of the body.',
    examples: [contexts[type]],
  }
  return { context, type: only(type) }
}

/** The fields of a new group. */
export const newGroup = {
  type: 'object',
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: longestGroupName,
      description: 'The name of the group: one line of text, and not only white space.',
      examples: ['Developers'],
    },
  },
} as const

const textsOf = (properties: object) => Object.fromEntries(Object.keys(properties).map(name => [name, text]))

const app = {
  '@context': text,
  '@type': only('App'),
  '@id': text,
  data: object(textsOf(descriptiveFields)),
  metadata: ref('Metadata'),
  inLinks: { ...listOf(ref('Link')), description: 'The group that the application belongs to.' },
  outLinks: listOf(ref('Link')),
}

const client = {
  clientId: { ...text, description: 'The same as the id of the application.' },
  ...textsOf(clientFields),
  redirectUris: { ...text, description: 'A comma-separated list.' },
}

const link = {
  '@context': text,
  '@type': text,
  '@id': uuid,
  from: text,
  to: text,
  data: object({}),
  metadata: ref('Metadata'),
}

export const apiSchemas: Record<string, Schema> = {
  Metadata: object({ createdAt: time, createdBy: uuid, updatedAt: time, updatedBy: uuid }),
  Link: object({ ...link, '@type': only('DeveloperOf') }),
  MemberLink: object({
    ...link,
    '@type': only('MemberOf'),
    data: object({
      name: { ...text, description: 'The name of the group.' },
      status: { ...only('maker', 'member', 'invited'), description: 'maker: the user created the group.' },
    }),
  }),
  LinkCollection: collectionOf(ref('MemberLink')),

  App: object(app),
  AppCollection: collectionOf(ref('App')),
  Client: object(client),
  AppWithClient: object({ ...app, client: ref('Client') }),
  NewClient: object({ ...client, clientSecrets: { ...listOf(secret), minItems: 1, maxItems: 1 } }),
  AppAccessToken: object({
    id: uuid,
    token: { ...text, description: 'A JWT. The field access_token has the same value.' },
    access_token: text,
    expires_in: { type: 'integer', description: 'Seconds.' },
    token_type: only('Bearer'),
  }),
  CreatedApp: object({ ...app, client: ref('NewClient'), tokens: listOf(ref('AppAccessToken')) }),
  ClientSecret: object({ clientSecret: secret }),

  NewApp: newApplication,
  NewAppEnvelope: object({ ...namesOf('App'), data: ref('NewApp') }),
  ChangedApp: changedApplication,
  ChangedAppEnvelope: object({ ...namesOf('App'), data: ref('ChangedApp') }),

  Group: object({
    '@context': text,
    '@type': only('Group'),
    '@id': uuid,
    data: object({ name: text }),
    metadata: ref('Metadata'),
  }),
  NewGroup: object({ ...namesOf('Group'), ...newGroup.properties }),
  NewGroupEnvelope: object({ ...namesOf('Group'), data: newGroup }),
  NewMemberEnvelope: object({ ...namesOf('MemberOf'), data: { type: 'object' } }, { optional: ['data'] }),

  Error: object({ error: object({ status: { type: 'integer' }, message: text }) }),
  FieldErrors: object({
    error: object({
      status: { type: 'integer' },
      message: {
        type: 'object',
        additionalProperties: listOf(text),
        description: 'An object that lists the problems of each wrong field under the name of the field.',
      },
    }),
  }),
}
