// The cookies of pending logins. Each login has its own cookie, so that logins in several tabs do not interfere with
// each other. The end of this file defines two more cookies: one marks a sign-out, and the other marks a login that has
// just finished.
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Cookie, type Cookies, expire, limitExpired, maxExpired } from '../../web/cookies.ts'
import type { Sealer } from '../../web/seal.ts'

/** A login that has begun and has not ended yet. */
export type PendingLogin = {
  returnTo: string
  /** Undefined if the portal does not support PKCE. */
  codeVerifier: string | undefined
  /**
   * If the login is for a connection, this is a hash of the visitor's user id (hashUserId). Undefined if the login
   * begins a session.
   */
  connectsFor?: string | undefined
}

/**
 * Returns a short hash of the user id, to compare the users of two logins. The id itself would make the login cookie
 * too long.
 */
export function hashUserId(userId: string): string {
  return hash('sha256', userId, 'base64url').slice(0, 16)
}

export type LoginCookies = ReturnType<typeof createLoginCookies>

const prefix = '__Host-login-'
const maxPending = 5
export const loginLifetimeMs = 10 * 60 * 1000

export function createLoginCookies(sealer: Sealer, clock: () => Date) {
  const expireLogin = (name: string): Cookie => ({ ...expire(name), sameSite: 'lax' })

  /**
   * Browsers send older cookies first (RFC 6265 5.4). So if two logins began in the same second, the order of their
   * cookies shows which login began first. The client cannot unseal a cookie that another program on this host has set.
   * Such a cookie counts as older than all others.
   */
  function newestFirst(cookies: Cookies): { state: string; endsAt: number }[] {
    return pendingStates(cookies)
      .reverse()
      .map(state => ({ state, endsAt: sealer.unsealCookie(prefix + state, cookies)?.expiresAt.getTime() ?? 0 }))
      .sort((a, b) => b.endsAt - a.endsAt)
  }

  return {
    /**
     * Returns the cookie of a new login. If there are more than five logins, the result also deletes the cookies of the
     * oldest logins.
     *
     * The cookie is Lax: browsers do not send Strict cookies with the portal's redirect. The `state` is part of the
     * cookie's name, and the value is sealed for this name. So only the browser that began the login can finish it.
     */
    begin(cookies: Cookies, state: string, login: PendingLogin): Cookie[] {
      const expiresAt = new Date(clock().getTime() + loginLifetimeMs)
      const tooMany = newestFirst(cookies)
        .slice(maxPending - 1)
        .slice(0, maxExpired)
      const cookie = sealer.sealCookie(prefix + state, login, expiresAt, 'lax')
      return [...tooMany.map(({ state }) => expireLogin(prefix + state)), cookie]
    },

    /** Returns the login with this `state`, if this browser began the login within the last ten minutes. */
    find(cookies: Cookies, state: string): PendingLogin | undefined {
      return sealer.unsealCookie(prefix + state, cookies)?.payload as PendingLogin | undefined
    },

    /** Returns the pending login that this browser began last. */
    findNewest(cookies: Cookies): PendingLogin | undefined {
      const [newest] = newestFirst(cookies)
      return newest && this.find(cookies, newest.state)
    },

    expire: (state: string): Cookie => expireLogin(prefix + state),

    expireAll(cookies: Cookies): Cookie[] {
      const names = pendingStates(cookies).map(state => prefix + state)
      return limitExpired(names, cookies, sealer).map(expireLogin)
    },
  }
}

/**
 * Other programs on this host can also set cookies. So this function returns only states that this client could have
 * made.
 */
function pendingStates(cookies: Cookies): string[] {
  const names = Object.keys(cookies).filter(name => /^__Host-login-[\w-]{22}$/.test(name))
  return names.map(name => name.slice(prefix.length))
}

/**
 * A sign-out sets this cookie for 15 minutes, or until a login succeeds. Without this cookie, the next page that the
 * visitor opens would redirect to the login. The portal has its own session, so it would sign the visitor in again at
 * once.
 */
export const signedOutCookie: Cookie = {
  name: '__Host-signed-out',
  value: '1',
  maxAgeSeconds: 15 * 60,
  sameSite: 'lax',
}

/**
 * A finished login sets this cookie for 30 seconds. If a request has this cookie but no session, the client does not
 * redirect to the login, because the redirects would never end.
 */
export const arrivedCookie: Cookie = { name: '__Host-arrived', value: '1', maxAgeSeconds: 30, sameSite: 'lax' }

export function hasSignedOut({ cookies }: FastifyRequest): boolean {
  return signedOutCookie.name in cookies
}
