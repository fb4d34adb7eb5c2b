// /lab/v1/faults: order faults, list them, take them back; and the catalogue.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LabError } from '../lab-error.ts'
import { catalogue, describeFault } from './catalogue.ts'
import { describeOrdered, type OrderedFault, type OrderedFaults, waitMinutes } from './orders.ts'
import { places } from './places.ts'

export function faultRoutes(faults: OrderedFaults) {
  return {
    /** The body is read by readOrder, which knows the faults and their options. */
    async order(request: FastifyRequest, reply: FastifyReply) {
      if (request.validationError?.validationContext === 'querystring') throw request.validationError
      return reply.code(201).send(describeOrdered(faults.order(request.body)))
    },

    async list(request: FastifyRequest) {
      const { clientId } = request.query as { clientId?: string }
      const found = faults.list().filter(one => clientId === undefined || one.clientId === clientId)
      return { faults: found.map(describeOrdered) }
    },

    async show(request: FastifyRequest) {
      return describeOrdered(requireFault(request))
    },

    async remove(request: FastifyRequest, reply: FastifyReply) {
      const { id } = requireFault(request)
      faults.remove(one => one.id === id)
      return reply.code(204).send()
    },

    /** Of one client if the query names it: two suites on one sandbox leave each other alone. Throws LabError 422. */
    async removeAll(request: FastifyRequest) {
      const { clientId } = request.query as { clientId?: string }
      if (clientId === '')
        throw new LabError(422, {
          clientId: ['Name a client. Leave the parameter out to remove the faults of everybody.'],
        })
      return { removed: faults.remove(one => clientId === undefined || one.clientId === clientId) }
    },

    async showCatalogue(request: FastifyRequest) {
      const { place } = request.query as { place?: string }
      if (place !== undefined && !Object.hasOwn(places, place))
        throw new LabError(422, {
          place: [`There is no such place. The places are ${Object.keys(places).join(', ')}.`],
        })
      const found = [...catalogue.values()].filter(fault => place === undefined || fault.place === place)
      return { faults: found.map(describeFault) }
    },
  }

  function requireFault(request: FastifyRequest): OrderedFault {
    const one = faults.find((request.params as { id: string }).id)
    if (!one)
      throw new LabError(404, `There is no such fault. Faults that are over are kept for ${waitMinutes} minutes.`)
    return one
  }
}
