// Keeps other sites out: headers on every answer, no forged forms or logins, and no way on to an address elsewhere.
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { PublicError } from '../errors.ts'

type Addresses = { publicUrl: string; loginUrl: string }

export function securityHeaders({ publicUrl, loginUrl }: Addresses): Record<string, string> {
  const headers: Record<string, string> = {
    // Chromium applies form-action to where a form's answer redirects, too: a form may end at the login portal.
    'content-security-policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; object-src 'none'; base-uri 'none'; " +
      `frame-ancestors 'none'; form-action 'self' ${new URL(loginUrl).origin}`,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    // Not no-referrer: that makes browsers send "Origin: null" with our own forms.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  }
  // For this host alone, since other names below it are not ours to decide about.
  if (publicUrl.startsWith('https:')) headers['strict-transport-security'] = 'max-age=31536000'
  return headers
}

/**
 * Sets the headers before anything can go wrong, and refuses a request that may change something and comes from
 * elsewhere. The browser says so in Sec-Fetch-Site, or in Origin where it is too old for that (or the page is not on a
 * trustworthy origin). The Host header is no witness: the sender writes it. `same-site` is not enough, since a sibling's
 * pages send our Strict cookies along.
 */
export function guardRequests(publicUrl: string, headers: Record<string, string>): onRequestHookHandler {
  const { origin } = new URL(publicUrl)
  return (request, reply, done) => {
    reply.headers(headers)
    const changesNothing = request.method === 'GET' || request.method === 'HEAD' || request.is404
    if (changesNothing || isFromHere(request, request.headers.origin === origin)) return done()
    const message =
      'This form was not sent from a page of this site, so nothing was done. Please open the page here and try again.'
    done(new PublicError('cross_site_request', 403, message))
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
export const navigationsOnly: onRequestHookHandler = (request, _reply, done) => {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, 'sec-purpose': purpose } = request.headers
  const isNavigation = (mode ?? 'navigate') === 'navigate' && (dest ?? 'document') === 'document'
  if (isNavigation && !String(purpose ?? '').includes('prefetch')) return done()
  done(new PublicError('not_a_navigation', 403, 'Signing in works only in a window or tab of its own.'))
}

/** The browser keeps Strict cookies back on the way in from another site, though it may well have them. */
export function isFromAnotherSite(request: FastifyRequest): boolean {
  return request.headers['sec-fetch-site'] === 'cross-site' && (request.method === 'GET' || request.method === 'HEAD')
}

const longestPath = 200

/**
 * Where a visitor may be led back to: a path of this site as given, or undefined. Two independent checks, because
 * browsers drop tabs and turn backslashes: an allowed alphabet, and where the URL parser that browsers share would really
 * go. The result starts with exactly one slash.
 */
export function localPath(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(value)) return undefined
  const here = 'http://here.invalid'
  const url = URL.parse(value, here)
  if (!url || url.origin !== here || url.pathname.startsWith('//')) return undefined
  const path = url.pathname + url.search
  // Only now, because the parser spells some characters in three.
  return path.length <= longestPath ? path : undefined
}
