// Collects the session cookies that a response will set. visitor-hooks.ts sets them when the response is sent, unless
// they are outdated.
import type { FastifyRequest } from 'fastify'
import { afterSetting, type Cookie, type Cookies } from '../../web/cookies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request arrived, in milliseconds since 1970. */
    receivedAtMs: number
    /** The session cookies that the response will set, keyed by their names. */
    queuedCookies: Map<string, Cookie> | undefined
    /** Whether the response has its cookies. From then on, the browser cannot get other cookies with this response. */
    hasSetCookies: boolean
    /** The renewal that began because the API refused the access token. The response waits for its cookies. */
    renewal: Promise<void> | undefined
  }
}

/** A cookie replaces a queued cookie with the same name. */
export function queueCookies(request: FastifyRequest, cookies: Cookie[]): void {
  request.queuedCookies ??= new Map()
  for (const cookie of cookies) request.queuedCookies.set(cookie.name, cookie)
}

export function queuedCookies(request: FastifyRequest): Cookie[] {
  return [...(request.queuedCookies?.values() ?? [])]
}

/** Returns the cookies that the browser will have after the response. */
export function cookiesAfterResponse(request: FastifyRequest): Cookies {
  return afterSetting(request.cookies, queuedCookies(request))
}
