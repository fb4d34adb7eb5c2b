// The calls of /lab/v1/faults: they order, list and remove faults, and return the catalogue.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answer, count, listOf, object, only, ref, type Schema, text, time } from '../../http/describe.ts'
import { clientIdInQuery, idInPath, queryOf, refusalAnswers } from '../call-schemas.ts'
import { LabError } from '../lab-error.ts'
import { catalogue, describeFault } from './catalogue.ts'
import { describeOrdered, type OrderedFault, type OrderedFaults, waitMinutes } from './orders.ts'
import { places } from './places.ts'
import { longestOrder, orderBody } from './read-order.ts'

const tags = ['Faults']

export function faultCalls(faults: OrderedFaults) {
  return {
    order: {
      schema: {
        tags,
        operationId: 'orderFault',
        summary: 'Order a fault',
        description:
          'Name the fault with `fault`, or with `place`, `kind` and `when`. `skip` is the number of matching requests that pass before the fault happens, ' +
          'and `times` is the number of matching requests that the fault then affects. `clientId` and `state` limit the fault to the requests of one client or of one login. A fault ' +
          'expires after ten minutes without a matching request.',
        querystring: queryOf(),
        body: orderBody,
        response: {
          201: answer('The fault waits for a matching request.', 'OrderedFault'),
          ...refusalAnswers(413, 415, 429),
        },
      },
      bodyLimit: longestOrder,
      // readOrder checks the body again, because programs also call it without HTTP. It reports the problems of all
      // fields together, including those that only the catalogue can find.
      attachValidation: true,
      async handler(request: FastifyRequest, reply: FastifyReply) {
        if (request.validationError?.validationContext === 'querystring') throw request.validationError
        return reply.code(201).send(describeOrdered(faults.order(request.body)))
      },
    },

    list: {
      schema: {
        tags,
        operationId: 'listFaults',
        summary: 'List the faults that you have ordered',
        description: 'Each fault lists the ids of the steps that it affected.',
        querystring: queryOf(clientIdInQuery),
        response: {
          200: answer('The waiting faults, and the faults that ended in the last ten minutes.', 'OrderedFaults'),
          ...refusalAnswers(),
        },
      },
      async handler(request: FastifyRequest) {
        const { clientId } = request.query as { clientId?: string }
        const found = faults.list().filter(one => clientId === undefined || one.clientId === clientId)
        return { faults: found.map(describeOrdered) }
      },
    },

    show: {
      schema: {
        tags,
        operationId: 'showFault',
        summary: 'Show a fault that you have ordered',
        params: idInPath,
        querystring: queryOf(),
        response: {
          200: answer('The fault, and how many times it has happened.', 'OrderedFault'),
          ...refusalAnswers(404),
        },
      },
      handler: async (request: FastifyRequest) => describeOrdered(requireFault(request)),
    },

    remove: {
      schema: {
        tags,
        operationId: 'removeFault',
        summary: 'Remove a fault that you have ordered',
        params: idInPath,
        querystring: queryOf(),
        response: { 204: { type: 'null', description: 'The fault was removed.' }, ...refusalAnswers(404, 415) },
      },
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const { id } = requireFault(request)
        faults.remove(one => one.id === id)
        return reply.code(204).send()
      },
    },

    removeAll: {
      schema: {
        tags,
        operationId: 'removeFaults',
        summary: 'Remove all faults that you have ordered, or only the faults for one client',
        description:
          'If several test suites share a sandbox, send the id of your client. The call then does not remove the faults of other suites.',
        querystring: queryOf(clientIdInQuery),
        response: { 200: answer('How many faults were removed.', 'RemovedFaults'), ...refusalAnswers(415) },
      },
      async handler(request: FastifyRequest) {
        const { clientId } = request.query as { clientId?: string }
        if (clientId === '')
          throw new LabError(422, {
            clientId: ['Send the id of a client, or leave the parameter out to remove the faults of all clients.'],
          })
        return { removed: faults.remove(one => clientId === undefined || one.clientId === clientId) }
      },
    },

    showCatalogue: {
      schema: {
        tags,
        operationId: 'showCatalogue',
        summary: 'List the faults that you can order',
        querystring: queryOf({
          place: { type: 'string', description: 'Returns only faults at this place.', examples: ['exchange'] },
        }),
        response: {
          200: answer('All faults, or all faults at the given place.', 'FaultCatalogue'),
          ...refusalAnswers(),
        },
      },
      async handler(request: FastifyRequest) {
        const { place } = request.query as { place?: string }
        if (place !== undefined && !Object.hasOwn(places, place))
          throw new LabError(422, {
            place: [`There is no such place. The places are ${Object.keys(places).join(', ')}.`],
          })
        const found = [...catalogue.values()].filter(fault => place === undefined || fault.place === place)
        return { faults: found.map(describeFault) }
      },
    },
  }

  function requireFault(request: FastifyRequest): OrderedFault {
    const one = faults.find((request.params as { id: string }).id)
    if (!one)
      throw new LabError(404, `There is no such fault. Faults that have ended are kept for ${waitMinutes} minutes.`)
    return one
  }
}

const anyFields = { type: 'object', additionalProperties: true }

/** The schemas of the answers above, under their names in the OpenAPI document. */
export const faultSchemas: Record<string, Schema> = {
  Fault: object({
    fault: text,
    place: text,
    kind: text,
    when: {
      ...only('before', 'after'),
      description: 'Whether the fault happens before or after the platform has done what the request asks for.',
    },
    does: text,
    goodClient: { ...text, description: 'What a good client does after the fault.' },
    acted: { ...only('before', 'after'), description: 'The same as `when`.' },
    fixed: { ...anyFields, description: 'The options that the name already sets, such as the status in exchange-503.' },
    options: {
      type: 'object',
      additionalProperties: object({
        about: text,
        allowed: { ...text, description: 'The allowed values, in words that complete the sentence “This must be …”.' },
        schema: { ...anyFields, description: 'The allowed values as JSON Schema.' },
        unit: { type: ['string', 'null'], description: 'The unit of a number.' },
        default: { description: 'The value if the option is left out.' },
      }),
    },
  }),
  FaultCatalogue: object({ faults: listOf(ref('Fault')) }),
  OrderedFault: object(
    {
      id: text,
      fault: text,
      place: text,
      kind: text,
      when: only('before', 'after'),
      clientId: { type: ['string', 'null'] },
      hasState: {
        type: 'boolean',
        description:
          'Whether the fault applies to only one login, chosen by its state. The answer does not contain the state.',
      },
      skip: count,
      times: { anyOf: [count, only('always')] },
      options: anyFields,
      status: only('waiting', 'used up', 'dropped'),
      skipped: {
        ...count,
        description: 'How many matching requests have passed without the fault, because of `skip`.',
      },
      consumed: { ...count, description: 'How many times the fault has happened.' },
      requestIds: { ...listOf(text), description: 'The ids of the latest steps that the fault affected.' },
      orderedAt: time,
      dropsAt: {
        ...time,
        description:
          'The time at which the fault is dropped if no request matches before this time. Present only while the fault waits.',
      },
      overAt: { ...time, description: 'When the fault ended.' },
      message: text,
    },
    { optional: ['dropsAt', 'overAt', 'message'] },
  ),
  OrderedFaults: object({ faults: listOf(ref('OrderedFault')) }),
  RemovedFaults: object({ removed: count }),
}
