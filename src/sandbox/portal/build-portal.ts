// Builds the login portal. This file lists every route of the portal's listener, in order. Pages, calls of clients and
// calls on a user's behalf have separate scopes, because their errors have different formats.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isLoginRequest } from '../grants/login-request.ts'
import { describeRoutes } from '../http/describe.ts'
import { healthRoutes, probeRouteOptions } from '../http/health.ts'
import { trackMethods } from '../http/method-not-allowed.ts'
import { createServer } from '../http/server.ts'
import { observeRequests, step } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { callsPageHandler } from '../web/calls-page.ts'
import { accessTokenRoutes } from './account/access-token.ts'
import { requireVisitor } from './account/account.ts'
import { allowedApplicationsRoutes, madePath } from './account/applications.ts'
import { groupRoutes } from './account/group.ts'
import { groupListRoutes } from './account/groups.ts'
import { passwordRoutes } from './account/password.ts'
import { profileRoutes } from './account/profile.ts'
import { authorizeRoutes } from './authorize.ts'
import { clientCallRoutes, isRenewal, useClientCalls } from './client-calls.ts'
import { answerConsent } from './consent.ts'
import { refuseCrossSitePosts } from './cross-site-guard.ts'
import { portalCallsPage, portalDescription } from './description.ts'
import { metadataRoutes } from './metadata.ts'
import { answerInOAuthDialect } from './oauth-errors.ts'
import * as operations from './operations.ts'
import { forgotPasswordRoutes, resetPasswordRoutes } from './reset-password.ts'
import { portalSchemas } from './schemas.ts'
import { signedOutPath, signInRoutes, signOutRoutes } from './sign-in.ts'
import { usePages } from './use-pages.ts'
import { userCallRoutes, useUserCalls } from './user-calls.ts'

/**
 * Because of `attachValidation`, Fastify checks the fields with the route's schema, but runs the handler even if a
 * field is wrong. The handler reports wrong fields in its own error format.
 */
function call(schema: object, kind: Parameters<typeof step>[0]) {
  return { schema, attachValidation: true, ...step(kind) }
}

/**
 * The schema of the route only documents the fields. The domain code checks them, because the portal's pages need the
 * same checks.
 */
function describedCall(schema: object, kind: Parameters<typeof step>[0]) {
  return { schema, validatorCompiler: () => () => true, ...step(kind) }
}

export async function buildPortal(services: Services): Promise<FastifyInstance> {
  const { logger, trustedProxies } = services
  const { portalUrl } = services.addresses
  const toBody = (_statusCode: number, message: string) => message
  const portal = createServer({ logger, toBody, dialect: 'oauth', trustedProxies })
  services.addFaults?.(portal, 'portal')
  observeRequests(portal, { ...services, listener: 'portal' })
  if (portalUrl.startsWith('https:'))
    portal.addHook('onRequest', async (_request, reply) => {
      // Leave out includeSubDomains, because subdomains of this host may belong to other people.
      reply.header('strict-transport-security', 'max-age=31536000')
    })

  const health = healthRoutes(services)
  portal.get('/health/live', probeRouteOptions, health.live)
  portal.get('/health/ready', probeRouteOptions, health.ready)

  await describeRoutes(portal, portalSchemas, portalDescription(services.addresses))

  await portal.register(async pages => {
    await usePages(pages, services)
    const refuseOtherMethods = trackMethods(pages)
    // Other sites send visitors to GET / and POST /, with a link, a redirect or a form. The cross-site guard does not
    // apply to these two routes, because they change nothing.
    const authorize = authorizeRoutes(services)
    // A request may have none of the parameters of a login, because a person typed the address, or because a client
    // forgot the parameters.
    const kindOfStart = ({ query }: FastifyRequest) =>
      isLoginRequest(query as Record<string, unknown>) ? 'authorize' : 'page'
    pages.get('/', describedCall(operations.startLoginCall, kindOfStart), authorize.show)
    pages.post('/', authorize.takeForm)
    await pages.register(async ownForms => {
      ownForms.addHook('onRequest', refuseCrossSitePosts(portalUrl))
      const { signIn, signUp } = signInRoutes(services)
      ownForms.post('/sign-in', step('sign-in'), signIn)
      ownForms.post('/sign-up', step('sign-up'), signUp)
      // Browsers send forms to these addresses with POST. If a visitor opens one of these addresses again, the browser
      // sends a GET.
      ownForms.get('/sign-in', redirectTo('/account'))
      ownForms.get('/sign-up', redirectTo('/account'))
      ownForms.post('/consent', step('consent'), answerConsent(services))
      const signOut = signOutRoutes(services)
      ownForms.get('/sign-out', signOut.show)
      ownForms.post('/sign-out', signOut.signOut)
      ownForms.get(signedOutPath, signOut.showSignedOut)
      const forgotten = forgotPasswordRoutes(services)
      ownForms.get('/forgot-password', forgotten.show)
      ownForms.post('/forgot-password', forgotten.send)
      const reset = resetPasswordRoutes(services)
      ownForms.get('/reset-password', reset.show)
      ownForms.post('/reset-password', reset.reset)
      ownForms.get(
        '/api/docs',
        callsPageHandler(portalCallsPage(services.addresses), () => portal.swagger()),
      )
      ownForms.get('/api/openapi.json', async () => portal.swagger())
      ownForms.get('/terms', show('terms', { title: 'Terms', width: 'middle' }))
      await ownForms.register(async account => accountRoutes(account, services))
    })
    refuseOtherMethods()
  })

  await portal.register(
    async clientCalls => {
      await useClientCalls(clientCalls, services)
      const refuseOtherMethods = trackMethods(clientCalls)
      const { exchange, revoke } = clientCallRoutes(services)
      const kindOfGrant = ({ body }: FastifyRequest) => (isRenewal(body) ? 'refresh' : 'exchange')
      clientCalls.post('/exchangeToken', call(operations.exchangeTokenCall, kindOfGrant), exchange)
      clientCalls.post('/revokeToken', call(operations.revokeTokenCall, 'revoke'), revoke)
      refuseOtherMethods()
    },
    { prefix: '/api' },
  )

  await portal.register(
    async userCalls => {
      await useUserCalls(userCalls, services)
      const refuseOtherMethods = trackMethods(userCalls)
      const { showMe, register, logIn, allow } = userCallRoutes(services)
      userCalls.get('/me', call(operations.meCall, 'me'), showMe)
      userCalls.post('/register', describedCall(operations.registerCall, 'sign-up'), register)
      userCalls.post('/authorize', call(operations.authorizeCall, 'sign-in'), logIn)
      userCalls.post('/authorizeApplication', call(operations.authorizeApplicationCall, 'consent'), allow)
      refuseOtherMethods()
    },
    { prefix: '/api' },
  )

  await portal.register(
    async wellKnown => {
      wellKnown.addHook('onRequest', async (_request, reply) => {
        // These headers are for errors. If browsers are allowed to cache an answer, its handler sets its own
        // cache-control header.
        reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      })
      answerInOAuthDialect(wellKnown)
      const refuseOtherMethods = trackMethods(wellKnown)
      const metadata = metadataRoutes(services)
      wellKnown.get('/oauth-authorization-server', call(operations.metadataCall, 'metadata'), metadata.describe)
      wellKnown.get('/jwks.json', call(operations.keysCall, 'metadata'), metadata.listKeys)
      refuseOtherMethods()
    },
    { prefix: '/.well-known' },
  )

  await portal.ready()
  return portal
}

