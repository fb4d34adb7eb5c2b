// Reads the fields of a call, sent as a form or as JSON, by OAuth's rules: each once, and an empty one counts as left out.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import { Refusal } from '../observe/refusal.ts'
import { longestText } from '../values/text-length.ts'

export type CallFields = Record<string, string | undefined>

/** Throws Refusal. Unknown fields are ignored, repeated or not. */
export function readCallFields(request: FastifyRequest, known: readonly string[]): CallFields {
  const claimed = (request.body as { client_id?: unknown } | null | undefined)?.client_id
  if (typeof claimed === 'string') noteAbout(request, { claimedClientId: claimed.slice(0, longestText) })
  // Credentials in an address end up in logs, and two ways to say who calls are one too many (RFC 6749 2.3).
  const query = request.query as Record<string, unknown>
  if (known.some(name => query[name] !== undefined)) throw new Refusal('field-misplaced', { place: 'address' })
  if (request.headers.authorization !== undefined) throw new Refusal('field-misplaced', { place: 'header' })
  const body = readCallBody(request)
  const fields: CallFields = {}
  for (const field of known) {
    const value = body[field]
    if (value === undefined || value === '') continue
    if (Array.isArray(value)) throw new Refusal('field-repeated', { field })
    // JSON can hold half a surrogate pair, which no address and no database takes.
    if (typeof value !== 'string' || !value.isWellFormed()) throw new Refusal('fields-invalid', { field })
    if (value.length > longestText) throw new Refusal('field-too-long', { field })
    fields[field] = value
  }
  return fields
}

/** The fields as they came, of any type. Throws Refusal without a body that holds fields. */
export function readCallBody({ body }: FastifyRequest): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal('body-unreadable')
  return body as Record<string, unknown>
}

/** Throws Refusal if the field is missing. */
export function requireField(fields: CallFields, field: string): string {
  const value = fields[field]
  if (value === undefined) throw new Refusal('field-missing', { field })
  return value
}

/** For every answer to a call: it is never kept, and never taken for another type. */
export function setCallHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    // Both, because RFC 6749 5.1 asks for both.
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' })
  })
}
