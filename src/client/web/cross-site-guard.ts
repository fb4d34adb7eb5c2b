// Refuses what another site makes the browser send: forged forms, and logins begun in frames or by prefetchers.
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { PublicError } from '../errors.ts'

/**
 * Every request that may change something must come from a page of ours. The browser says so in Sec-Fetch-Site, or in
 * Origin where it is too old for that (or the page is not on a trustworthy origin). The Host header is no witness: the
 * sender writes it. `same-site` is not enough, since a sibling's pages send our Strict cookies along.
 */
export function crossSiteGuard(publicUrl: string): onRequestHookHandler {
  const { origin } = new URL(publicUrl)
  return async request => {
    if (request.method === 'GET' || request.method === 'HEAD' || request.is404) return
    if (isFromHere(request, request.headers.origin === origin)) return
    throw new PublicError(
      'cross_site_request',
      403,
      'This form was not sent from a page of this site, so nothing was done. Please open the page here and try again.',
    )
  }
}

/** Whether the visitor came from a page of ours, or typed the address: no other site has led here. `here`: a URL of ours. */
export function isVisitorsChoice(request: FastifyRequest, here: string): boolean {
  return isFromHere(request, URL.parse(request.headers.referer ?? '')?.origin === new URL(here).origin)
}

/** `orElse` is for browsers that do not say. */
function isFromHere(request: FastifyRequest, orElse: boolean): boolean {
  const site = request.headers['sec-fetch-site']
  return site === undefined ? orElse : site === 'same-origin' || site === 'none'
}

/** For /login and /exchangeToken: only a person who goes there may begin or finish a login. */
export const navigationsOnly: onRequestHookHandler = async request => {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, 'sec-purpose': purpose } = request.headers
  const isNavigation = (mode ?? 'navigate') === 'navigate' && (dest ?? 'document') === 'document'
  if (isNavigation && !String(purpose ?? '').includes('prefetch')) return
  throw new PublicError('not_a_navigation', 403, 'Signing in works only in a window or tab of its own.')
}

/** The browser keeps Strict cookies back on the way in from another site, though it may well have them. */
export function isFromAnotherSite(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-site'] === 'cross-site' && (request.method === 'GET' || request.method === 'HEAD')
}
