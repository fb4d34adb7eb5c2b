// Reads the fields of a call that was sent as a form or as JSON. The schema of the route and the rules of OAuth say
// what is allowed. A refusal names only one problem.
import type { ErrorObject } from 'ajv'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { noteAbout } from '../observe/observe.ts'
import type { Reason } from '../observe/reasons.ts'
import { Refusal } from '../observe/refusal.ts'
import { longestText } from '../values/text-length.ts'

/** The fields of a call. An empty field counts as left out (RFC 6749 3.2). */
interface SentFields<Fields> {
  /** The fields that were sent. A required field can still be missing, and a value can still be wrong. */
  texts: { [Name in keyof Fields]?: string }
  /**
   * Returns the fields. Throws Refusal if a field in `names` is missing or not allowed. The refusal names the first of
   * these fields.
   */
  require<Name extends keyof Fields>(...names: Name[]): Pick<Fields, Name>
  /** Like `require`, with all fields of the call as `names`. */
  requireAll(): Fields
}

/**
 * Call this in a route that has a body schema and `attachValidation`. `Fields` is the type that the schema describes.
 * Throws Refusal if a known field is not a string or is too long. Unknown fields are ignored, even if they are
 * repeated.
 */
export function readFields<Fields>(request: FastifyRequest): SentFields<Fields> {
  // Also look for the client id in the address. The portal refuses fields in the address, but the laboratory then knows
  // which client made the mistake.
  const { client_id: claimed } = { ...(request.query as object), ...(request.body as object) } as {
    client_id?: unknown
  }
  if (typeof claimed === 'string') noteAbout(request, { claimedClientId: claimed.slice(0, longestText) })
  const { body: schema } = request.routeOptions.schema as { body: { properties: Record<string, object> } }
  const known = Object.keys(schema.properties)
  refuseMisplaced(request, known)
  const body = requireBodyFields(request)
  // Fastify has validated the body together with its empty fields. If there are empty fields, validate the body again
  // without these fields.
  const hasEmpty = known.some(field => body[field] === '')
  const fields = (hasEmpty ? withoutEmpty(body) : body) as Fields & Record<string, unknown>
  const errors = firstErrors(hasEmpty ? validateAgain(request, fields) : request.validationError?.validation)
  for (const field of known) refuseUnlessText(field, fields[field], errors.get(field))

  function refuseFirst(names: readonly PropertyKey[]): void {
    for (const field of known) {
      const reason = names.includes(field) && reasonOfKeyword[errors.get(field)?.keyword ?? '']
      if (reason) throw new Refusal(reason, { field })
    }
  }

  return {
    texts: fields as SentFields<Fields>['texts'],
    require(...names) {
      refuseFirst(names)
      return fields
    },
    requireAll() {
      refuseFirst(known)
      return fields
    },
  }
}

/**
 * The keywords of a schema that a field can violate, and the reason for each keyword. Other keywords, such as `format`,
 * only describe a field: the domain code compares the value of such a field with the stored value.
 */
const reasonOfKeyword: Record<string, Reason> = {
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

/** Returns the first error of each field. */
function firstErrors(errors: readonly ValidationError[] | null | undefined): Map<string, ValidationError> {
  const first = new Map<string, ValidationError>()
  for (const error of errors ?? []) {
    const field = error.params.missingProperty ?? error.instancePath.slice(1)
    if (!first.has(field)) first.set(field, error)
  }
  return first
}

/**
 * Refuses a field that is not a single string. Also checks two rules that a schema cannot express: the string must be
 * encodable in UTF-8, and its length is limited in UTF-16 units.
 */
function refuseUnlessText(field: string, value: unknown, error: ValidationError | undefined): void {
  if (Array.isArray(value)) throw new Refusal('field-repeated', { field })
  if (error?.keyword === 'type') throw new Refusal('fields-invalid', { field })
  if (typeof value !== 'string') return
  if (!value.isWellFormed()) throw new Refusal('fields-invalid', { field })
  if (value.length > longestText) throw new Refusal('field-too-long', { field, limit: `${longestText} characters` })
}

/**
 * Refuses fields in the address, and an Authorization header. Servers log addresses, so an address must not contain
 * credentials. A client must also use only one method to authenticate (RFC 6749 2.3). Throws Refusal.
 */
function refuseMisplaced({ query, headers }: FastifyRequest, known: string[]): void {
  if (known.some(name => (query as Record<string, unknown>)[name] !== undefined))
    throw new Refusal('field-misplaced', { place: 'address' })
  if (headers.authorization !== undefined) throw new Refusal('field-misplaced', { place: 'header' })
}

/**
 * Returns the body as it was sent. Its fields may have any type. Throws Refusal if the body is missing or is not an
 * object.
 */
export function requireBodyFields({ body }: FastifyRequest): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal('body-unreadable')
  return body as Record<string, unknown>
}

/** Sets headers on every answer of the scope: browsers must not cache the answer, or guess another content type. */
export function setCallHeaders(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (_request, reply) => {
    // Send both headers, because RFC 6749 5.1 requires both.
    reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' })
  })
}
