// Schemas that the laboratory's calls share. Fastify checks requests with these schemas, and OpenAPI is made from them.
import { answer, listOf, object, parameters, text } from '../http/describe.ts'

/**
 * Matches text that both databases can store. PostgreSQL cannot store NUL, and UTF-8 cannot encode half a surrogate
 * pair.
 */
const storable = '^[^\\0\\p{Cs}]*$'

/** The schema of a string that both databases can store. */
export function storableText(minLength: number, maxLength: number, words: { description?: string } = {}) {
  return { type: 'string', pattern: storable, minLength, maxLength, ...words } as const
}

/**
 * The schema of a call's query parameters. The laboratory refuses unknown parameters, because a call with a misspelled
 * parameter could affect more records than the caller wanted.
 */
export function queryOf(properties: Record<string, object> = {}) {
  return { type: 'object', additionalProperties: false, properties } as const
}

export const clientIdInQuery = {
  clientId: { type: 'string', description: 'Limits the call to the logins or faults of this client.' },
}

/** The schema of a query parameter that contains a whole number from 1 to 9,999. */
export const wholeNumberTo9999 = {
  type: 'string',
  pattern: '^0*[1-9]\\d{0,3}$',
  title: 'a whole number from 1 to 9,999',
} as const

export const idInPath = parameters({ id: { type: 'string', maxLength: 100 } })

const refusals = {
  400: answer('The request cannot be read.', 'Error'),
  401: answer('LAB_TOKEN is set, and the request did not contain it.', 'Error'),
  403: answer(
    'The laboratory does not accept the host name of the request, or the request comes from a page of another site. A call with a groupId also gets this answer if the user is not a member of this group.',
    'Error',
  ),
  404: answer(
    'The record does not exist. The set-up calls also send this answer if neither the laboratory nor a seed made the record.',
    'Error',
  ),
  413: answer(
    'The body is too large. The limit is 448 KiB for the call that orders a fault, and 32 KiB for all other calls.',
    'Error',
  ),
  415: answer('The content type is not application/json.', 'Error'),
  422: answer(
    'A field or parameter is wrong. The answer names the field or parameter and says what is allowed.',
    'Error',
  ),
  429: answer('Too many faults are waiting already.', 'Error'),
  500: answer('An error in the sandbox.', 'Error'),
  503: answer('The sandbox is too busy, or cannot reach its database. See Retry-After.', 'Error'),
}

/** Describes the error answers that every call can get, and also the error answers with the given statuses. */
export function refusalAnswers(...statuses: (keyof typeof refusals)[]) {
  return Object.fromEntries(
    [400, 401, 403, 422, ...statuses, 500, 503].map(status => [status, refusals[status as 400]]),
  )
}

export const errorSchema = object({
  error: object({
    status: { type: 'integer' },
    message: {
      anyOf: [text, { type: 'object', additionalProperties: listOf(text) }],
      description: 'A sentence. If fields are wrong: an object that lists the problems under the name of each field.',
    },
  }),
})
