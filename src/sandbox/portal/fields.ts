// Reads the fields of a call, sent as a form or as JSON, by the schema of its route and by OAuth's rules: one problem at a time.
import type { ErrorObject } from 'ajv'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import { longestText } from '../values/text-length.ts'

/** The fields of the schema. An empty field counts as left out (RFC 6749 3.2). */
export interface SentFields<Fields> {
  /** What was sent. Each is a text, but some may be missing or not allowed. */
  texts: { [Name in keyof Fields]?: string }
  /** Throws Refusal for the first of these fields that is missing or not allowed. */
  take<Name extends keyof Fields>(...names: Name[]): Pick<Fields, Name>
  /** The same for all fields. */
  takeAll(): Fields
}

/**
 * For a route with a schema of its body and `attachValidation`; `Fields` is the type of the schema. Throws Refusal for a
 * field that is no text, before anything else is looked at. Unknown fields are ignored, repeated or not.
 */
export function readFields<Fields>(request: FastifyRequest): SentFields<Fields> {
  // A client that sends its fields in the address is refused, and named in the laboratory all the same.
  const { client_id: claimed } = { ...(request.query as object), ...(request.body as object) } as {
    client_id?: unknown
  }
  if (typeof claimed === 'string') noteAbout(request, { claimedClientId: claimed.slice(0, longestText) })
  const { body: schema } = request.routeOptions.schema as { body: { properties: Record<string, object> } }
  const known = Object.keys(schema.properties)
  refuseMisplaced(request, known)
  const body = requireBodyFields(request)
  // Fastify has validated the body as it came, which is enough for most calls.
  const hasEmpty = known.some(field => body[field] === '')
  const fields = (hasEmpty ? withoutEmpty(body) : body) as Fields & Record<string, unknown>
  const errors = firstErrors(hasEmpty ? validateAgain(request, fields) : request.validationError?.validation)
  for (const field of known) refuseUnlessText(field, fields[field], errors.get(field))

  function refuseFirst(names: readonly PropertyKey[]): void {
    for (const field of known) {
      const reason = names.includes(field) && reasons[errors.get(field)?.keyword ?? '']
      if (reason) throw new Refusal(reason, { field })
    }
  }

  return {
    texts: fields as SentFields<Fields>['texts'],
    take(...names) {
      refuseFirst(names)
      return fields
    },
    takeAll() {
      refuseFirst(known)
      return fields
    },
  }
}

/** Other keywords, such as `format`, only describe a field. The domain compares the value with the one that it knows. */
const reasons: Record<string, Reason> = {
  required: 'field-missing',
  dependencies: 'field-missing',
  enum: 'grant-type-unsupported',
}

function withoutEmpty(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== ''))
}

function validateAgain(request: FastifyRequest, fields: object): ErrorObject[] | null | undefined {
  const validate = request.getValidationFunction('body')
  validate?.(fields)
  return validate?.errors as ErrorObject[] | null | undefined
}

type ValidationError = Pick<ErrorObject, 'keyword' | 'instancePath' | 'params'>

/** The first error of each field. */
function firstErrors(errors: readonly ValidationError[] | null | undefined): Map<string, ValidationError> {
  const first = new Map<string, ValidationError>()
  for (const error of errors ?? []) {
    const field = error.params.missingProperty ?? error.instancePath.slice(1)
    if (!first.has(field)) first.set(field, error)
  }
  return first
}

/** No schema says what UTF-8 cannot encode, or counts in UTF-16 units. */
function refuseUnlessText(field: string, value: unknown, error: ValidationError | undefined): void {
  if (Array.isArray(value)) throw new Refusal('field-repeated', { field })
  if (error?.keyword === 'type') throw new Refusal('fields-invalid', { field })
  if (typeof value !== 'string') return
  if (!value.isWellFormed()) throw new Refusal('fields-invalid', { field })
  if (value.length > longestText) throw new Refusal('field-too-long', { field })
}

/**
 * Credentials in an address end up in logs, and a client authenticates in one way only (RFC 6749 2.3). Throws Refusal.
 */
function refuseMisplaced({ query, headers }: FastifyRequest, known: string[]): void {
  if (known.some(name => (query as Record<string, unknown>)[name] !== undefined))
    throw new Refusal('field-misplaced', { place: 'address' })
  if (headers.authorization !== undefined) throw new Refusal('field-misplaced', { place: 'header' })
}

/** The body as it came, with fields of any type. Throws Refusal without a body that holds fields. */
export function requireBodyFields({ body }: FastifyRequest): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal('body-unreadable')
  return body as Record<string, unknown>
}

/** No answer to a call may be cached, or read as another type. */
export function setCallHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    // Both, because RFC 6749 5.1 asks for both.
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' })
  })
}
