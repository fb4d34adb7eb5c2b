// Reads the fields of a call, sent as a form or as JSON, with OAuth's rules: once each, and empty means left out.
import type { FastifyRequest } from 'fastify'
import { longestText } from './longest-text.ts'
import { OAuthError } from './oauth-error.ts'

export type CallFields = Record<string, string | undefined>

/** Throws OAuthError invalid_request. Fields that nobody knows are ignored, repeated or not. */
export function readCallFields(request: FastifyRequest, known: readonly string[]): CallFields {
  // Credentials in an address end up in logs, and two ways to say who calls are one too many (RFC 6749 2.3).
  const query = request.query as Record<string, unknown>
  if (known.some(name => query[name] !== undefined))
    throw new OAuthError(400, 'invalid_request', 'Send the fields in the body, not in the address.')
  if (request.headers.authorization !== undefined)
    throw new OAuthError(400, 'invalid_request', 'Send the fields in the body, not in a header.')
  const body = readBody(request)
  const fields: CallFields = {}
  for (const name of known) {
    const value = body[name]
    if (value === undefined || value === '') continue
    if (Array.isArray(value)) throw new OAuthError(400, 'invalid_request', `${name} was given more than once.`)
    // JSON can hold half a surrogate pair, which no address and no database takes.
    if (typeof value !== 'string' || !value.isWellFormed())
      throw new OAuthError(400, 'invalid_request', `${name} must be a string.`)
    if (value.length > longestText)
      throw new OAuthError(400, 'invalid_request', `${name} is longer than ${longestText} characters.`)
    fields[name] = value
  }
  return fields
}

/** The fields as they came, of any type. Throws OAuthError invalid_request when there are none. */
export function readBody({ body }: FastifyRequest): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new OAuthError(400, 'invalid_request', 'The request body cannot be read.')
  return body as Record<string, unknown>
}

/** Throws OAuthError invalid_request when the field is not there. */
export function requireField(fields: CallFields, name: string): string {
  const value = fields[name]
  if (value === undefined) throw new OAuthError(400, 'invalid_request', `${name} is missing.`)
  return value
}
