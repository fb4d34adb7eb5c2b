// Refuses requests that browsers send from another site or origin: forged sign-ins and consents, and guesses of passwords.
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../observe/refusal.ts'

/**
 * Checks Sec-Fetch-Site, or the Origin header if the browser does not send Sec-Fetch-Site. A request with none of these
 * headers is refused. `same-site` is also refused, because another port of this host may belong to somebody else.
 */
export function refuseCrossSitePosts(portalUrl: string) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.method === 'GET' || request.method === 'HEAD') return
    const site = request.headers['sec-fetch-site']
    const isOwn = site === undefined ? request.headers.origin === portalUrl : site === 'same-origin'
    if (!isOwn) throw new Refusal('cross-site')
  }
}

/**
 * For calls. Servers and scripts do not send these headers, so a call without them is accepted. `none` means that a person
 * has opened the address.
 */
export function isFromOtherSite({ headers }: FastifyRequest, portalUrl: string): boolean {
  const { 'sec-fetch-site': site = 'none', origin = portalUrl } = headers
  return !['none', 'same-origin'].includes(String(site)) || origin !== portalUrl
}
