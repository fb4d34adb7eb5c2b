// Everything of the portal that a browser sees: headers, guard, error pages, and the list of pages.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import { trackMethods } from '../method-not-allowed.ts'
import type { Parts } from '../parts.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { registerViews } from '../web/views.ts'
import { accountPages } from './account/account-pages.ts'
import { authorizePage } from './authorize.ts'
import { consentPage } from './consent.ts'
import { refuseCrossSitePosts } from './cross-site-guard.ts'
import { PageError, showErrorPages } from './error-pages.ts'
import { signInPage } from './sign-in.ts'
import { signOutPage } from './sign-out.ts'
import { signUpPage } from './sign-up.ts'
import { termsPage } from './terms.ts'

export async function pageRoutes(scope: FastifyInstance, parts: Parts): Promise<void> {
  scope.removeContentTypeParser('application/json')
  await scope.register(formbody)
  await scope.register(cookie)
  await registerViews(scope)
  scope.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
  showErrorPages(scope, parts)

  const refuseOtherMethods = trackMethods(scope)
  // The one page that other sites send visitors to, also by form; it changes nothing.
  authorizePage(scope, parts)
  await scope.register(ownForms, parts)
  refuseOtherMethods(() => {
    throw new PageError(405, 'This address does not work that way.')
  })
}

async function ownForms(scope: FastifyInstance, parts: Parts): Promise<void> {
  scope.addHook('onRequest', refuseCrossSitePosts(parts.addresses.portalUrl))
  signInPage(scope, parts)
  signUpPage(scope, parts)
  consentPage(scope, parts)
  signOutPage(scope, parts)
  termsPage(scope)
  await scope.register(accountPages, parts)
}
