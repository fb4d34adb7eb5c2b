// Refuses what browsers send from another site or origin: a forged sign-in, a consent nobody gave, guesses at a password.
import type { FastifyRequest } from 'fastify'
import { Refusal } from '../observe/refusal.ts'

/**
 * Sec-Fetch-Site where the browser sends it, the Origin where it does not; with neither there is no telling, and the
 * request is refused. `same-site` is refused too: another port of this host is another party.
 */
export function refuseCrossSitePosts(portalUrl: string) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.method === 'GET' || request.method === 'HEAD') return
    const site = request.headers['sec-fetch-site']
    const isOwn = site === undefined ? request.headers.origin === portalUrl : site === 'same-origin'
    if (!isOwn) throw new Refusal('cross-site')
  }
}

/** For calls: servers and scripts send neither header. `none` is what somebody opened by hand. */
export function isFromOtherSite({ headers }: FastifyRequest, portalUrl: string): boolean {
  const { 'sec-fetch-site': site = 'none', origin = portalUrl } = headers
  return !['none', 'same-origin'].includes(String(site)) || origin !== portalUrl
}
