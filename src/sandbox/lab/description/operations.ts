// What the laboratory can be asked, in the words of its description.
import { answer, parameters } from '../../describe.ts'
import { applicationBody } from '../set-up/applications.ts'
import { expireBody } from '../set-up/expire.ts'
import { groupBody } from '../set-up/groups.ts'
import { lifetimesBody } from '../set-up/lifetimes.ts'
import { personBody } from '../set-up/people.ts'
import { resetBody } from '../set-up/reset.ts'
import { signInBody } from '../set-up/sign-in.ts'

const refusals = {
  400: answer('The request cannot be read.', 'Error'),
  401: answer('LAB_TOKEN is set, and was not sent.', 'Error'),
  403: answer('Asked under another name, by a page of another site, or for somebody who may not.', 'Error'),
  404: answer('There is no such thing, or the laboratory leaves it alone.', 'Error'),
  413: answer('The body is larger than 32 KiB.', 'Error'),
  415: answer('Not application/json.', 'Error'),
  422: answer('What is wrong with which field, and what is allowed.', 'Error'),
  429: answer('Too many faults wait already.', 'Error'),
  500: answer('A fault of the sandbox.', 'Error'),
  503: answer('Too much to do, or no database just now. See Retry-After.', 'Error'),
}

/** Those that any call can get, and those given. */
function refuse(...statuses: (keyof typeof refusals)[]) {
  return Object.fromEntries([400, 401, 403, ...statuses, 500, 503].map(status => [status, refusals[status as 400]]))
}

const id = { id: { type: 'string', maxLength: 100 } }
const clientId = { clientId: { type: 'string', description: 'Of this client alone.' } }
const happened = { tags: ['What happened'] }
const faults = { tags: ['Faults'] }
const setUp = { tags: ['Set-up'] }

export const listLogins = {
  ...happened,
  operationId: 'listLogins',
  summary: 'List logins, the newest hundred',
  querystring: parameters({
    ...clientId,
    state: { type: 'string', description: 'The one that was begun with this state.' },
    after: { type: 'integer', minimum: 0, description: 'With steps since this `cursor` alone.' },
    wait: { type: 'integer', minimum: 0, maximum: 30, description: 'Seconds to wait where there is nothing yet.' },
  }),
  response: { 200: answer('The newest first.', 'LoginList'), ...refuse(422) },
}

export const showLogin = {
  ...happened,
  operationId: 'showLogin',
  summary: 'Show what happened in one login, why something was refused, and what was noticed about the client',
  params: parameters(id),
  response: { 200: answer('The login with its steps.', 'Login'), ...refuse(404) },
}

export const listMail = {
  ...happened,
  operationId: 'listMail',
  summary: 'List the messages that the portal would have sent, the newest hundred',
  querystring: parameters({ to: { type: 'string', description: 'To this e-mail address alone.' } }),
  response: { 200: answer('The newest first.', 'MailList'), ...refuse(422) },
}

export const showHar = {
  ...happened,
  operationId: 'showHar',
  summary: 'Show one login as HAR 1.2',
  params: parameters(id),
  response: { 200: answer('The login.', 'Har'), ...refuse(404) },
}

