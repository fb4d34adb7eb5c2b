// The form of every cookie of ours, and the marks that hold no secret.

export type Cookie = { name: string; value: string; maxAgeSeconds: number; sameSite: 'lax' | 'strict' }

/** What the request brought, by name. */
export type Cookies = Record<string, string | undefined>

/** The browser takes a cookie away when it is told to keep it for no time. */
export function expire(name: string): Cookie {
  return { name, value: '', maxAgeSeconds: 0, sameSite: 'strict' }
}

/** What the browser has once it has taken these: a request goes on with what it was given itself. */
export function afterSetting(cookies: Cookies, set: Cookie[]): Cookies {
  const changed = Object.fromEntries(set.map(({ name, value }) => [name, value]))
  return Object.fromEntries(Object.entries({ ...cookies, ...changed }).filter(([, value]) => value !== ''))
}

/** Since signing out, until the visitor chooses to sign in: the portal's own session would do it silently (also on Back). */
export const signedOutMark: Cookie = { name: '__Host-signed-out', value: '1', maxAgeSeconds: 15 * 60, sameSite: 'lax' }

/** Just after signing in: a page that still finds no session must not lead to the login again, and again. */
export const arrivedMark: Cookie = { name: '__Host-arrived', value: '1', maxAgeSeconds: 30, sameSite: 'lax' }
