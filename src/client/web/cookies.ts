// The form of every cookie of ours, and how an answer sets it.
import type { FastifyReply } from 'fastify'

export type Cookie = { name: string; value: string; maxAgeSeconds: number; sameSite: 'lax' | 'strict' }

/** What the request brought, by name. */
export type Cookies = Record<string, string | undefined>

/** The `__Host-` prefix demands all of these attributes. */
export function setCookies(reply: FastifyReply, cookies: Cookie[]): void {
  for (const { name, value, maxAgeSeconds, sameSite } of cookies)
    reply.setCookie(name, value, { path: '/', secure: true, httpOnly: true, sameSite, maxAge: maxAgeSeconds })
}

/** A cookie that lives for no time: the browser drops the one of this name. */
export function expire(name: string): Cookie {
  return { name, value: '', maxAgeSeconds: 0, sameSite: 'strict' }
}

/** The cookies that the browser sends once it has taken those in `set`. */
export function afterSetting(cookies: Cookies, set: Cookie[]): Cookies {
  const changed = Object.fromEntries(set.map(({ name, value }) => [name, value]))
  return Object.fromEntries(Object.entries({ ...cookies, ...changed }).filter(([, value]) => value !== ''))
}
