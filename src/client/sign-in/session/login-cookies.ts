// The cookies of logins that have begun, one for each state, so that tabs do not disturb one another; and two marks.
import type { FastifyRequest } from 'fastify'
import { type Cookie, type Cookies, chooseToExpire, expire, mostTakenAway, type Sealer } from '../../web/seal.ts'

export type Login = { returnTo: string; codeVerifier: string | undefined }

const prefix = '__Host-login-'
const mostPending = 5
export const loginLifetimeMs = 10 * 60 * 1000

/** Since signing out, until the visitor chooses to sign in: the portal's own session would do it silently (also on Back). */
export const signedOutMark: Cookie = { name: '__Host-signed-out', value: '1', maxAgeSeconds: 15 * 60, sameSite: 'lax' }

/** Just after signing in: a page that still finds no session must not lead to the login again, and again. */
export const arrivedMark: Cookie = { name: '__Host-arrived', value: '1', maxAgeSeconds: 30, sameSite: 'lax' }

export function hasSignedOut({ cookies }: FastifyRequest): boolean {
  return signedOutMark.name in cookies
}

export function createLogins(sealer: Sealer, clock: () => Date) {
  const expireLax = (name: string): Cookie => ({ ...expire(name), sameSite: 'lax' })

  return {
    /**
     * Lax, because a Strict cookie never comes back with the portal's redirect. The state is the cookie's name and the
     * sealed value opens under that name alone: whoever brings a state without its cookie did not begin the login.
     */
    begin(cookies: Cookies, state: string, { returnTo, codeVerifier }: Login): Cookie[] {
      const expiresAt = new Date(clock().getTime() + loginLifetimeMs)
      // Browsers send older cookies first (RFC 6265 5.4), which decides between logins of the same second. A cookie that
      // a program on another port of this host has set does not open, and goes before any login.
      const newestFirst = pendingStates(cookies)
        .reverse()
        .map(state => ({ state, endsAt: sealer.openCookie(prefix + state, cookies)?.expiresAt.getTime() ?? 0 }))
        .sort((one, other) => other.endsAt - one.endsAt)
      const tooMany = newestFirst.slice(mostPending - 1).slice(0, mostTakenAway)
      const cookie = sealer.sealCookie(prefix + state, [returnTo, codeVerifier], expiresAt, 'lax')
      return [...tooMany.map(({ state }) => expireLax(prefix + state)), cookie]
    },

    /** Undefined where this browser has not begun the login of this state, or longer than ten minutes ago. */
    find(cookies: Cookies, state: string): Login | undefined {
      const opened = sealer.openCookie(prefix + state, cookies)
      if (!opened) return undefined
      const [returnTo, codeVerifier] = opened.payload as [string, string | null]
      return { returnTo, codeVerifier: codeVerifier ?? undefined }
    },

    expire: (state: string) => expireLax(prefix + state),
    expireAll: (cookies: Cookies): Cookie[] =>
      chooseToExpire(
        pendingStates(cookies).map(state => prefix + state),
        cookies,
        sealer,
      ).map(expireLax),
  }
}

/** Others on this host can set cookies, too: only names that we could have given are acted on. */
function pendingStates(cookies: Cookies): string[] {
  const names = Object.keys(cookies).filter(name => /^__Host-login-[\w-]{22}$/.test(name))
  return names.map(name => name.slice(prefix.length))
}
