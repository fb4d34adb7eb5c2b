// The page at the API's own address: what this is, and where to read on.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../parts.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { registerViews } from '../web/views.ts'

export async function homePage(scope: FastifyInstance, { addresses }: Pick<Parts, 'addresses'>): Promise<void> {
  await registerViews(scope)
  scope.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
  scope.get('/', { exposeHeadRoute: true }, async (_request, reply) =>
    reply.viewAsync('application-api', { title: 'Start', brand: 'Application API', ...addresses }),
  )
}
