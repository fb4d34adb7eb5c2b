// The errors of the portal's calls, in the format that OAuth prescribes (RFC 6749 5.2). One table has the answer for
// each reason.
import type { FastifyInstance } from 'fastify'
import { classifyError, reportRefusal } from '../http/report-refusal.ts'
import { stepUrlOf } from '../observe/observe.ts'
import type { Reason } from '../observe/reasons.ts'
import { type AnswerTable, answerIn, Refusal } from '../observe/refusal.ts'
import { longestText } from '../values/text-length.ts'
import { type OAuthError, tokenRequest } from './schemas.ts'

/** `description` is sent unchanged, so it must be ASCII and must not contain a secret. */
type OAuthAnswer = [statusCode: number, error: string, description: string]

export const grantTypes = tokenRequest.properties.grant_type.enum

const invalid = (description: string): OAuthAnswer => [400, 'invalid_request', description]
const badClient: OAuthAnswer = [401, 'invalid_client', 'The client is unknown or its secret is wrong.']
// The real platform answers 401, although RFC 6749 demands 400.
const badCode: OAuthAnswer = [401, 'invalid_grant', 'The code is not valid, or does not belong to this request.']
const badRefreshToken: OAuthAnswer = [
  401,
  'invalid_grant',
  'The refresh token is not valid, or does not belong to this client.',
]
const tooMany: OAuthAnswer = [429, 'temporarily_unavailable', 'Too Many Requests']
const tryAgain: OAuthAnswer = [503, 'temporarily_unavailable', 'Try again in a moment.']

const answers: AnswerTable<OAuthAnswer> = {
  'field-missing': ({ field }) => invalid(`${field} is missing.`),
  'field-repeated': ({ field }) => invalid(`${field} was given more than once.`),
  'field-too-long': ({ field, limit }) => invalid(`${field} is longer than ${limit}.`),
  'fields-invalid': ({ field }) => invalid(`${field} must be a string.`),
  'field-misplaced': ({ place }) =>
    invalid(`Send the fields in the body, not in ${place === 'header' ? 'a header' : 'the address'}.`),
  'body-unreadable': invalid('The request body cannot be read.'),
  'host-repeated': invalid('Send one Host header.'),
  'body-too-large': [413, 'invalid_request', 'The request body is too large.'],
  'content-type-unsupported': [415, 'invalid_request', 'Send application/x-www-form-urlencoded or application/json.'],
  'grant-type-unsupported': [400, 'unsupported_grant_type', `grant_type must be ${grantTypes.join(' or ')}.`],
  'scope-refused': [400, 'invalid_scope', 'The login has no scope, so a renewal cannot ask for a scope.'],
  'client-unknown': badClient,
  'secret-wrong': badClient,
  'redirect-uri-differs': invalid('redirect_uri differs from the redirect_uri at the start of the login.'),
  'code-unknown': badCode,
  'code-used': badCode,
  'code-expired': badCode,
  'code-revoked': badCode,
  'code-of-another-client': badCode,
  'state-missing': badCode,
  'state-differs': badCode,
  'verifier-missing': badCode,
  'verifier-differs': badCode,
  'verifier-unexpected': badCode,
  'refresh-token-unknown': badRefreshToken,
  'refresh-token-used': badRefreshToken,
  'refresh-token-expired': badRefreshToken,
  'refresh-token-of-another-client': badRefreshToken,
  'too-many-failures': tooMany,
  'too-many-sign-ups': tooMany,
  'renewed-too-often': tooMany,
  'cross-site': [403, 'access_denied', 'The portal does not accept calls from pages of other sites.'],
  'method-not-allowed': [
    405,
    'invalid_request',
    'This address does not accept this method. The Allow header lists the methods.',
  ],
  'not-found': [404, 'invalid_request', 'There is nothing at this address.'],
  busy: tryAgain,
  'store-unavailable': tryAgain,
}
const internal: OAuthAnswer = [500, 'server_error', 'Internal Server Error']

/** Returns the answer to any error in a call: a refusal, an error of Fastify, or an error of the store. */
export function oauthAnswerOf(error: unknown): { reason: Reason; answer: OAuthAnswer } {
  const refusal = error instanceof Refusal ? error : undefined
  const { statusCode, reason: errorReason } = classifyError(error)
  const reason = refusal?.reason ?? errorReason
  const [status, code, description] = answerIn(answers, refusal ?? new Refusal(reason)) ?? internal
  // If Fastify could not read the body, Fastify has already chosen the status, such as 400 or 413. Use this status.
  return { reason, answer: [refusal ? status : statusCode, code, description] }
}

/** Sends every error of this scope as `{error, error_description, error_uri?, state?}`. */
export function answerInOAuthDialect(scope: FastifyInstance): void {
  scope.setErrorHandler((error, request, reply) => {
    const { reason, answer } = oauthAnswerOf(error)
    const [statusCode, code, description] = answer
    reportRefusal(reply, error, { statusCode, reason, message: description }, 'oauth')
    const state = (request.body as { state?: unknown } | null | undefined)?.state
    const errorUri = stepUrlOf(request)
    const isEchoed = typeof state === 'string' && state.length <= longestText
    const body: OAuthError = {
      error: code,
      error_description: description,
      ...(errorUri !== undefined && { error_uri: errorUri }),
      ...(isEchoed && { state }),
    }
    return reply.status(statusCode).send(body)
  })
  scope.setNotFoundHandler(() => {
    throw new Refusal('not-found')
  })
}
