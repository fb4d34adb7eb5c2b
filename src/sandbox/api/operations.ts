// Describes all operations of the API: parameters, bodies and every answer. The description of the API is made from
// these objects.
import { exampleFields } from '../applications/fields.ts'
import { limits } from '../groups/limits.ts'
import { answer, inEnvelopeOrNot, parameters, ref } from '../http/describe.ts'
import { contexts } from '../values/contexts.ts'

const appId = { app_id: { type: 'string', description: 'Id of the application.' } }
const userId = { user_id: { type: 'string', description: 'Id of the user.' } }
const groupId = { group_id: { type: 'string', description: 'Id of the group.' } }

const refusals = {
  400: answer('The body is not JSON, or the token was sent twice.', 'Error'),
  401: {
    ...answer('The access token is missing, malformed, expired, revoked or from another portal.', 'Error'),
    headers: { 'WWW-Authenticate': { type: 'string', description: 'Bearer (RFC 6750).' } },
  },
  403: answer('The caller does not have the right to do this.', 'Error'),
  404: answer('No record has this ID, or the caller does not have the right to see it.', 'Error'),
  409: answer(
    'The user is already a member, is already invited, or is the last member of a group that has applications.',
    'Error',
  ),
  412: answer(
    'If-Match does not name the stored version, because the application was changed in the meantime.',
    'Error',
  ),
  413: answer('The body is larger than 64 KiB.', 'Error'),
  415: answer('The body is not application/json.', 'Error'),
  422: answer('Fields are missing or not valid.', 'FieldErrors'),
  500: answer('The server failed, but it may have carried out the call.', 'Error'),
  503: {
    ...answer('The database does not answer. Retry-After says how many seconds to wait.', 'Error'),
    headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } },
  },
}

/** Describes an answer that contains one application in its body, and the application's ETag in a header. */
const withTag = (description: string, schema: string, headers: object = {}) => ({
  ...answer(description, schema),
  headers: {
    ETag: {
      type: 'string',
      description: 'The value for If-Match (RFC 9110 8.8.3). Every change of the application changes this value.',
    },
    ...headers,
  },
})

const ifMatch = {
  'If-Match': {
    type: 'string',
    description:
      'The ETag of the version that the caller has read, a list of ETags, or * for any version (RFC 9110 13.1.1). If two ' +
      'calls send the same ETag, one succeeds and the other gets a 412 answer. Without this header, the later call overwrites the earlier one.',
  },
}

const envelope = (data: object) => ({ context: contexts.App, type: 'App', data })

export const listApplicationsCall = {
  operationId: 'listApplications',
  summary: 'List your applications',
  description:
    'Returns the applications of all your groups. If you send an application’s own access token, the list contains only that application.',
  tags: ['Applications'],
  response: { 200: answer('All of your applications, oldest first.', 'AppCollection'), ...refusalAnswers() },
}

export const createApplicationCall = {
  operationId: 'createApplication',
  summary: 'Create an application with its OAuth client',
  description:
    'Send the whole envelope, as in the example, or only its data object. Only the answer to this call contains the secret and the tokens. ' +
    `A group has at most ${limits.applicationsInGroup} applications. The fields of all applications in a group together take up at most ${limits.bytesInGroup / 1024} KiB as JSON.`,
  tags: ['Applications'],
  body: {
    ...inEnvelopeOrNot('NewAppEnvelope', 'NewApp'),
    // Readers can send this example after they have filled in the id of their own group.
    examples: [envelope({ groupId: '$GROUP_ID', ...exampleFields })],
  },
  response: {
    201: withTag('The application, its client with the secret, and two access tokens.', 'CreatedApp'),
    ...refusalAnswers(403, 404, 413, 415, 422),
  },
}

export const getApplicationCall = {
  operationId: 'getApplication',
  summary: 'Get one application',
  description: 'An application’s own access token can read only that application.',
  tags: ['Applications'],
  params: parameters(appId),
  response: {
    200: withTag('The application and its client, without secrets.', 'AppWithClient', {
      'Client-Secrets-Created': {
        type: 'string',
        description: 'The times at which the valid client secrets were created, newest first, separated by commas.',
      },
    }),
    ...refusalAnswers(403, 404),
  },
}

