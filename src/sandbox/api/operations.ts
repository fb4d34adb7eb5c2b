// What the API can be asked to do, in the words of its description: parameters, bodies and every answer.

import { answer, inEnvelopeOrNot, parameters, ref } from '../http/describe.ts'
import { contexts } from './schemas.ts'

const appId = { app_id: { type: 'string', description: 'Id of the application.' } }
const userId = { user_id: { type: 'string', description: 'Id of the user.' } }
const groupId = { group_id: { type: 'string', description: 'Id of the group.' } }

const refusals = {
  400: answer('The body is not JSON, or the token was sent twice.', 'Error'),
  401: {
    ...answer('No access token, or one that is malformed, expired, revoked or foreign.', 'Error'),
    headers: { 'WWW-Authenticate': { type: 'string', description: 'Bearer (RFC 6750).' } },
  },
  403: answer('The caller may not do this.', 'Error'),
  404: answer('There is no such thing, or none that the caller may see.', 'Error'),
  409: answer('It is there already, or somebody is needed there.', 'Error'),
  412: answer('If-Match does not name the version that is stored: App was changed in the meantime.', 'Error'),
  413: answer('The body is larger than 64 KiB.', 'Error'),
  415: answer('The body is not application/json.', 'Error'),
  422: answer('Fields are missing or not valid.', 'FieldErrors'),
  500: answer('A fault of the server.', 'Error'),
  503: {
    ...answer('The database does not answer just now.', 'Error'),
    headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } },
  },
}

/** Of an answer that shows one application. */
const withTag = (description: string, schema: string) => ({
  ...answer(description, schema),
  headers: {
    ETag: { type: 'string', description: 'For If-Match (RFC 9110 8.8.3). Every write of the application changes it.' },
  },
})

const ifMatch = {
  'If-Match': {
    type: 'string',
    description:
      'The ETag of the version that the caller has read, a list of several, or * for any (RFC 9110 13.1.1). Of two ' +
      'calls with the same tag one succeeds and the other gets 412. Without it the later call wins.',
  },
}

/** Sent as it is, it is taken; of a new one the group is somebody's own. */
const exampleApp = {
  name: 'Weather',
  description: 'Shows the weather.',
  webPageUrl: '',
  iconUrl: '',
  privacyPolicyUrl: '',
  redirectUris: 'http://localhost:3000/exchangeToken',
  defaultRedirectUri: 'http://localhost:3000/exchangeToken',
  scopes: '',
  defaultScopes: '',
}

const envelope = (data: object) => ({ context: contexts.App, type: 'App', data })

export const listApplicationsCall = {
  operationId: 'listApplications',
  summary: 'List the applications whose developer the caller is',
  description: 'An app access token gets its own application alone.',
  tags: ['Applications'],
  response: { 200: answer('All of them, the oldest first.', 'AppCollection'), ...refuse() },
}

export const createApplicationCall = {
  operationId: 'createApplication',
  summary: 'Create an application with its OAuth client',
  description:
    'The body is the envelope, or its data alone. Secret and tokens are in this answer only. A group has at most 100 ' +
    'applications, and 256 KiB of their fields as JSON.',
  tags: ['Applications'],
  body: {
    ...inEnvelopeOrNot('NewAppEnvelope', 'NewApp'),
    examples: [envelope({ groupId: 'the id of one of your groups', ...exampleApp })],
  },
  response: {
    201: withTag('The application, its client with the secret, and two access tokens.', 'CreatedApp'),
    ...refuse(403, 404, 413, 415, 422),
  },
}

export const getApplicationCall = {
  operationId: 'getApplication',
  summary: 'Get one application',
  description: 'An app access token gets its own, and no other.',
  tags: ['Applications'],
  params: parameters(appId),
  response: { 200: withTag('The application and its client, without secrets.', 'AppWithClient'), ...refuse(403, 404) },
}

