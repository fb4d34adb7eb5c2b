// What requests and answers of the API look like, by name, as JSON schemas. They describe; they do not check.
import { listOf, object, only, ref, type Schema, text } from '../http/describe.ts'
import { contexts } from './contexts.ts'

const uuid = { type: 'string', format: 'uuid' }
const time = { type: 'string', format: 'date-time', description: 'RFC 3339, with +00:00.' }
const webUrl = { type: 'string', maxLength: 2048, description: 'http or https, or empty.', examples: [''] }
const scopes = { type: 'string', maxLength: 2000, examples: [''] }
const uriList = {
  type: 'string',
  minLength: 1,
  description:
    'A comma-separated list. Each is absolute, without fragment, and https, or http on a loopback address; at most 2,048 characters.',
  examples: ['http://localhost:3000/exchangeToken'],
}
const typeOfApp = { type: 'string', examples: ['App'] }
const secret = { type: 'string', minLength: 43, maxLength: 43, description: 'Told here, and never again.' }

function collectionOf(item: Schema): Schema {
  return object({ '@context': only(contexts.collection), '@type': only('collection'), ItemList: listOf(item) })
}

function envelopeOf(context: string, type: Schema, data?: Schema): Schema {
  const model = { type: 'string', format: 'uri', description: 'The data model of the body.', examples: [context] }
  return object({ context: model, type, ...(data && { data }) })
}

const app = {
  '@context': text,
  '@type': only('App'),
  '@id': text,
  data: object({ name: text, description: text, privacyPolicyUrl: text, webPageUrl: text, iconUrl: text }),
  metadata: ref('Metadata'),
  inLinks: { ...listOf(ref('Link')), description: 'The group that the application belongs to.' },
  outLinks: listOf(ref('Link')),
}

const client = {
  clientId: { ...text, description: 'The same as the id of the application.' },
  scopes: text,
  redirectUris: { ...text, description: 'A comma-separated list.' },
  defaultScopes: text,
  defaultRedirectUri: text,
}

const redirectUri = {
  type: 'string',
  maxLength: 2048,
  description: 'One of redirectUris; else the first of them.',
  examples: uriList.examples,
}

const changedApp = {
  name: { type: 'string', minLength: 1, maxLength: 200, examples: ['Weather'] },
  description: { type: 'string', maxLength: 2000, examples: ['Shows the weather.'] },
  webPageUrl: webUrl,
  iconUrl: webUrl,
  privacyPolicyUrl: webUrl,
  redirectUris: uriList,
  defaultRedirectUri: redirectUri,
  scopes,
  defaultScopes: scopes,
}
const newApp = {
  groupId: { type: 'string', minLength: 1, maxLength: 200, description: 'A group that the caller is a member of.' },
  ...changedApp,
}
const keptWhenLeftOut = Object.keys(changedApp).filter(name => !['name', 'redirectUris'].includes(name))

const link = {
  '@context': text,
  '@type': text,
  '@id': uuid,
  from: text,
  to: text,
  data: object({}),
  metadata: ref('Metadata'),
}

export const schemas: Record<string, Schema> = {
  Metadata: object({ createdAt: time, createdBy: uuid, updatedAt: time, updatedBy: uuid }),
  Link: object({ ...link, '@type': only('DeveloperOf') }),
  MemberLink: object({
    ...link,
    '@type': only('MemberOf'),
    data: object({
      name: { ...text, description: 'Of the group.' },
      status: { ...only('maker', 'member', 'invited'), description: 'maker: the group is of the user’s own making.' },
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
    token: { ...text, description: 'A JWT; access_token is the same.' },
    access_token: text,
    expires_in: { type: 'integer', description: 'Seconds.' },
    token_type: only('Bearer'),
  }),
  CreatedApp: object({ ...app, client: ref('NewClient'), tokens: listOf(ref('AppAccessToken')) }),
  ClientSecret: object({ clientSecret: secret }),

  NewApp: object(newApp, { optional: ['defaultRedirectUri'] }),
  NewAppEnvelope: envelopeOf(contexts.App, typeOfApp, ref('NewApp')),
  ChangedApp: object(changedApp, { optional: keptWhenLeftOut }),
  ChangedAppEnvelope: envelopeOf(contexts.App, typeOfApp, ref('ChangedApp')),

  Group: object({
    '@context': text,
    '@type': only('Group'),
    '@id': uuid,
    data: object({ name: text }),
    metadata: ref('Metadata'),
  }),
  NewGroupEnvelope: envelopeOf(
    contexts.Group,
    only('Group'),
    object({ name: { type: 'string', minLength: 1, maxLength: 200, examples: ['Developers'] } }),
  ),
  NewMemberEnvelope: envelopeOf(contexts.MemberOf, only('MemberOf')),

  Error: object({ error: object({ status: { type: 'integer' }, message: text }) }),
  FieldErrors: object({
    error: object({
      status: { type: 'integer' },
      message: {
        type: 'object',
        additionalProperties: listOf(text),
        description: 'What is wrong, by field, every bad field at once.',
      },
    }),
  }),
}
