// Refuses requests that a page of another site or origin makes the browser send. Otherwise an attacker's page could
// forge sign-ins and consents, or guess passwords.
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../observe/refusal.ts'

/**
 * Checks the Sec-Fetch-Site header, or the Origin header if the browser does not send Sec-Fetch-Site. If a request has
 * neither header, it is refused. The value `none` means that no page has sent the request. For example, a restarted
 * browser reloads a page that was the answer to a form. The value `same-site` is refused, because another port of this
 * host may belong to somebody else.
 */
export function refuseCrossSitePosts(portalUrl: string) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.method === 'GET' || request.method === 'HEAD') return
    const site = request.headers['sec-fetch-site']
    const isOwn =
      site === undefined ? request.headers.origin === portalUrl : ['none', 'same-origin'].includes(String(site))
    if (!isOwn) throw new Refusal('cross-site')
  }
}

/**
 * Checks the headers of a call. These are the same headers that refuseCrossSitePosts checks. Servers and scripts do not
 * send these headers, so a call without them is accepted. The value `none` means that a person has opened the address
 * directly.
 */
export function isFromOtherSite({ headers }: FastifyRequest, portalUrl: string): boolean {
  const { 'sec-fetch-site': site = 'none', origin = portalUrl } = headers
  return !['none', 'same-origin'].includes(String(site)) || origin !== portalUrl
}
