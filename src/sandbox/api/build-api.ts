// The application API: every route of its listener, by hand and in order, with one dialect of errors.
import type { FastifyInstance } from 'fastify'
import { describeRoutes } from '../http/describe.ts'
import { healthRoutes, logFaultsOnly } from '../http/health.ts'
import { trackMethods } from '../http/method-not-allowed.ts'
import { createServer } from '../http/server.ts'
import { observeRequests } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { readAsset } from '../web/assets.ts'
import { callsAssets, showCallsPage } from '../web/calls-page.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { registerViews, stylesheet } from '../web/views.ts'
import { ApiError, answerInApiDialect, toErrorBody } from './api-error.ts'
import { applicationRoutes } from './applications.ts'
import { callsPageOf, descriptionOf, descriptionRoutes } from './descriptions.ts'
import { groupRoutes } from './groups.ts'
import { showHome } from './home-page.ts'
import { readJsonBodies } from './json-body.ts'
import * as operations from './operations.ts'
import { refusalToRemove } from './remove-application.ts'
import { requireToken, whoMay } from './require-token.ts'
import { schemas } from './schemas.ts'

const exposeHeadRoute = true

const icon = readAsset('api-icon.svg')

/** Reading is all that an application's own token is for. */
const anyToken = whoMay({ kinds: ['portal', 'client', 'application'] })
const usersAlone = whoMay()
const toRemove = whoMay({ refusal: refusalToRemove })
// Who is in a group is for its people to say, on the portal's page or with a token from there: a client to which they
// signed in cannot bring anybody in.
const portalTokensOnly = whoMay({
  kinds: ['portal'],
  refusal: () => "Permission denied. Use an access token that the portal's own page gave.",
})

export async function buildApi(parts: Services): Promise<FastifyInstance> {
  const api = createServer(parts.logger, toErrorBody)
  parts.atEdge?.(api, 'api')
  observeRequests(api, { ...parts, listener: 'api' })

  const health = healthRoutes(parts)
  api.get('/health/live', logFaultsOnly, health.live)
  api.get('/health/ready', logFaultsOnly, health.ready)

  await api.register(async scope => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    })
    answerInApiDialect(scope)
    readJsonBodies(scope)
    await describeRoutes(scope, schemas, descriptionOf(parts.addresses))
    const refuseOtherMethods = trackMethods(scope)

    await scope.register(async pages => {
      await registerViews(pages, { icon, assets: [stylesheet, ...callsAssets] })
      pages.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
      pages.get('/', { exposeHeadRoute }, showHome(parts.addresses))
      pages.get('/apps/v1/docs', { exposeHeadRoute }, showCallsPage(callsPageOf(parts.addresses)))
    })

    // Without a token: tools that read descriptions have none.
    const descriptions = await descriptionRoutes(scope, parts.addresses)
    scope.get('/apps/v1/openapi.json', { exposeHeadRoute }, descriptions.showOpenApi)
    scope.get('/apps/v1/api.raml', { exposeHeadRoute }, descriptions.showRaml)

    await scope.register(async signedIn => {
      requireToken(signedIn, parts)
      const applications = applicationRoutes(parts)
      signedIn.get(
        '/apps/v1',
        { schema: operations.listApplications, config: anyToken, exposeHeadRoute },
        applications.list,
      )
      signedIn.post('/apps/v1', { schema: operations.createApplication, config: usersAlone }, applications.create)
      const one = '/apps/v1/:app_id'
      signedIn.get(one, { schema: operations.getApplication, config: anyToken, exposeHeadRoute }, applications.show)
      signedIn.put(one, { schema: operations.updateApplication, config: usersAlone }, applications.update)
      signedIn.delete(one, { schema: operations.removeApplication, config: toRemove }, applications.remove)
      signedIn.post(
        `${one}/refreshSecret`,
        { schema: operations.refreshSecret, config: usersAlone },
        applications.renewSecret,
      )

      const groups = groupRoutes(parts)
      const link = '/identities/v1/:user_id/link/:group_id'
      signedIn.post('/identities/v1', { schema: operations.createGroup, config: usersAlone }, groups.create)
      signedIn.post(link, { schema: operations.linkUser, config: portalTokensOnly }, groups.link)
      signedIn.delete(link, { schema: operations.unlinkUser, config: portalTokensOnly }, groups.unlink)
      signedIn.get(
        '/identities/v1/:user_id/links',
        { schema: operations.listMemberships, config: usersAlone, exposeHeadRoute },
        groups.listOwn,
      )
    })
    refuseOtherMethods(() => {
      throw new ApiError(405, 'Method Not Allowed')
    })
  })
  await api.ready()
  return api
}