export const updateApplicationCall = {
  operationId: 'updateApplication',
  summary: 'Update an application and its client',
  description:
    'The body is the envelope, or its data alone. A field that is left out keeps its value; a defaultRedirectUri that ' +
    'is left out and no longer in the list becomes the first of it. The group cannot be changed, and its bounds hold.',
  tags: ['Applications'],
  params: parameters(appId),
  headers: parameters(ifMatch),
  body: { ...inEnvelopeOrNot('ChangedAppEnvelope', 'ChangedApp'), examples: [envelope(exampleApp)] },
  response: {
    200: answer('The application and its client, without secrets.', 'AppWithClient'),
    ...refuse(403, 404, 412, 413, 415, 422),
  },
}

export const removeApplicationCall = {
  operationId: 'removeApplication',
  summary: 'Remove an application',
  description: 'Ends its client at once: secrets, codes, refresh tokens and access tokens stop working.',
  tags: ['Applications'],
  params: parameters(appId),
  headers: parameters(ifMatch),
  response: { 204: { type: 'null', description: 'It is gone.' }, ...refuse(403, 404, 412) },
}

export const refreshSecretCall = {
  operationId: 'refreshSecret',
  summary: 'Create a new client secret',
  description: 'The two latest secrets are valid; a third drops the oldest.',
  tags: ['Applications'],
  params: parameters(appId),
  response: { 201: answer('The new secret.', 'ClientSecret'), ...refuse(403, 404) },
}

export const createGroupCall = {
  operationId: 'createGroup',
  summary: 'Create a group, of which the caller becomes a member',
  description: 'A person is in at most 20 groups.',
  tags: ['Groups'],
  body: inEnvelopeOrNot('NewGroupEnvelope', 'NewGroup'),
  response: { 201: answer('The group.', 'Group'), ...refuse(403, 413, 415, 422) },
}

export const linkUserCall = {
  operationId: 'linkUser',
  summary: 'Invite a user to a group, or accept an invitation',
  description:
    'A member of the group invites somebody else; who was invited sends the same call to accept. An invitation gives no ' +
    'right and shows nothing of the person. At most 20 are open in a group. Takes only a token that the portal’s own ' +
    'page gave.',
  tags: ['Groups'],
  params: parameters({ ...userId, ...groupId }),
  body: ref('NewMemberEnvelope'),
  response: {
    201: answer('The link from the user to the group, with its status.', 'MemberLink'),
    ...refuse(403, 404, 409, 413, 415, 422),
  },
}

export const unlinkUserCall = {
  operationId: 'unlinkUser',
  summary: 'Leave a group, take a member out, or take back or decline an invitation',
  description:
    'A member leaves, the group’s maker takes a member out, either side takes an invitation back. The last member of a ' +
    'group that has applications cannot leave it; without applications the group ends. Takes only a token that the ' +
    'portal’s own page gave.',
  tags: ['Groups'],
  params: parameters({ ...userId, ...groupId }),
  response: { 204: { type: 'null', description: 'It is gone.' }, ...refuse(403, 404, 409) },
}

export const listMembershipsCall = {
  operationId: 'listMemberships',
  summary: 'List the groups that the caller is a member of',
  description:
    'Groups of the caller’s own making come first, and the first of them is the default of a form. Open invitations are ' +
    'left out.',
  tags: ['Groups'],
  params: parameters(userId),
  querystring: { ...parameters({ type: { type: 'string', enum: ['MemberOf'] } }), required: ['type'] },
  response: {
    200: answer(
      'Links from the user to groups: those of their own making, then others, the oldest first.',
      'LinkCollection',
    ),
    ...refuse(403, 404, 422),
  },
}

/** Those that any call can get, and those given. */
function refuse(...statuses: (keyof typeof refusals)[]) {
  return Object.fromEntries([400, 401, ...statuses, 500, 503].map(status => [status, refusals[status as 400]]))
}