export const updateApplicationCall = {
  operationId: 'updateApplication',
  summary: 'Change an application',
  description:
    'Send the whole envelope, as in the example, or only its data object. A field that is left out keeps its value. If you leave ' +
    'out defaultRedirectUri, and the stored default is not in the new list, the first address of the new list becomes the default. ' +
    'The application stays in its group, and the limits of the group apply.',
  tags: ['Applications'],
  params: parameters(appId),
  headers: parameters(ifMatch),
  body: { ...inEnvelopeOrNot('ChangedAppEnvelope', 'ChangedApp'), examples: [envelope(exampleFields)] },
  response: {
    200: answer('The application and its client, without secrets.', 'AppWithClient'),
    ...refusalAnswers(403, 404, 412, 413, 415, 422),
  },
}

export const removeApplicationCall = {
  operationId: 'removeApplication',
  summary: 'Remove an application',
  description:
    'The secrets, codes, refresh tokens and access tokens of the application stop working at once. You cannot undo this.',
  tags: ['Applications'],
  params: parameters(appId),
  headers: parameters(ifMatch),
  response: {
    204: { type: 'null', description: 'The application has been removed.' },
    ...refusalAnswers(403, 404, 412),
  },
}

export const refreshSecretCall = {
  operationId: 'refreshSecret',
  summary: 'Create a new client secret',
  description: 'The two latest secrets are valid. A third secret replaces the oldest.',
  tags: ['Applications'],
  params: parameters(appId),
  response: { 201: answer('The new secret.', 'ClientSecret'), ...refusalAnswers(403, 404) },
}

export const createGroupCall = {
  operationId: 'createGroup',
  summary: 'Create a group',
  description: `You become a member. A user can be in at most ${limits.groupsOfUser} groups.`,
  tags: ['Groups'],
  body: inEnvelopeOrNot('NewGroupEnvelope', 'NewGroup'),
  response: { 201: answer('The group.', 'Group'), ...refusalAnswers(403, 413, 415, 422) },
}

export const linkUserCall = {
  operationId: 'linkUser',
  summary: 'Invite a user to a group, or accept an invitation',
  description:
    'A member of the group sends this call to invite another user. The invited user sends the same call to accept the invitation. An invitation does not give ' +
    `any rights, and does not show any data about the invited user. A group has at most ${limits.openInvitations} open invitations. This call accepts only tokens from ` +
    'the portal’s own page.',
  tags: ['Groups'],
  params: parameters({ ...userId, ...groupId }),
  body: ref('NewMemberEnvelope'),
  response: {
    201: answer('The link from the user to the group, with its status.', 'MemberLink'),
    ...refusalAnswers(403, 404, 409, 413, 415, 422),
  },
}

export const unlinkUserCall = {
  operationId: 'unlinkUser',
  summary: 'Leave a group, remove a member, or cancel or decline an invitation',
  description:
    'Members can leave. The creator of the group can remove members. Members can cancel an invitation, and the invited user can ' +
    'decline it. The last member cannot leave a group that has applications. When the last member leaves a group ' +
    'without applications, the group is deleted. This call accepts only tokens from the portal’s own page.',
  tags: ['Groups'],
  params: parameters({ ...userId, ...groupId }),
  response: { 204: { type: 'null', description: 'The link has been removed.' }, ...refusalAnswers(403, 404, 409) },
}

export const listMembershipsCall = {
  operationId: 'listMemberships',
  summary: 'List your groups',
  description:
    'The groups that the caller created come first, so that a form can offer the first group as its default. The list does not contain open invitations.',
  tags: ['Groups'],
  params: parameters(userId),
  querystring: {
    ...parameters({ type: { type: 'string', enum: ['MemberOf'], description: 'Returns only links of this type.' } }),
    required: ['type'],
  },
  response: {
    200: answer(
      'The links between the user and their groups. Groups that the user created come before all other groups. In both parts of the list, the oldest link comes first.',
      'LinkCollection',
    ),
    ...refusalAnswers(403, 404, 422),
  },
}

/**
 * Returns the error answers of a call: the answers that every call can give, and the answers with the given statuses.
 */
function refusalAnswers(...statuses: (keyof typeof refusals)[]) {
  return Object.fromEntries([400, 401, ...statuses, 500, 503].map(status => [status, refusals[status as 400]]))
}
