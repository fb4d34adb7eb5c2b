// Refuses what a call does not read: a misspelled parameter must never widen what the call does.
import type { FastifyRequest } from 'fastify'
import { type FieldMessages, LabError } from './lab-error.ts'

interface Described {
  querystring?: { properties: Record<string, unknown> }
  body?: unknown
}

/**
 * A preHandler hook for calls that are described; pages are not. The description of a call says which parameters its
 * address takes. Throws LabError 422.
 */
export async function checkParameters(request: FastifyRequest): Promise<void> {
  const schema = request.routeOptions.schema as Described | undefined
  if (!schema) return
  const problems: FieldMessages = {}
  const known = Object.keys(schema.querystring?.properties ?? {})
  const accepted = known.length > 0 ? `This call takes ${known.join(', ')}.` : 'This call takes none.'
  for (const [name, value] of Object.entries(request.query as Record<string, unknown>).slice(0, 100)) {
    if (!known.includes(name)) problems[name.slice(0, 100)] = [`There is no such parameter. ${accepted}`]
    else if (typeof value !== 'string') problems[name] = ['Give it once.']
  }
  // DELETE with {"clientId": …} would otherwise remove the faults of everybody.
  if (!schema.body && hasFields(request.body))
    problems.body = [`This call reads no body. Leave it out, or use the parameters of the address. ${accepted}`]
  if (Object.keys(problems).length > 0) throw new LabError(422, problems)
}

function hasFields(body: unknown): boolean {
  return typeof body === 'object' && body !== null ? Object.keys(body).length > 0 : Boolean(body)
}
