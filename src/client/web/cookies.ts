// Sets cookies. All cookies of the client have the same attributes, except their lifetime and SameSite.
import type { FastifyReply } from 'fastify'
import type { Sealer } from './seal.ts'

export type Cookie = { name: string; value: string; maxAgeSeconds: number; sameSite: 'lax' | 'strict' }

/** The values of a request's cookies, keyed by the names of the cookies. */
export type Cookies = Record<string, string | undefined>

/**
 * All names begin with `__Host-`. Browsers accept such cookies only with Secure, with Path=/ and without Domain (RFC
 * 6265bis 4.1.3.2).
 */
export function setCookies(reply: FastifyReply, cookies: Cookie[]): void {
  for (const { name, value, maxAgeSeconds, sameSite } of cookies)
    reply.setCookie(name, value, { path: '/', secure: true, httpOnly: true, sameSite, maxAge: maxAgeSeconds })
}

/** Makes a cookie with Max-Age=0, so that the browser deletes its cookie with this name. */
export function expire(name: string): Cookie {
  return { name, value: '', maxAgeSeconds: 0, sameSite: 'strict' }
}

/** Returns the cookies that the browser will have after a response that sets the cookies `set`. */
export function afterSetting(cookies: Cookies, set: Cookie[]): Cookies {
  const changed = Object.fromEntries(set.map(({ name, value }) => [name, value]))
  return Object.fromEntries(Object.entries({ ...cookies, ...changed }).filter(([, value]) => value !== ''))
}

/**
 * The maximum number of cookies that one response deletes. Other programs on this host can set any number of cookies,
 * and each deletion takes 100 bytes in the headers of the response.
 */
export const maxExpired = 10

/**
 * Chooses the cookies that this response deletes, at most ten. Cookies that this client has sealed come first. Later
 * responses delete the remaining cookies.
 */
export function limitExpired(names: string[], cookies: Cookies, sealer: Sealer): string[] {
  if (names.length <= maxExpired) return names
  const own = new Set(names.filter(name => sealer.unsealCookie(name, cookies)))
  return [...own, ...names.filter(name => !own.has(name))].slice(0, maxExpired)
}
