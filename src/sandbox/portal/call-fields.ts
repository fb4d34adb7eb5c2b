// Reads the fields of a call, sent as a form or as JSON, with OAuth's rules: once each, and empty means left out.
import type { FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Reason } from '../observe/steps.ts'
import { longestText } from './longest-text.ts'
import { OAuthError } from './oauth-error.ts'

export type CallFields = Record<string, string | undefined>

/** Throws OAuthError invalid_request. Fields that nobody knows are ignored, repeated or not. */
export function readCallFields(request: FastifyRequest, known: readonly string[]): CallFields {
  const claimed = (request.body as { client_id?: unknown } | null | undefined)?.client_id
  if (typeof claimed === 'string') noteAbout(request, { claimedClientId: claimed.slice(0, longestText) })
  // Credentials in an address end up in logs, and two ways to say who calls are one too many (RFC 6749 2.3).
  const query = request.query as Record<string, unknown>
  if (known.some(name => query[name] !== undefined))
    throw invalid('field-misplaced', 'Send the fields in the body, not in the address.')
  if (request.headers.authorization !== undefined)
    throw invalid('field-misplaced', 'Send the fields in the body, not in a header.')
  const body = readBody(request)
  const fields: CallFields = {}
  for (const name of known) {
    const value = body[name]
    if (value === undefined || value === '') continue
    if (Array.isArray(value)) throw invalid('field-repeated', `${name} was given more than once.`)
    // JSON can hold half a surrogate pair, which no address and no database takes.
    if (typeof value !== 'string' || !value.isWellFormed()) throw invalid('fields-invalid', `${name} must be a string.`)
    if (value.length > longestText) throw invalid('field-too-long', `${name} is longer than ${longestText} characters.`)
    fields[name] = value
  }
  return fields
}

/** The fields as they came, of any type. Throws OAuthError invalid_request when there are none. */
export function readBody({ body }: FastifyRequest): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('body-unreadable', 'The request body cannot be read.')
  return body as Record<string, unknown>
}

/** Throws OAuthError invalid_request when the field is not there. */
export function requireField(fields: CallFields, name: string): string {
  const value = fields[name]
  if (value === undefined) throw invalid('field-missing', `${name} is missing.`)
  return value
}

function invalid(reason: Reason, description: string): OAuthError {
  return new OAuthError(400, 'invalid_request', description, { reason })
}
