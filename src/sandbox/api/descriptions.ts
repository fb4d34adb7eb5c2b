// Machine-readable descriptions of the API (specification 9), and a page to read it and try it. Public, as they hold no secret.
import { readFile } from 'node:fs/promises'
import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Description } from '../describe.ts'
import type { Addresses } from '../parts.ts'

/** The address of this API in api.raml itself, so that the file can be read by tools as it is. */
const ramlBaseUri = 'http://127.0.0.1:4001'

// The page comes with its own scripts and styles; tokens typed into it go nowhere but here.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** For describeRoutes. */
export function descriptionOf({ apiUrl }: Pick<Addresses, 'apiUrl'>): Description {
  return {
    title: 'Application API',
    version: '1.0',
    description:
      'Applications that the caller develops, each with its OAuth client, and the groups that they belong to. ' +
      'An access token comes from a login at the portal; one that is listed with an application’s credentials reads ' +
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

/** The page to read them and to try them. */
export const descriptionPage: FastifySwaggerUiOptions = {
  theme: { title: 'Application API' },
  uiConfig: { layout: 'BaseLayout', deepLinking: true, tryItOutEnabled: true, defaultModelsExpandDepth: 0 },
  staticCSP: contentSecurityPolicy,
  // Calls go to wherever the page came from: the public address may be another origin, and the policy forbids those.
  transformSpecification: document => ({ ...document, servers: [{ url: '/' }] }),
}
