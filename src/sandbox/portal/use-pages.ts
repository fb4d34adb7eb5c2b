// Sets up a scope for the pages of the portal. The scope reads forms and cookies, and has the headers, templates and
// error pages.
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../services.ts'
import { readAsset } from '../web/assets.ts'
import { callsAssets } from '../web/calls-page.ts'
import { setPageHeaders } from '../web/page-headers.ts'
import { localTimes, registerViews, stylesheet } from '../web/views.ts'
import { showErrorPages } from './error-pages.ts'

const icon = readAsset('icon.svg')
const ownAssets = ['copy-buttons.js', 'show-passwords.js'].map(readAsset)

export async function usePages(
  scope: FastifyInstance,
  services: Pick<Services, 'addresses' | 'store' | 'clock'>,
): Promise<void> {
  scope.removeContentTypeParser('application/json')
  await scope.register(formbody)
  await scope.register(cookie)
  await registerViews(scope, { icon, assets: [stylesheet, localTimes, ...ownAssets, ...callsAssets] })
  scope.addHook('onRequest', async (_request, reply) => setPageHeaders(reply))
  showErrorPages(scope, services)
}
