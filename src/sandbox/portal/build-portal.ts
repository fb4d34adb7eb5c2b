// The login portal: its pages, the calls of clients and of users, and what it says of itself, in scopes that share only the store.
import type { FastifyInstance } from 'fastify'
import { healthRoutes } from '../health.ts'
import type { Parts } from '../parts.ts'
import { createServer } from '../server.ts'
import { clientCallRoutes } from './client-calls.ts'
import { metadataRoutes } from './metadata.ts'
import { pageRoutes } from './pages.ts'
import { userCallRoutes } from './user-calls/user-calls.ts'

export async function buildPortal(parts: Parts): Promise<FastifyInstance> {
  const portal = createServer(parts.logger, (_statusCode, message) => message)
  if (parts.addresses.portalUrl.startsWith('https:'))
    portal.addHook('onRequest', async (_request, reply) => {
      // For this host alone: other names below it are not ours to decide about.
      reply.header('strict-transport-security', 'max-age=31536000')
    })
  await portal.register(healthRoutes, { probe: parts.probe, isStopping: parts.isStopping })
  await portal.register(pageRoutes, parts)
  await portal.register(clientCallRoutes, { ...parts, prefix: '/api' })
  await portal.register(userCallRoutes, { ...parts, prefix: '/api' })
  await portal.register(metadataRoutes, { ...parts, prefix: '/.well-known' })
  await portal.ready()
  return portal
}
