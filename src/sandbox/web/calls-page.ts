// The page that tells developers how to make the calls. It works without scripts.
import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenApi } from '../http/openapi-types.ts'
import { readAsset } from './assets.ts'
import { showPage } from './page-headers.ts'
import { describeCalls, type Reference, type Samples } from './reference.ts'

/** Pass these files to registerViews in the scope that shows the page. */
export const callsAssets = [readAsset('calls.css')]

interface CallsPage {
  title: string
  brand?: string
  about: string
  /** A link back to the page from which developers come, if there is one. */
  home?: { href: string; label: string }
  /** The address at which a person gets an access token. */
  tokenUrl: string
  /** The variables of the example commands, except TOKEN. `is` says which value the variable needs. */
  variables: { name: string; is: string }[]
  /** The body of an error, as an example. */
  errorExample: object
  errorHelp: string
  samples: Samples
  /** Links to other documents. */
  links: { href: string; label: string }[]
}

export function callsPageHandler({ samples, errorExample, ...page }: CallsPage, readDocument: () => unknown) {
  let reference: Reference | undefined
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    // The document is complete only after every route was added.
    reference ??= describeCalls(readDocument() as OpenApi, samples)
    return showPage(reply, 'calls', {
      ...page,
      ...reference,
      errorExample: JSON.stringify(errorExample, null, 2),
      statusWords: STATUS_CODES,
      width: 'reference',
      stylesheets: ['calls.css'],
      scripts: ['copy-buttons.js'],
    })
  }
}