export const streamEvents = {
  ...happened,
  operationId: 'streamEvents',
  summary: 'Stream each step as it comes in',
  querystring: parameters(clientId),
  response: {
    200: {
      description:
        'Events named `step`, each with `{"login": LoginSummary, "step": Step}` as data, and its number as id.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...refuse(422),
  },
}

export const orderFault = {
  ...faults,
  operationId: 'orderFault',
  summary: 'Order what is to go wrong',
  description:
    'It happens to whoever comes to its place, of this client or this login where one is named, after `skip` others and ' +
    'exactly `times` times. Nobody having come for ten minutes, it is dropped.',
  body: {
    type: 'object',
    required: ['fault'],
    additionalProperties: false,
    properties: {
      fault: { type: 'string', description: 'Its name in the catalogue.', examples: ['exchange-503'] },
      clientId: { type: 'string', minLength: 1, maxLength: 200 },
      state: { type: 'string', minLength: 1, maxLength: 200, description: 'The state that the login was begun with.' },
      skip: { type: 'integer', minimum: 0, maximum: 1000, default: 0 },
      times: { anyOf: [{ type: 'integer', minimum: 1, maximum: 1000 }, { enum: ['always'] }], default: 1 },
      options: { type: 'object', description: 'As the catalogue says.', additionalProperties: true },
    },
  },
  response: { 201: answer('It waits.', 'OrderedFault'), ...refuse(413, 415, 422, 429) },
}

export const listFaults = {
  ...faults,
  operationId: 'listFaults',
  summary: 'List the faults that were ordered',
  querystring: parameters(clientId),
  response: {
    200: answer('Those that wait, and those that are over for less than ten minutes.', 'OrderedFaults'),
    ...refuse(),
  },
}

export const showFault = {
  ...faults,
  operationId: 'showFault',
  summary: 'Show a fault that was ordered',
  params: parameters(id),
  response: { 200: answer('It, and what became of it.', 'OrderedFault'), ...refuse(404) },
}

export const removeFault = {
  ...faults,
  operationId: 'removeFault',
  summary: 'Take a fault back',
  description: 'Like every call that changes something, it carries Content-Type: application/json.',
  params: parameters(id),
  response: { 204: { type: 'null', description: 'It is gone.' }, ...refuse(404, 415) },
}

export const removeFaults = {
  ...faults,
  operationId: 'removeFaults',
  summary: 'Take all faults back',
  querystring: parameters(clientId),
  response: { 200: answer('How many.', 'RemovedFaults'), ...refuse(415) },
}

export const showCatalogue = {
  ...faults,
  operationId: 'showCatalogue',
  summary: 'List the faults that can be ordered',
  querystring: parameters({ place: { type: 'string', description: 'Of this place alone.', examples: ['exchange'] } }),
  response: { 200: answer('By name.', 'FaultCatalogue'), ...refuse(422) },
}

export const makePerson = {
  ...setUp,
  operationId: 'makePerson',
  summary: 'Make somebody who can sign in',
  description: 'What is left out is made up.',
  body: personBody,
  response: { 201: answer('The person, with the password.', 'Person'), ...refuse(413, 415, 422) },
}

export const makeGroup = {
  ...setUp,
  operationId: 'makeGroup',
  summary: 'Make a group with its members',
  body: groupBody,
  response: { 201: answer('The group.', 'Group'), ...refuse(404, 413, 415, 422) },
}

export const makeClient = {
  ...setUp,
  operationId: 'makeClient',
  summary: 'Make an application with its client',
  description: 'Without a person, one is made to whom it belongs.',
  body: applicationBody,
  response: { 201: answer('All that the client needs.', 'NewClient'), ...refuse(404, 413, 415, 422) },
}

export const setLifetimes = {
  ...setUp,
  operationId: 'setLifetimes',
  summary: 'Say how long what a client is given lives from now on',
  description: 'Until the sandbox stops.',
  params: parameters(id),
  body: lifetimesBody,
  response: { 200: answer('What counts now.', 'Lifetimes'), ...refuse(404, 413, 415, 422) },
}

export const signIn = {
  ...setUp,
  operationId: 'signIn',
  summary: 'Get the tokens of a person, or bring a login to its end',
  body: signInBody,
  response: { 200: answer('Tokens, or where the portal leads to.', 'SignedIn'), ...refuse(404, 413, 415, 422) },
}

export const expire = {
  ...setUp,
  operationId: 'expire',
  summary: 'Let tokens, codes and portal sessions expire now',
  description:
    'One by its value, or all that a person has. When it comes it is answered as any expired one. An access token takes ' +
    'those with it that were given before it in the same login; refresh tokens go on working.',
  body: expireBody,
  response: { 200: answer('How many have expired.', 'Expired'), ...refuse(404, 413, 415, 422) },
}

export const reset = {
  ...setUp,
  operationId: 'reset',
  summary: 'Remove what was made for a suite of tests',
  description:
    'People, groups and applications, and what those people have made and given. Other suites, and what people made ' +
    'themselves, stay.',
  body: resetBody,
  response: { 200: answer('How many were removed.', 'Reset'), ...refuse(413, 415, 422) },
}
