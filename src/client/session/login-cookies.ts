// The cookies of logins that have begun: one for each state, so that tabs do not disturb one another.
import { readStateTime } from '../oauth/begin-login.ts'
import { type Cookie, type Cookies, expire } from './cookies.ts'
import type { Sealer } from './seal.ts'

export type Login = { returnTo: string; codeVerifier: string | undefined }

const prefix = '__Host-login-'
const mostPending = 5
export const loginLifetimeMs = 10 * 60 * 1000

/**
 * Lax, because a Strict cookie never comes back with the portal's redirect. The state is the cookie's name and the
 * sealed value opens under that name alone: whoever brings a state without its cookie did not begin the login.
 */
export function startLogin(sealer: Sealer, cookies: Cookies, state: string, login: Login, now: Date): Cookie[] {
  const expiresAt = new Date(now.getTime() + loginLifetimeMs)
  const tooMany = pendingStates(cookies).slice(mostPending - 1)
  return [...tooMany.map(endLogin), sealer.sealCookie(prefix + state, pack(login), expiresAt, 'lax')]
}

export function openLogin(sealer: Sealer, cookies: Cookies, state: string): Login | undefined {
  const opened = sealer.openCookie(prefix + state, cookies)
  return opened && unpack(opened.payload)
}

export function endLogin(state: string): Cookie {
  return { ...expire(prefix + state), sameSite: 'lax' }
}

/** Newest first. Others on this host can set cookies, too: what is no state of our making is left alone. */
export function pendingStates(cookies: Cookies): string[] {
  const startedAt = (state: string) => readStateTime(state)?.getTime() ?? 0
  const named = Object.keys(cookies).flatMap(name => (name.startsWith(prefix) ? name.slice(prefix.length) : []))
  const states = named.filter(state => readStateTime(state))
  // Browsers send older cookies first (RFC 6265 5.4), which counts for logins of the same second.
  return states.reverse().sort((one, other) => startedAt(other) - startedAt(one))
}

/** Packed, not JSON: five of these travel beside a session, within the 16 KiB that a server takes for all headers. */
function pack({ returnTo, codeVerifier = '' }: Login): Buffer {
  const verifier = Buffer.from(codeVerifier, 'base64url')
  return Buffer.concat([Buffer.of(verifier.length), verifier, Buffer.from(returnTo)])
}

function unpack(bytes: Buffer): Login {
  const end = 1 + bytes[0]!
  const codeVerifier = bytes.subarray(1, end).toString('base64url') || undefined
  return { codeVerifier, returnTo: bytes.subarray(end).toString() }
}