/**
 * Adds the portal's own pages for a signed-in user. If the visitor has no session, each address shows the sign-in page.
 */
function accountRoutes(account: FastifyInstance, services: Services): void {
  requireVisitor(account, services)
  const profile = profileRoutes(services)
  account.get('/account', profile.show)
  account.get('/account/sign-out-everywhere', profile.askToEndEverywhere)
  account.post('/account', profile.endEverywhere)
  const password = passwordRoutes(services)
  account.get('/account/password', password.show)
  account.post('/account/password', password.change)

  const groups = groupListRoutes(services)
  account.get('/account/groups', groups.list)
  account.post('/account/groups', groups.create)
  account.post('/account/invitations', groups.answerInvitation)
  const group = groupRoutes(services)
  account.get('/account/groups/:group_id', group.show)
  account.post('/account/groups/:group_id', group.change)
  account.get('/account/groups/:group_id/leave', group.askToLeave)
  account.get('/account/groups/:group_id/members/:user_id/remove', group.askToRemove)

  const accessToken = accessTokenRoutes(services)
  account.get('/account/token', accessToken.show)
  account.post('/account/token', accessToken.make)
  account.get('/account/token/:token_id/revoke', accessToken.askToRevokeOne)
  account.get('/account/token/revoke-all', accessToken.askToRevokeAll)
  account.post('/account/token/revoke', accessToken.revoke)

  const allowed = allowedApplicationsRoutes(services)
  account.get('/account/applications', allowed.show)
  account.get('/account/applications/:client_id/withdraw', allowed.askToWithdraw)
  account.post('/account/applications', allowed.withdraw)
  account.post('/account/applications/renew', allowed.renewSecret)
  account.get('/account/applications/remove', allowed.confirmRemoval)
  account.post('/account/applications/remove', allowed.remove)

  // If a visitor sends a form after the session has ended, the sign-in page leads back to the address of the form, with
  // a GET.
  account.get('/account/invitations', redirectTo('/account/groups'))
  account.get('/account/token/revoke', redirectTo('/account/token'))
  account.get('/account/applications/renew', redirectTo(madePath))
}

function redirectTo(path: string) {
  return async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect(path, 303)
}

/** Makes a handler for a page that is always the same. */
function show(page: string, data: { title: string; width?: string }) {
  return async (_request: FastifyRequest, reply: FastifyReply) => reply.viewAsync(page, data)
}
