// The login portal: every route of its listener, by hand and in order, in scopes that share only the store.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { healthRoutes, logFaultsOnly } from '../http/health.ts'
import { trackMethods } from '../http/method-not-allowed.ts'
import { createServer } from '../http/server.ts'
import { observeRequests, step } from '../observe/observe.ts'
import type { Services } from '../services.ts'
import { showCallsPage } from '../web/calls-page.ts'
import { accessTokenRoutes } from './account/access-token-page.ts'
import { allowedApplicationsRoutes } from './account/allowed-applications-page.ts'
import { groupRoutes } from './account/groups.ts'
import { madeByClientsRoutes } from './account/made-by-clients-pages.ts'
import { passwordRoutes } from './account/password-page.ts'
import { profileRoutes } from './account/profile-page.ts'
import { requireVisitor } from './account/require-visitor.ts'
import { authorizeRoutes } from './authorize.ts'
import { answerConsent } from './consent.ts'
import { refuseCrossSitePosts } from './cross-site-guard.ts'
import { callsPageOf, describePortalCalls } from './description.ts'
import { PageError } from './error-pages.ts'
import { exchangeToken, isRenewal } from './exchange-token.ts'
import { forgotPasswordRoutes } from './forgot-password.ts'
import { isLoginRequest } from './login-request.ts'
import { metadataRoutes } from './metadata.ts'
import { answerInOAuthDialect, OAuthError } from './oauth-error.ts'
import { resetPasswordRoutes } from './reset-password.ts'
import { revokeToken } from './revoke-token.ts'
import { signIn } from './sign-in.ts'
import { signedOutPath, signOutRoutes } from './sign-out.ts'
import { signUp } from './sign-up.ts'
import { useClientCalls } from './use-client-calls.ts'
import { usePages } from './use-pages.ts'
import { allowApplication } from './user-calls/allow-application.ts'
import { logIn } from './user-calls/log-in.ts'
import { showMe } from './user-calls/me.ts'
import { register } from './user-calls/register.ts'
import { useUserCalls } from './user-calls/use-user-calls.ts'
import { UserCallError } from './user-calls/user-call-error.ts'

