// Errors in place of an answer, each in the dialect of its call.
import { STATUS_CODES } from 'node:http'
import { type Answer, json, type Mishap, type Mishaps } from './mishap.ts'
import { type Options, retryAfter, textUpTo, wholeNumberFrom } from './options.ts'
import type { PlaceWords } from './places.ts'

type Dialect = PlaceWords['dialect']

const statuses = [400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 422, 429, 500, 501, 502, 503, 504]

/** The words of RFC 6749 5.2, and of 4.1.2.1 where that has none. */
const errorCodes: Record<number, string> = {
  401: 'invalid_client',
  403: 'unauthorized_client',
  429: 'temporarily_unavailable',
  503: 'temporarily_unavailable',
}

const errorCode = textUpTo(100, {
  about: 'The error code in the body (RFC 6749 5.2); without it, the one that goes with the status.',
})

export function statusMishaps(dialect: Dialect): Mishaps {
  return {
    ...Object.fromEntries(statuses.map(status => [`${status}`, refuse(status, dialect)])),
    status: {
      does: 'The status that you give, with the JSON that this call has for errors.',
      acted: ['before', 'after'],
      options: { status: wholeNumberFrom(400, 599, 'The status.'), ...optionsOf(dialect) },
      act: ({ options }) => say(options.status as number, dialect, options),
    },
  }
}

function refuse(status: number, dialect: Dialect): Mishap {
  return {
    does: `${status} ${STATUS_CODES[status]}, with the JSON that this call has for errors.`,
    // Who says that the fault is not his own has not acted, as far as he knows.
    acted: status >= 500 || status === 408 ? ['before', 'after'] : ['before'],
    options: optionsOf(dialect),
    act: ({ options }) => say(status, dialect, options),
  }
}

function optionsOf(dialect: Dialect): Options {
  return { retryAfter, ...(dialect === 'oauth' && { error: errorCode }) }
}

function errorCodeOf(status: number): string {
  return errorCodes[status] ?? (status >= 500 ? 'server_error' : 'invalid_request')
}

function say(status: number, dialect: Dialect, { retryAfter, error }: Record<string, unknown>): Answer {
  const message = STATUS_CODES[status] ?? 'Error'
  const bodies = {
    oauth: { error: error ?? errorCodeOf(status), error_description: message },
    message: { message },
    api: { error: { status, message } },
  }
  const headers = {
    ...(retryAfter !== undefined && { 'retry-after': `${retryAfter}` }),
    ...(status === 401 &&
      dialect === 'api' && { 'www-authenticate': 'Bearer realm="application API", error="invalid_token"' }),
  }
  return json(status, bodies[dialect], headers)
}
