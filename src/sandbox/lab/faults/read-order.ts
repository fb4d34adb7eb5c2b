// Reads the order of a fault: the name of the fault, the client, the login, the number of times and the options.
import { Ajv } from 'ajv'
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import type { FieldProblems } from '../../observe/refusal.ts'
import { longestShownName, messagesOf, mostUnknown } from '../field-messages.ts'
import { LabError } from '../lab-error.ts'
import { catalogue, type Fault, kindsAt, nearestNames, presetsOf } from './catalogue.ts'
import { isAllowedValue, longestBody } from './kind.ts'
import { type Place, places } from './places.ts'

export const mostTimes = 1000
/** The values of an order that leaves these fields out. */
export const usualCounts = { skip: 0, times: 1 } as const
const longestTextInOrder = 200
/**
 * The largest size of an order in bytes. An order can contain the body of an answer. One byte of this body takes up to
 * six bytes in a JSON order, and up to three bytes in a form.
 */
export const longestOrder = 7 * longestBody
const textOrNull = {
  type: ['string', 'null'],
  title: `null or a string of 1 to ${longestTextInOrder} characters`,
  minLength: 1,
  maxLength: longestTextInOrder,
} as const

/**
 * The titles complete the sentence “This must be …”. findFault and readOptions check the values that depend on the
 * catalogue.
 */
export const orderBody = {
  type: 'object',
  additionalProperties: false,
  properties: {
    fault: { type: 'string', description: 'The name of a fault in the catalogue.', examples: ['exchange-503'] },
    place: {
      type: 'string',
      description: 'The place where the fault happens. Send `fault`, or send `place` and `kind`.',
      examples: ['exchange'],
    },
    kind: {
      type: 'string',
      description: 'The kind of the fault. Send `fault`, or send `place` and `kind`.',
      examples: ['status'],
    },
    when: {
      type: 'string',
      enum: ['before', 'after'],
      description:
        'Whether the fault happens before or after the platform has acted. Send this only with `place` and `kind`. If the kind needs the ' +
        'platform’s own answer, the default is `after`. Otherwise, the default is `before`.',
    },
    clientId: {
      ...textOrNull,
      description:
        'The fault matches only requests of this client. If a request contains a client secret or a token, the laboratory finds the client by this secret or token, and ignores the client_id.',
    },
    state: {
      ...textOrNull,
      description:
        'The fault matches only requests of the login that began with this state. The renewals and API calls of this login also match.',
    },
    skip: {
      type: 'integer',
      minimum: 0,
      maximum: mostTimes,
      default: usualCounts.skip,
      description: 'How many matching requests this fault skips before it happens.',
    },
    times: {
      title: `a whole number from 1 to ${mostTimes}, or "always"`,
      anyOf: [{ type: 'integer', minimum: 1, maximum: mostTimes }, { enum: ['always'] }],
      default: usualCounts.times,
      description:
        'The number of requests that the fault affects. If several requests arrive at the same time, the number is still exact.',
    },
    options: {
      type: 'object',
      additionalProperties: true,
      description: 'The options of the fault. The catalogue lists the options of each fault.',
    },
  },
} as const satisfies JSONSchema

const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true })

/** An order contains the name of a fault, or a place and a kind. */
export type FaultOrder = FromSchema<typeof orderBody, { keepDefaultedPropertiesOptional: true }>

export interface Order {
  fault: Fault
  clientId: string | undefined
  state: string | undefined
  skip: number
  times: number | 'always'
  options: Record<string, unknown>
}

/** Throws LabError 422, which names every wrong field and the values that are allowed. */
export function readOrder(body: unknown): Order {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new LabError(422, {
      fault: ['Send a JSON object with the name of a fault, such as {"fault":"exchange-503"}.'],
    })
  const problems = ajv.validate(orderBody, body) ? {} : messagesOf(ajv.errors ?? [], undefined)
  const { clientId, state, skip = usualCounts.skip, times = usualCounts.times, options = {} } = body as FaultOrder
  const fault = findFault(body, problems)
  if (fault && (fault.place === 'metadata' || fault.place === 'keys'))
    for (const [field, value] of Object.entries({ clientId, state }))
      if (value != null) problems[field] = ['Requests at this place do not name a client, so leave this field out.']
  const values = fault && !problems.options ? readOptions(fault, options, problems) : {}
  if (!fault || Object.keys(problems).length > 0) throw new LabError(422, problems)
  return { fault, clientId: clientId ?? undefined, state: state ?? undefined, skip, times, options: values }
}

function findFault(
  order: { fault?: unknown; place?: unknown; kind?: unknown; when?: unknown },
  problems: FieldProblems,
) {
  const { fault: name, place, kind, when } = order
  if (name !== undefined) {
    for (const [field, value] of Object.entries({ place, kind, when }))
      if (value !== undefined)
        problems[field] = ['The name of the fault already decides this, so leave this field out.']
    const found = typeof name === 'string' ? catalogue.get(name) : undefined
    if (!found) problems.fault = [`There is no such fault. ${suggest(name, catalogue.keys())}`]
    return found
  }
  if (place === undefined && kind === undefined) {
    problems.fault = [
      'Name a fault, such as exchange-503, or give place and kind. GET /lab/v1/faults/catalogue lists all faults.',
    ]
    return undefined
  }
  if (typeof place !== 'string' || !Object.hasOwn(places, place)) {
    problems.place = [`There is no such place. ${suggest(place, Object.keys(places))}`]
    return undefined
  }
  const names = Object.entries(kindsAt(place as Place)).flatMap(entry => presetsOf(...entry).map(([name]) => name))
  if (typeof kind !== 'string' || !names.includes(kind)) {
    problems.kind = [`There is no such fault kind at this place. ${suggest(kind, names)}`]
    return undefined
  }
  const usualName = `${place}-${kind}`
  const laterName = `${usualName}-after`
  const [usual, later] = [catalogue.get(usualName), catalogue.get(laterName)]
  const found = [usual, later].find(fault => fault && (when === undefined || fault.when === when))
  if (!found) problems.when = [`This must be ${later ? '"before" or "after"' : `"${usual?.when}"`}, or be left out.`]
  return found
}

function suggest(wrong: unknown, names: Iterable<string>): string {
  const nearest = typeof wrong === 'string' ? nearestNames(wrong, names) : []
  const question = nearest.length > 0 ? `Did you mean ${nearest.join(' or ')}? ` : ''
  return `${question}GET /lab/v1/faults/catalogue lists all faults.`
}

/**
 * Returns the options that the name of the fault sets, the options in the order, and the defaults of all other options.
 */
function readOptions(
  { options, fixed }: Fault,
  given: Record<string, unknown>,
  problems: FieldProblems,
): Record<string, unknown> {
  const names = Object.keys(options)
  // Name at most ten options, and shorten long names. Otherwise, the answer could be larger than the order.
  const unknown = Object.keys(given).filter(name => !names.includes(name))
  for (const name of unknown.slice(0, mostUnknown))
    problems[`options.${name.slice(0, longestShownName)}`] = [
      `There is no such option. ${names.length > 0 ? `The options of this fault are ${names.join(', ')}.` : 'This fault has no options.'}`,
    ]
  const values: Record<string, unknown> = { ...fixed }
  for (const [name, option] of Object.entries(options)) {
    const isGiven = Object.hasOwn(given, name)
    const value = isGiven ? given[name] : option.default
    if (isGiven ? isAllowedValue(option, value) : !option.isRequired) values[name] = value
    else problems[`options.${name}`] = [`This must be ${option.allowed}.`]
  }
  return values
}
