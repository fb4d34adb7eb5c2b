// The page at the API's own address: what this is, and where to read on.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Addresses } from '../services.ts'

export function showHome({ apiUrl, portalUrl }: Addresses) {
  return async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.viewAsync('application-api', { title: 'Start', brand: 'Application API', apiUrl, portalUrl })
}
