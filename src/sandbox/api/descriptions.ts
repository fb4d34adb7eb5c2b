// Machine-readable descriptions of the API (specification 9), and a page to read it and try it. Public, as they hold no secret.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Description } from '../http/describe.ts'
import type { Addresses } from '../services.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { type OpenApi, toRaml } from './raml.ts'

/** For describeRoutes. */
export function apiDescription({ apiUrl }: Pick<Addresses, 'apiUrl'>): Description {
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

/** The page at the API's own address: what this is, and where to read on. */
export function showHome({ apiUrl, portalUrl }: Addresses) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    setPageHeaders(reply, { hasScript: true })
    return reply.viewAsync('application-api', {
      title: 'Start',
      brand: 'Application API',
      scripts: ['copy-buttons.js'],
      // Double quotes, in which the shell reads the variable.
      list: `curl -sS ${apiUrl}/apps/v1 -H "Authorization: Bearer $TOKEN"`,
      portalUrl,
    })
  }
}

/** Of the page to read them and to try them. */
export function apiCallsPage({ portalUrl }: Addresses) {
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
