// The machine-readable descriptions of the API (rule api-descriptions). Anyone can read these descriptions, because
// they contain no secrets.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Description } from '../http/describe.ts'
import type { OpenApi } from '../http/openapi-types.ts'
import type { Addresses } from '../services.ts'
import { toRaml } from './raml.ts'

/** The title, the address and the tags of the API description. Pass this value to describeRoutes. */
export function apiDescription({ apiUrl }: Pick<Addresses, 'apiUrl'>): Description {
  return {
    title: 'Application API',
    version: '1.0',
    description:
      'Lists and changes the applications that the caller develops, their OAuth clients, and their groups. ' +
      'You get an access token from a login at the portal, or on your account page at the portal. An application’s own access token can only read ' +
      'that application. Unknown fields of a body are ignored. If a field appears ' +
      'twice, the API uses the last value.',
    url: apiUrl,
    tags: ['Applications', 'Groups'],
    security: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  }
}

/** Call describeRoutes for the scope first. */
export function descriptionRoutes(scope: FastifyInstance) {
  async function showOpenApi() {
    return scope.swagger()
  }

  async function showRaml(_request: FastifyRequest, reply: FastifyReply) {
    return reply.type('application/raml+yaml; charset=utf-8').send(toRaml(scope.swagger() as unknown as OpenApi))
  }

  return { showOpenApi, showRaml }
}
