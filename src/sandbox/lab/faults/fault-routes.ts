// /lab/v1/faults: order what is to go wrong, see what waits, take it back; and what there is to order.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Hide } from '../hide.ts'
import { type FieldMessages, LabError } from '../lab-error.ts'
import { identityOf } from '../recorded.ts'
import { catalogue, type Fault, tellFault } from './catalogue.ts'
import { mostWaiting, type Order, type Ordered, type OrderedFaults, waitMinutes } from './ordered.ts'
import { type Place, places } from './places.ts'

const mostTimes = 1000
const longestText = 200

type Parts = { ordered: OrderedFaults; hide: Hide; clock: () => Date }

export function faultRoutes({ ordered, hide, clock }: Parts) {
  return {
    async order(request: FastifyRequest, reply: FastifyReply) {
      const order = readOrder(request.body)
      const state = order.state === undefined ? undefined : identityOf(hide.value('state', order.state, clock()))
      const added = ordered.add({ ...order, state })
      if (!added)
        throw new LabError(429, `There are ${mostWaiting} faults that wait already. Remove some of them first.`)
      return reply.code(201).send(tellOrdered(added))
    },

    async list(request: FastifyRequest) {
      const { clientId } = request.query as { clientId?: string }
      return {
        faults: ordered
          .list()
          .filter(one => clientId === undefined || one.clientId === clientId)
          .map(tellOrdered),
      }
    },

    async show(request: FastifyRequest) {
      return tellOrdered(requireOrdered(request))
    },

    async remove(request: FastifyRequest, reply: FastifyReply) {
      const { id } = requireOrdered(request)
      ordered.remove(one => one.id === id)
      return reply.code(204).send()
    },

    /** Of one client if the query names it: two suites on one sandbox leave each other alone. Throws LabError 422. */
    async removeAll(request: FastifyRequest) {
      const { clientId } = request.query as { clientId?: string }
      if (clientId === '')
        throw new LabError(422, {
          clientId: ['Name a client. Leave the parameter out to remove the faults of everybody.'],
        })
      return { removed: ordered.remove(one => clientId === undefined || one.clientId === clientId) }
    },

    async showCatalogue(request: FastifyRequest) {
      const { place } = request.query as { place?: string }
      if (place !== undefined && !Object.hasOwn(places, place))
        throw new LabError(422, { place: [`There is no such place. There are ${Object.keys(places).join(', ')}.`] })
      const faults = [...catalogue.values()].filter(fault => place === undefined || fault.place === (place as Place))
      return { faults: faults.map(tellFault) }
    },
  }

  function requireOrdered(request: FastifyRequest): Ordered {
    const one = ordered.find((request.params as { id: string }).id)
    if (!one) throw new LabError(404, `There is no such fault. What is over is remembered for ${waitMinutes} minutes.`)
    return one
  }
}

/** Of the state nothing is told but that there is one. */
export function tellOrdered({ id, fault, clientId, state, skip, times, options, status, ...rest }: Ordered) {
  const { orderedAt, since, consumed, requestIds } = rest
  return {
    id,
    fault: fault.name,
    clientId: clientId ?? null,
    hasState: state !== undefined,
    skip,
    times,
    options,
    status,
    consumed,
    requestIds,
    orderedAt,
    ...(status === 'waiting' ? { dropsAt: new Date(since.getTime() + waitMinutes * 60_000) } : { overAt: since }),
    ...(status === 'dropped' && { message: `Nobody consumed it for ${waitMinutes} minutes, so it was dropped.` }),
  }
}

/** Throws LabError 422, which names every field that is wrong and what is allowed. */
function readOrder(body: unknown): Order {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new LabError(422, {
      fault: ['Send a JSON object with the name of a fault, such as {"fault":"exchange-503"}.'],
    })
  const problems: FieldMessages = {}
  const { fault: name, clientId, state, skip = 0, times = 1, options = {}, ...others } = body as Record<string, unknown>
  const fault = typeof name === 'string' ? catalogue.get(name) : undefined
  if (!fault) problems.fault = [`There is no such fault. There are ${[...catalogue.keys()].join(', ')}.`]
  for (const other of Object.keys(others))
    problems[other] = ['There is no such field. There are fault, clientId, state, skip, times, options.']
  for (const [field, value] of Object.entries({ clientId, state }))
    if (value != null && !(typeof value === 'string' && value !== '' && value.length <= longestText))
      problems[field] = [`This must be a text of 1 to ${longestText} characters, or be left out.`]
  if (fault && (fault.place === 'metadata' || fault.place === 'keys'))
    for (const [field, value] of Object.entries({ clientId, state }))
      if (value != null) problems[field] = ['Nobody says who reads this, so leave it out.']
  if (!isCount(skip, 0)) problems.skip = [`This must be a whole number from 0 to ${mostTimes}.`]
  if (times !== 'always' && !isCount(times, 1))
    problems.times = [`This must be a whole number from 1 to ${mostTimes}, or "always".`]
  const given = fault ? readOptions(fault, options, problems) : {}
  if (!fault || Object.keys(problems).length > 0) throw new LabError(422, problems)
  return {
    fault,
    clientId: (clientId as string | null) ?? undefined,
    state: (state as string | null) ?? undefined,
    skip: skip as number,
    times: times as number | 'always',
    options: given,
  }
}

function isCount(value: unknown, least: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= mostTimes
}

/** With what is usual for those that were left out. */
function readOptions({ mishap }: Fault, given: unknown, problems: FieldMessages): Record<string, unknown> {
  const known = mishap.options ?? {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.options = ['This must be an object.']
    return {}
  }
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(given).filter(name => !Object.hasOwn(known, name)))
    problems[`options.${name}`] = [
      `There is no such option. ${Object.keys(known).length > 0 ? `There are ${Object.keys(known).join(', ')}.` : 'This fault has none.'}`,
    ]
  for (const [name, option] of Object.entries(known)) {
    const isGiven = Object.hasOwn(given, name)
    const value = isGiven ? (given as Record<string, unknown>)[name] : option.default
    if (isGiven ? option.isAllowed(value) : !option.isNeeded) values[name] = value
    else problems[`options.${name}`] = [`This must be ${option.allowed}.`]
  }
  return values
}
