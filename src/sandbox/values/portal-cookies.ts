// The cookies of the portal.

/** The names of all cookies of the portal begin with this prefix. */
export const cookiePrefix = '__Host-portal-'
export const sessionCookieName = '__Host-portal-session'
/** The cookie of a browser in which somebody has signed in before. */
export const knownBrowserCookieName = '__Host-portal-known'
/** The cookie that shows whether the browser keeps cookies. */
export const testCookieName = '__Host-portal-cookies'
/** The cookie with a message that the next page shows once. */
export const messageCookieName = '__Host-portal-message'

/**
 * Visitors arrive from another site. A browser does not send a Strict cookie with a request that begins at another
 * site, so most cookies are Lax.
 */
export const laxCookie = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const
export const strictCookie = { path: '/', secure: true, httpOnly: true, sameSite: 'strict' } as const
