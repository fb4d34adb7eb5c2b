// Reads the request bodies of the API: JSON of at most 64 KiB, checked with the schema of the route and the rules of
// the domain.
import type { ErrorObject } from 'ajv'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonBodyLimit } from '../http/server.ts'
import { type FieldProblems, Refusal } from '../observe/refusal.ts'
import { ApiError } from './api-error.ts'

// The API's own bodies are two levels deep.
const maxDepth = 20

/**
 * After this call, the scope reads an empty body as undefined, because some callers send a content type with a request
 * that has no body. A route that needs a body then reports that the body is missing.
 */
export function readJsonBodies(scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeContentTypeParser('application/json')
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: jsonBodyLimit },
    (request, body, done) => {
      if (body === '') return done(null, undefined)
      const refuse = (message: string) => done(new ApiError(400, message, { reason: 'body-unreadable' }))
      parse(request, body as string, (error, value) => {
        if (error) refuse('The request body is not JSON.')
        else if (isTooDeep(body as string)) refuse('The request body is nested too deeply.')
        else done(null, value)
      })
    },
  )
}

/**
 * Call this only with valid JSON. The regular expression is very slow if the text contains a string without a closing
 * quotation mark.
 */
function isTooDeep(json: string): boolean {
  let depth = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}

type FindProblems = (data: Record<string, unknown>, bySchema: FieldProblems) => FieldProblems

/**
 * Returns the data of the body, whether the body has an envelope or not. `Data` is the type that the route's schema
 * describes. The call that changes an application first checks the caller's rights, and then calls this function. Throws
 * ApiError 400 if there is no body. Throws Refusal (fields-invalid), with the problems of all fields, if a field is
 * wrong.
 */
export function readData<Data>(request: FastifyRequest, findProblems: FindProblems): Data {
  requireBody(request)
  const { body, validationError } = request
  const data = isRecord(body) && isRecord(body.data) ? body.data : body
  const bySchema = toProblems((validationError?.validation ?? []) as ErrorObject[])
  const problems = findProblems(isRecord(data) ? data : {}, bySchema)
  if (Object.keys(problems).length > 0) throw new Refusal('fields-invalid', { problems })
  return data as Data
}

/** Throws ApiError 400 if the request has no body. */
export function requireBody(request: FastifyRequest): void {
  if (request.body === undefined) throw new ApiError(400, 'The request has no body.', { reason: 'body-unreadable' })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const missing = 'Missing data for required field.'

/**
 * Returns one problem for each wrong field. The name of a field is the same whether the body has an envelope or not.
 */
function toProblems(errors: ErrorObject[]): FieldProblems {
  const problems: FieldProblems = {}
  for (const error of errors) {
    const path = error.instancePath.replace(/^\/data(?=\/)/, '').slice(1)
    if (error.keyword === 'required') problems[error.params.missingProperty] = [missing]
    // Leave out Ajv's error for the keyword `if`: this error only says whether Ajv has checked the body with or without
    // an envelope.
    else if (error.keyword !== 'if') problems[path || '_schema'] = [sentenceOf(error)]
    // If the body or the data in the envelope is not an object, all required fields are missing.
    if (error.keyword === 'type' && error.params.type === 'object')
      for (const name of error.parentSchema?.required ?? []) problems[name] = [missing]
  }
  return problems
}

/** Describes the problem in the words of the real platform. */
function sentenceOf({ keyword, params, parentSchema = {} }: ErrorObject): string {
  if (parentSchema.enum) return `Must be one of: ${parentSchema.enum.join(', ')}.`
  if (parentSchema.format === 'uri') return 'Not a valid URL.'
  if (keyword === 'maxLength') return `Longer than maximum length ${params.limit}.`
  if (keyword === 'minLength') return `Shorter than minimum length ${params.limit}.`
  return params.type === 'object' ? 'Invalid input type.' : 'Not a valid string.'
}