export async function buildPortal(parts: Services): Promise<FastifyInstance> {
  const { portalUrl } = parts.addresses
  const portal = createServer(parts.logger, (_statusCode, message) => message)
  parts.atEdge?.(portal, 'portal')
  observeRequests(portal, { ...parts, listener: 'portal' })
  if (portalUrl.startsWith('https:'))
    portal.addHook('onRequest', async (_request, reply) => {
      // For this host alone: other names below it are not ours to decide about.
      reply.header('strict-transport-security', 'max-age=31536000')
    })

  const health = healthRoutes(parts)
  portal.get('/health/live', logFaultsOnly, health.live)
  portal.get('/health/ready', logFaultsOnly, health.ready)

  await portal.register(async pages => {
    await usePages(pages, parts)
    const refuseOtherMethods = trackMethods(pages)
    // The one page that other sites send visitors to, also by form; it changes nothing.
    const authorize = authorizeRoutes(parts)
    // A start without any parameter comes from somebody who typed the address, or from a client that sends none.
    const kindOfStart = step(({ query }) => (isLoginRequest(query as Record<string, unknown>) ? 'authorize' : 'page'))
    pages.get('/', kindOfStart, authorize.show)
    pages.post('/', authorize.takeForm)
    await pages.register(async ownForms => {
      ownForms.addHook('onRequest', refuseCrossSitePosts(portalUrl))
      ownForms.post('/sign-in', step('sign-in'), signIn(parts))
      ownForms.post('/sign-up', step('sign-up'), signUp(parts))
      // A reload of the page that answered the form lands here.
      ownForms.get('/sign-in', redirectTo('/account'))
      ownForms.get('/sign-up', redirectTo('/account'))
      ownForms.post('/consent', step('consent'), answerConsent(parts))
      const signOut = signOutRoutes(parts)
      ownForms.get('/sign-out', signOut.show)
      ownForms.post('/sign-out', signOut.signOut)
      ownForms.get(signedOutPath, signOut.showSignedOut)
      const forgotten = forgotPasswordRoutes(parts)
      ownForms.get('/forgot-password', forgotten.show)
      ownForms.post('/forgot-password', forgotten.send)
      const reset = resetPasswordRoutes(parts)
      ownForms.get('/reset-password', reset.show)
      ownForms.post('/reset-password', reset.reset)
      ownForms.get('/api/docs', showCallsPage(callsPageOf(parts.addresses)))
      ownForms.get('/api/openapi.json', async () => describePortalCalls(parts.addresses))
      ownForms.get('/terms', show('terms', 'Terms'))
      await ownForms.register(async account => accountRoutes(account, parts))
    })
    refuseOtherMethods(() => {
      throw new PageError(405, 'This page cannot be opened like this.')
    })
  })

  await portal.register(
    async clientCalls => {
      await useClientCalls(clientCalls, parts)
      const refuseOtherMethods = trackMethods(clientCalls)
      const kindOfGrant = step(({ body }) => (isRenewal(body) ? 'refresh' : 'exchange'))
      clientCalls.post('/exchangeToken', kindOfGrant, exchangeToken(parts))
      clientCalls.post('/revokeToken', step('revoke'), revokeToken(parts))
      refuseOtherMethods(() => {
        throw new OAuthError(405, 'invalid_request', 'This address takes another method; see the Allow header.')
      })
    },
    { prefix: '/api' },
  )

  await portal.register(
    async userCalls => {
      await useUserCalls(userCalls, portalUrl)
      const refuseOtherMethods = trackMethods(userCalls)
      userCalls.get('/me', step('me'), showMe(parts))
      userCalls.post('/register', step('sign-up'), register(parts))
      userCalls.post('/authorize', step('sign-in'), logIn(parts))
      userCalls.post('/authorizeApplication', step('consent'), allowApplication(parts))
      refuseOtherMethods(() => {
        throw new UserCallError(405, { message: 'This address takes another method; see the Allow header.' })
      })
    },
    { prefix: '/api' },
  )

  await portal.register(
    async wellKnown => {
      wellKnown.addHook('onRequest', async (_request, reply) => {
        // For the errors; what may be kept says so itself.
        reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      })
      answerInOAuthDialect(wellKnown)
      const refuseOtherMethods = trackMethods(wellKnown)
      const metadata = metadataRoutes(parts)
      wellKnown.get('/oauth-authorization-server', step('metadata'), metadata.describe)
      wellKnown.get('/jwks.json', step('metadata'), metadata.listKeys)
      refuseOtherMethods(() => {
        throw new OAuthError(405, 'invalid_request', 'This address takes GET only.')
      })
    },
    { prefix: '/.well-known' },
  )

  await portal.ready()
  return portal
}

/** The portal's own pages for a signed-in user; without a session each of them is the page to sign in. */
function accountRoutes(account: FastifyInstance, parts: Services): void {
  requireVisitor(account, parts)
  const profile = profileRoutes(parts)
  account.get('/account', profile.show)
  account.post('/account', profile.endEverywhere)
  const password = passwordRoutes(parts)
  account.get('/account/password', password.show)
  account.post('/account/password', password.change)

  const groups = groupRoutes(parts)
  account.get('/account/groups', groups.list)
  account.post('/account/groups', groups.create)
  account.post('/account/invitations', groups.answerInvitation)
  account.get('/account/groups/:group_id', groups.show)
  account.post('/account/groups/:group_id', groups.change)

  const accessToken = accessTokenRoutes(parts)
  account.get('/account/token', accessToken.show)
  account.post('/account/token', accessToken.make)
  account.post('/account/token/end', accessToken.endAll)

  const allowed = allowedApplicationsRoutes(parts)
  account.get('/account/applications', allowed.show)
  account.post('/account/applications', allowed.withdraw)
  const made = madeByClientsRoutes(parts)
  account.post('/account/applications/renew', made.renewSecret)
  account.get('/account/applications/remove', made.confirmRemoval)
  account.post('/account/applications/remove', made.remove)

  // A form sent after the session ended leads back to its own address.
  account.get('/account/invitations', redirectTo('/account/groups'))
  account.get('/account/token/end', redirectTo('/account/token'))
  account.get('/account/applications/renew', redirectTo('/account/applications#made'))
}

function redirectTo(path: string) {
  return async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect(path, 303)
}

/** For a page that is always the same. */
function show(page: string, title: string) {
  return async (_request: FastifyRequest, reply: FastifyReply) => reply.viewAsync(page, { title })
}
