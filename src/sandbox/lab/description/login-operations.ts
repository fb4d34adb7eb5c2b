// Descriptions of the calls that show what happened.
import { answer, parameters } from '../../http/describe.ts'
import { queryOf } from '../check-request.ts'
import { clientId, id, refuse } from './refusals.ts'

const happened = { tags: ['What happened'] }

export const listLogins = {
  ...happened,
  operationId: 'listLogins',
  summary: 'List logins, the newest hundred',
  querystring: queryOf({
    ...clientId,
    state: { type: 'string', description: 'The one that was begun with this state.' },
    after: {
      type: 'string',
      pattern: '^\\d{0,15}$',
      title: `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
      description: 'With steps since this `cursor` alone.',
    },
    wait: {
      type: 'string',
      pattern: '^(0*([12]?\\d|30))?$',
      title: 'a whole number from 0 to 30',
      description: 'Seconds to wait where there is nothing yet.',
    },
  }),
  response: { 200: answer('The newest first.', 'LoginList'), ...refuse() },
}

export const showLogin = {
  ...happened,
  operationId: 'showLogin',
  summary: 'Show what happened in one login, why something was refused, and what was noticed about the client',
  params: parameters(id),
  querystring: queryOf(),
  response: { 200: answer('The login with its steps.', 'Login'), ...refuse(404) },
}

export const listMail = {
  ...happened,
  operationId: 'listMail',
  summary: 'List the messages that the portal would have sent, the newest hundred',
  querystring: queryOf({ to: { type: 'string', description: 'To this e-mail address alone.' } }),
  response: { 200: answer('The newest first.', 'MailList'), ...refuse() },
}

export const showHar = {
  ...happened,
  operationId: 'showHar',
  summary: 'Show one login as HAR 1.2',
  params: parameters(id),
  querystring: queryOf(),
  response: { 200: answer('The login.', 'Har'), ...refuse(404) },
}

export const streamEvents = {
  ...happened,
  operationId: 'streamEvents',
  summary: 'Stream each step as it comes in',
  querystring: queryOf(clientId),
  response: {
    200: {
      description:
        'Events named `step`, each with `{"login": LoginSummary, "step": Step}` as data, and its number as id.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...refuse(),
  },
}
