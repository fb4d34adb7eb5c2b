// Request bodies of the API: JSON, at most 64 KiB, and nothing a parser can trip over.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { jsonBodyLimit } from '../http/server.ts'
import { ApiError } from './api-error.ts'

// The API's own bodies are two levels deep.
const maxDepth = 20

/**
 * Also an empty body is let through, as undefined: callers send their content type with every request, also with those
 * that have no body. A route that needs one says what is missing.
 */
export function readJsonBodies(scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser('error', 'error')
  scope.removeContentTypeParser('application/json')
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: jsonBodyLimit },
    (request, body, done) => {
      if (body === '') return done(null, undefined)
      const refuse = () => done(new ApiError(400, 'The request body is not JSON.', { reason: 'body-unreadable' }))
      try {
        parse(request, body as string, (error, value) => {
          if (error) refuse()
          else if (isTooDeep(body as string))
            done(new ApiError(400, 'The request body is nested too deeply.', { reason: 'body-unreadable' }))
          else done(null, value)
        })
      } catch {
        // Nested deeper than the parser's stack.
        refuse()
      }
    },
  )
}

/** The parsed body, for a route that needs one. Throws ApiError 400. */
export function bodyOf(request: FastifyRequest): unknown {
  if (request.body === undefined) throw new ApiError(400, 'The request has no body.', { reason: 'body-unreadable' })
  return request.body
}

/** Of text that is JSON: in any other, the pattern would have to look for the end of a string again and again. */
function isTooDeep(json: string): boolean {
  let depth = 0
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
    if (depth > maxDepth) return true
  }
  return false
}
