// Descriptions of the calls that order faults.
import { answer, parameters } from '../../http/describe.ts'
import { queryOf } from '../check-request.ts'
import { clientId, id, refuse } from './refusals.ts'

const faults = { tags: ['Faults'] }

export const orderFault = {
  ...faults,
  operationId: 'orderFault',
  summary: 'Order what is to go wrong',
  description:
    'A fault is named by `fault`, or by `place`, `kind` and `when`. It lets `skip` matching requests pass and then happens ' +
    '`times` times. `clientId` and `state` limit it to the requests of one client or of one login. A fault expires after ' +
    'ten minutes without a matching request.',
  querystring: queryOf(),
  body: {
    type: 'object',
    additionalProperties: false,
    properties: {
      fault: { type: 'string', description: 'Its name in the catalogue.', examples: ['exchange-503'] },
      place: { type: 'string', description: 'Without fault: where it happens.', examples: ['exchange'] },
      kind: { type: 'string', description: 'Without fault: what happens there.', examples: ['status'] },
      when: { enum: ['before', 'after'], description: 'Without fault: before or after the platform has acted.' },
      clientId: { type: 'string', minLength: 1, maxLength: 200 },
      state: { type: 'string', minLength: 1, maxLength: 200, description: 'The state that the login was begun with.' },
      skip: { type: 'integer', minimum: 0, maximum: 1000, default: 0 },
      times: { anyOf: [{ type: 'integer', minimum: 1, maximum: 1000 }, { enum: ['always'] }], default: 1 },
      options: { type: 'object', description: 'As the catalogue says.', additionalProperties: true },
    },
  },
  response: { 201: answer('It waits.', 'OrderedFault'), ...refuse(413, 415, 429) },
}

export const listFaults = {
  ...faults,
  operationId: 'listFaults',
  summary: 'List the faults that were ordered',
  querystring: queryOf(clientId),
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
  querystring: queryOf(),
  response: { 200: answer('It, and what became of it.', 'OrderedFault'), ...refuse(404) },
}

export const removeFault = {
  ...faults,
  operationId: 'removeFault',
  summary: 'Take a fault back',
  description: 'Like every call that changes something, it carries Content-Type: application/json.',
  params: parameters(id),
  querystring: queryOf(),
  response: { 204: { type: 'null', description: 'It is gone.' }, ...refuse(404, 415) },
}

export const removeFaults = {
  ...faults,
  operationId: 'removeFaults',
  summary: 'Take all faults back',
  querystring: queryOf(clientId),
  response: { 200: answer('How many.', 'RemovedFaults'), ...refuse(415) },
}

export const showCatalogue = {
  ...faults,
  operationId: 'showCatalogue',
  summary: 'List the faults that can be ordered',
  querystring: queryOf({ place: { type: 'string', description: 'Of this place alone.', examples: ['exchange'] } }),
  response: { 200: answer('By name.', 'FaultCatalogue'), ...refuse() },
}
