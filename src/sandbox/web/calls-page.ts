// A page on which people read an OpenAPI document and try its calls: Swagger UI, from files of our own, inside our layout.
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readAsset } from './assets.ts'
import { setPageHeaders } from './page-headers.ts'

/** For registerViews, in the scope that shows the page. */
export const callsAssets = [
  fileURLToPath(import.meta.resolve('@fastify/swagger-ui/static/swagger-ui.css')),
  fileURLToPath(import.meta.resolve('@fastify/swagger-ui/static/swagger-ui-bundle.js')),
  'calls.css',
  'calls.js',
].map(readAsset)

interface CallsPage {
  title: string
  brand?: string
  about: string
  /** The path of the document, on the origin of the page: calls go there, wherever it says it is served. */
  documentPath: string
  /** Where an access token is got, if the calls need one. */
  tokenUrl?: string
  /** Whether the examples have the ids of the authorized user. This needs the calls of the application API. */
  hasOwnExamples?: boolean
  /** Other things to read. */
  links: { href: string; label: string }[]
}

export function showCallsPage(page: CallsPage) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    setPageHeaders(reply, { hasScript: true, makesCalls: true })
    return reply.viewAsync('calls', {
      ...page,
      isWide: true,
      stylesheets: ['swagger-ui.css', 'calls.css'],
      scripts: ['swagger-ui-bundle.js', 'calls.js'],
    })
  }
}
