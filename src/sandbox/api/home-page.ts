// The page at the API's own address: what this is, and where to read on.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../app.ts'
import { setPageHeaders } from '../portal/page-headers.ts'
import { registerViews } from '../web/views.ts'

export async function homePage(scope: FastifyInstance, { config }: Parts): Promise<void> {
  const { apiUrl, portalUrl } = config
  await registerViews(scope)
  scope.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
  scope.get('/', { exposeHeadRoute: true }, async (_request, reply) =>
    reply.viewAsync('application-api', { title: 'Start', brand: 'Application API', apiUrl, portalUrl }),
  )
}
