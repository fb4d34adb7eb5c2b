// Protects against other sites: security headers, the cross-site guard, and the check of local paths.
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { PublicError } from '../errors.ts'

/** The headers of every answer. `loginUrl` is the portal's public address. */
export function securityHeaders(config: { publicUrl: string; loginUrl: string }): Record<string, string> {
  const headers: Record<string, string> = {
    // After a form was sent, the client may redirect to the portal. Chromium also applies form-action to this redirect.
    'content-security-policy':
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; object-src 'none'; " +
      `base-uri 'none'; frame-ancestors 'none'; form-action 'self' ${new URL(config.loginUrl).origin}`,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    // With no-referrer, browsers would send "Origin: null" with the forms of this site.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  }
  // The header does not contain includeSubDomains, because subdomains of this host may not support https.
  if (config.publicUrl.startsWith('https:')) headers['strict-transport-security'] = 'max-age=31536000'
  return headers
}

/**
 * The cross-site guard. This hook sets the security headers. If a request with an unsafe method does not come from a
 * page of this origin, the hook refuses it. The type of the body does not matter. The hook also refuses requests
 * without a Host header.
 *
 * Browsers say in Sec-Fetch-Site whether the request comes from this origin. Old browsers do not send this header. If
 * the address begins with http://, browsers send the header only to loopback addresses. Without the header, the hook
 * checks Origin. The hook also refuses `same-site`, because requests from a page on a sibling host contain our Strict
 * cookies. The hook does not use the Host header, because the sender chooses its value.
 */
export function guardRequests(publicUrl: string, headers: Record<string, string>): onRequestHookHandler {
  const { origin } = new URL(publicUrl)
  return (request, reply, done) => {
    reply.headers(headers)
    // RFC 9112 3.2. HTTP/1.0 has no Host.
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      return done(new PublicError('bad_request', 400, texts => texts.web.errors.byStatus[400]!))
    const isSafe = request.method === 'GET' || request.method === 'HEAD' || request.is404
    if (isSafe || isFromThisSite(request, request.headers.origin === origin)) return done()
    done(new PublicError('cross_site_request', 403, texts => texts.web.errors.fromAnotherSite))
  }
}

/** True if the visitor followed a link on this site or typed the address. `ownUrl` is any URL of this site. */
export function isOwnNavigation(request: FastifyRequest, ownUrl: string): boolean {
  return isFromThisSite(request, URL.parse(request.headers.referer ?? '')?.origin === new URL(ownUrl).origin)
}

/** If the browser does not send Sec-Fetch-Site, the result is `fallback`. */
function isFromThisSite(request: FastifyRequest, fallback: boolean): boolean {
  const site = request.headers['sec-fetch-site']
  return site === undefined ? fallback : site === 'same-origin' || site === 'none'
}

/**
 * The hook for /login and /exchangeToken. These routes accept only navigations, and refuse frames, scripts and
 * prefetching.
 */
export const navigationsOnly: onRequestHookHandler = (request, _reply, done) => {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = request.headers
  const isNavigation = (mode ?? 'navigate') === 'navigate' && (dest ?? 'document') === 'document'
  if (isNavigation && !isPrefetch(request)) return done()
  done(new PublicError('not_a_navigation', 403, texts => texts.web.errors.needsOwnTab))
}

/** Whether the browser loads the page in advance. The visitor may never open this page. */
export function isPrefetch({ headers }: FastifyRequest): boolean {
  return String(headers['sec-purpose'] ?? '').includes('prefetch')
}

/** The limit for the path that a login leads to, because the login cookie contains this path. */
const maxReturnToLength = 200
/** The limit for a link to the address of the current request. */
export const maxLinkLength = 4_000

/**
 * Returns the value as a path of this site, for example for `returnTo`. The result starts with exactly one slash.
 * Returns undefined if the value could lead to another site.
 *
 * The first check allows only some characters, because browsers drop tabs and treat backslashes as slashes. The second
 * check parses the value as a browser does, and refuses it if the result has another origin.
 */
export function localPath(value: unknown, maxLength = maxReturnToLength): string | undefined {
  if (typeof value !== 'string') return undefined
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(value)) return undefined
  const base = 'http://here.invalid'
  const url = URL.parse(value, base)
  if (!url || url.origin !== base || url.pathname.startsWith('//')) return undefined
  const path = url.pathname + url.search
  // The length is checked last, because the parser percent-encodes some characters, which makes the path longer.
  return path.length <= maxLength ? path : undefined
}
