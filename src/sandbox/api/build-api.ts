// Builds the application API. This file lists every route of the API's listener, in order. All errors have the same
// form.
import type { FastifyInstance } from 'fastify'
import { describeRoutes } from '../http/describe.ts'
import { healthRoutes, probeRouteOptions } from '../http/health.ts'
import { trackMethods } from '../http/method-not-allowed.ts'
import { createServer } from '../http/server.ts'
import { observeRequests } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { readAsset } from '../web/assets.ts'
import { callsAssets, callsPageHandler } from '../web/calls-page.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { registerViews, stylesheet } from '../web/views.ts'
import { answerInApiDialect, refusalToRemove, toErrorBody } from './api-error.ts'
import { applicationRoutes } from './applications.ts'
import { readJsonBodies } from './body.ts'
import { apiDescription, descriptionRoutes } from './descriptions.ts'
import { groupRoutes } from './groups.ts'
import * as operations from './operations.ts'
import { apiCallsPage, homeHandler } from './pages.ts'
import { acceptTokens, requireToken } from './require-token.ts'
import { apiSchemas } from './schemas.ts'

const icon = readAsset('api-icon.svg')
const copyButtons = readAsset('copy-buttons.js')

/** An application's own token can only read. */
const anyToken = acceptTokens({ kinds: ['portal', 'client', 'application'] })
const onlyUsers = acceptTokens()
/** Accepts the same tokens as onlyUsers, but refuses all other tokens with a different message. */
const onlyUsersRemove = acceptTokens({ refusal: refusalToRemove })
// A person can change the members of a group in two ways: on the portal's page, or with a token from that page. A
// client must not change the members with the token that it gets at a login.
const portalTokensOnly = acceptTokens({
  kinds: ['portal'],
  refusal: () => "Permission denied. Use an access token from the portal's own page.",
})

/**
 * Because of `attachValidation`, Fastify checks the fields, but runs the handler even if a field is wrong. The handler
 * first checks the caller's rights, and then reads the result of Fastify's check.
 */
function route(schema: object, config = onlyUsers) {
  return { schema, config, attachValidation: true }
}

export async function buildApi(services: Services): Promise<FastifyInstance> {
  const { logger } = services
  const api = createServer({ logger, toBody: toErrorBody, dialect: 'api', exposeHeadRoutes: true })
  services.addFaults?.(api, 'api')
  observeRequests(api, { ...services, listener: 'api' })

  const health = healthRoutes(services)
  api.get('/health/live', probeRouteOptions, health.live)
  api.get('/health/ready', probeRouteOptions, health.ready)

  await api.register(async scope => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    })
    answerInApiDialect(scope)
    readJsonBodies(scope)
    await describeRoutes(scope, apiSchemas, apiDescription(services.addresses))
    const refuseOtherMethods = trackMethods(scope)

    await scope.register(async pages => {
      await registerViews(pages, { icon, assets: [stylesheet, copyButtons, ...callsAssets] })
      pages.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
      pages.get('/', homeHandler(services.addresses))
      pages.get(
        '/apps/v1/docs',
        callsPageHandler(apiCallsPage(services.addresses), () => scope.swagger()),
      )
    })

    // These routes need no token, because tools that read API descriptions have no token.
    const descriptions = descriptionRoutes(scope)
    scope.get('/apps/v1/openapi.json', descriptions.showOpenApi)
    scope.get('/apps/v1/api.raml', descriptions.showRaml)

    await scope.register(async signedIn => {
      requireToken(signedIn, services)
      const applications = applicationRoutes(services)
      const one = '/apps/v1/:app_id'
      signedIn.get('/apps/v1', route(operations.listApplicationsCall, anyToken), applications.list)
      signedIn.post('/apps/v1', route(operations.createApplicationCall), applications.create)
      signedIn.get(one, route(operations.getApplicationCall, anyToken), applications.show)
      signedIn.put(one, route(operations.updateApplicationCall), applications.update)
      signedIn.delete(one, route(operations.removeApplicationCall, onlyUsersRemove), applications.remove)
      signedIn.post(`${one}/refreshSecret`, route(operations.refreshSecretCall), applications.renewSecret)

      const groups = groupRoutes(services)
      const link = '/identities/v1/:user_id/link/:group_id'
      signedIn.post('/identities/v1', route(operations.createGroupCall), groups.create)
      signedIn.post(link, route(operations.linkUserCall, portalTokensOnly), groups.link)
      signedIn.delete(link, route(operations.unlinkUserCall, portalTokensOnly), groups.unlink)
      signedIn.get('/identities/v1/:user_id/links', route(operations.listMembershipsCall), groups.listOwn)
    })
    refuseOtherMethods()
  })
  await api.ready()
  return api
}
