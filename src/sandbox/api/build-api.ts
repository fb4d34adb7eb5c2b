// The application API: routes behind a bearer token, one dialect of errors.
import type { FastifyInstance } from 'fastify'
import { healthRoutes } from '../health.ts'
import { trackMethods } from '../method-not-allowed.ts'
import type { Parts } from '../parts.ts'
import { createServer } from '../server.ts'
import { ApiError, answerInApiDialect, toErrorBody } from './api-error.ts'
import { applicationRoutes } from './applications.ts'
import { describeRoutes, descriptionRoutes } from './descriptions.ts'
import { groupRoutes } from './groups.ts'
import { homePage } from './home-page.ts'
import { readJsonBodies } from './json-body.ts'
import { requireToken } from './require-token.ts'
import { schemas } from './schemas.ts'

export async function buildApi(parts: Parts): Promise<FastifyInstance> {
  const api = createServer(parts.logger, toErrorBody)
  await api.register(healthRoutes, { probe: parts.probe, isStopping: parts.isStopping })
  await api.register(apiRoutes, parts)
  await api.ready()
  return api
}

async function apiRoutes(scope: FastifyInstance, parts: Parts): Promise<void> {
  // The schemas of the routes describe; the checks themselves are by hand, because the answers have a dialect of their own.
  scope.setValidatorCompiler(() => () => true)
  scope.setSerializerCompiler(() => data => JSON.stringify(data))
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  })
  for (const [name, schema] of Object.entries(schemas)) scope.addSchema({ $id: name, ...schema })
  answerInApiDialect(scope)
  readJsonBodies(scope)

  await describeRoutes(scope, parts)
  const refuseOtherMethods = trackMethods(scope)
  await scope.register(homePage, parts)
  await scope.register(descriptionRoutes, parts)
  await scope.register(async tokenScope => {
    requireToken(tokenScope, parts)
    applicationRoutes(tokenScope, parts)
    groupRoutes(tokenScope, parts)
  })
  refuseOtherMethods(() => {
    throw new ApiError(405, 'Method Not Allowed')
  })
}
