// Why a client may start another login although the visitor has just signed in. The most likely cause comes first.
import { isLoopback } from '../../values/redirect-uri.ts'
import { firstOf, type RecordedLogin } from '../record/recorded.ts'

export interface LoopCause {
  cause: string
  /** How to find out whether this is the cause, and how to fix it. */
  check: string
}

const strictCookie: LoopCause = {
  cause: 'The session cookie is SameSite=Strict, and the callback answers with a redirect.',
  check:
    'Look at the answer from your callback. After 302 or 303, the browser does not send a Strict cookie, because the navigation began at another site. Instead of a redirect, answer with status 200 and a page that opens the next page by itself.',
}
const secureCookie: LoopCause = {
  cause: 'The client uses http, but its session cookie is Secure, or has a name that begins with __Host- or __Secure-.',
  check:
    'Look at the client’s cookies in the browser’s developer tools. If the session cookie is missing, use https, or use a browser that keeps Secure cookies at http://localhost.',
}
const twoHosts: LoopCause = {
  cause: 'The login begins at localhost and ends at 127.0.0.1, or begins at 127.0.0.1 and ends at localhost.',
  check:
    'Compare the address that you open with the redirect URI. A browser stores the cookies of the two hosts separately, so use only one of the two hosts.',
}
const largeCookie: LoopCause = {
  cause: 'The session cookie is too large.',
  check:
    'Measure the Set-Cookie header of the callback: browsers drop a cookie whose name and value are together longer than 4,096 bytes. Split the cookie, or keep the tokens on the server.',
}
const changedKeys: LoopCause = {
  cause: 'The client can no longer read the cookie, because its keys have changed.',
  check:
    'Check whether the client makes new keys each time it starts, or whether two processes have different keys. Set the same keys for all processes.',
}

/**
 * Returns the possible causes. With some redirect URIs, some causes are impossible. For example, if the redirect URI is
 * https, a Secure cookie is not the cause.
 */
export function causesOfLoop({ steps }: Pick<RecordedLogin, 'steps'>): LoopCause[] {
  const address = steps
    .map(({ request }) => firstOf(request.query, 'redirect_uri'))
    .find(uri => typeof uri === 'string')
  const { protocol, hostname } =
    address !== undefined && URL.canParse(address) ? new URL(address) : new URL('http://localhost')
  return [
    strictCookie,
    ...(protocol === 'http:' ? [secureCookie] : []),
    ...(isLoopback(hostname) ? [twoHosts] : []),
    largeCookie,
    changedKeys,
  ]
}
