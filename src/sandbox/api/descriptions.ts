// Machine-readable descriptions of the API (specification 9), and a page to read it and try it. Public, as they hold no secret.
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Description } from '../http/describe.ts'
import type { Addresses } from '../services.ts'

/** The address of this API in api.raml itself, so that the file can be read by tools as it is. */
const ramlBaseUri = 'http://127.0.0.1:4001'

/** For describeRoutes. */
export function descriptionOf({ apiUrl }: Pick<Addresses, 'apiUrl'>): Description {
  return {
    title: 'Application API',
    version: '1.0',
    description:
      'Applications that the caller develops, each with its OAuth client, and the groups that they belong to. ' +
      'An access token comes from a login at the portal, or from your account there; one that is listed with an application’s credentials reads ' +
      'that application, and does nothing else. Unknown fields of a body are ignored; of a field that stands ' +
      'twice the last one counts.',
    url: apiUrl,
    tags: ['Applications', 'Groups'],
    security: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  }
}

/** Once describeRoutes has been called for the scope. */
export async function descriptionRoutes(scope: FastifyInstance, { apiUrl }: Pick<Addresses, 'apiUrl'>) {
  const raml = (await readFile(new URL('./api.raml', import.meta.url), 'utf8')).replace(ramlBaseUri, apiUrl)

  async function showOpenApi() {
    return scope.swagger()
  }

  async function showRaml(_request: FastifyRequest, reply: FastifyReply) {
    return reply.type('application/raml+yaml; charset=utf-8').send(raml)
  }

  return { showOpenApi, showRaml }
}

/** Of the page to read them and to try them. */
export function callsPageOf({ portalUrl }: Addresses) {
  return {
    title: 'Application API',
    brand: 'Application API',
    about: 'List, create, change and remove the applications that you develop, and the groups that they belong to.',
    hasOwnExamples: true,
    documentPath: '/apps/v1/openapi.json',
    tokenUrl: `${portalUrl}/account/token`,
    links: [
      { href: '/apps/v1/openapi.json', label: 'OpenAPI 3.1' },
      { href: '/apps/v1/api.raml', label: 'RAML 1.0' },
      { href: `${portalUrl}/api/docs`, label: 'The login portal’s OAuth calls' },
    ],
  }
}
