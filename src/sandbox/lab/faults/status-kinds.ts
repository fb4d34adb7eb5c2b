// Faults that replace an answer with an error, in the error format of the call.
import { STATUS_CODES } from 'node:http'
import { dripped, furtherHeaders } from './connection-kinds.ts'
import {
  type Answer,
  bodyText,
  enlarged,
  json,
  type Kind,
  type Kinds,
  longestSeconds,
  noAnswer,
  numberFrom,
  type Option,
  oneOf,
  type Preset,
  textUpTo,
  wholeNumberFrom,
} from './kind.ts'
import type { CallDialect } from './places.ts'

const statuses = [400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 422, 429, 500, 501, 502, 503, 504]

const bodyTypes = ['text/html; charset=utf-8', 'application/json; charset=utf-8', 'text/plain; charset=utf-8']

/** The error codes are from RFC 6749 5.2. If section 5.2 has no code for a status, the code is from section 4.1.2.1. */
const errorCodes: Record<number, string> = {
  401: 'invalid_client',
  403: 'unauthorized_client',
  429: 'temporarily_unavailable',
  503: 'temporarily_unavailable',
}

const error = textUpTo(100, {
  about: 'The error code in the body (RFC 6749 5.2). Without this option, the body has the usual code for the status.',
})

/**
 * The text does not have to be a valid Retry-After value. It must be printable ASCII, because the text goes into a
 * header.
 */
const retryAfter: Option = {
  about:
    'The value of the Retry-After header: a number of seconds, a date, or any text. Without this option, the answer has no Retry-After header.',
  allowed: 'a whole number from 0 to 86400, or a string of at most 200 printable ASCII characters',
  schema: {
    anyOf: [
      { type: 'integer', minimum: 0, maximum: 86_400 },
      { type: 'string', pattern: '^[ -~]*$', maxLength: 200 },
    ],
  },
}

export function statusKinds(dialect: CallDialect): Kinds {
  return {
    status: {
      does: 'The answer has the status that you give, and a JSON body in the error format of this call.',
      when: ['before', 'after'],
      options: {
        status: wholeNumberFrom(400, 599, { about: 'The status.' }),
        retryAfter,
        ...(dialect === 'oauth' && { error }),
      },
      presets: Object.fromEntries(statuses.map(status => [`${status}`, presetOf(status)])),
      run: ({ options }) => refuse(options.status as number, dialect, options),
    },
    answer: {
      does: 'The answer has the status, the body and the content type that you give. You can also give a delay and more headers, make the answer large, or let it arrive slowly.',
      when: ['before', 'after'],
      needsConnection: ({ seconds, byteSeconds }) => Number(seconds) > 0 || Number(byteSeconds) > 0,
      options: {
        status: wholeNumberFrom(200, 599, { about: 'The status.' }),
        body: bodyText({ about: 'The body. Answers with the status 204 or 304 have no body.', default: '' }),
        type: oneOf(bodyTypes, { about: 'The content type.', default: bodyTypes[0] }),
        seconds: numberFrom(0, longestSeconds, { about: 'The delay of the answer.', default: 0, unit: 'seconds' }),
        largeMiB: numberFrom(0, 32, { about: 'How many MiB of spaces come before the body.', default: 0, unit: 'MiB' }),
        byteSeconds: numberFrom(0, 30, {
          about: 'The seconds between two bytes of the body. With 0, the body arrives at once.',
          default: 0,
          unit: 'seconds',
        }),
        headers: furtherHeaders,
      },
      async run({ options: { status, body, type, seconds, largeMiB, byteSeconds, headers }, connection }) {
        if (Number(seconds) > 0) await connection.wait(Number(seconds))
        if (connection.isLeft()) return noAnswer
        const further = (headers ?? {}) as Record<string, string>
        const answer = { status: status as number, headers: { ...further, 'content-type': `${type}` }, body: `${body}` }
        if (Number(byteSeconds) > 0) return dripped(answer, Number(byteSeconds), connection)
        return Number(largeMiB) > 0 ? enlarged(answer, Number(largeMiB), connection) : answer
      },
    },
  }
}

function presetOf(status: number): Preset {
  // A real platform may have carried out a request that it answers with 5xx or 408.
  const when: Kind['when'] = status >= 500 || status === 408 ? ['before', 'after'] : ['before']
  const does = `The status is ${status} ${STATUS_CODES[status]}, and the body is JSON in the error format of this call.`
  return { does, fixed: { status }, when }
}

function errorCodeOf(status: number): string {
  return errorCodes[status] ?? (status >= 500 ? 'server_error' : 'invalid_request')
}

function refuse(status: number, dialect: CallDialect, { retryAfter, error }: Record<string, unknown>): Answer {
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
