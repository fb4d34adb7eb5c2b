// Why a client may start a login again although the visitor has just signed in, the most likely cause first.
import { firstOf, type RecordedLogin } from '../record/recorded.ts'

export interface LoopCause {
  cause: string
  /** How to check this cause. */
  check: string
}

const strictCookie: LoopCause = {
  cause: 'The session cookie is SameSite=Strict, and the callback answers with a redirect.',
  check:
    'Look at what the callback answers: after 302 or 303 the browser does not send a Strict cookie, because the redirect began at another site. Answer 200 with a page that opens the next page by itself.',
}
const secureCookie: LoopCause = {
  cause: 'The session cookie is Secure, or its name begins with __Host- or __Secure-, and the client is at http.',
  check:
    'Look at the cookies of the client in the developer tools of the browser: if the cookie is missing, use https, or a browser that keeps Secure cookies at http://localhost.',
}
const twoHosts: LoopCause = {
  cause: 'The login begins at localhost and comes back to 127.0.0.1, or the other way round.',
  check:
    'Compare the address that you open with the redirect URI: a browser keeps the cookies of the two hosts apart. Use only one of the two hosts.',
}
const largeCookie: LoopCause = {
  cause: 'The session cookie is too large.',
  check:
    'Measure the Set-Cookie header of the callback: browsers drop a cookie of more than 4,096 bytes with its name. Split it, or keep the tokens on the server.',
}
const changedKeys: LoopCause = {
  cause: 'The client cannot read the cookie any more, because its keys have changed.',
  check:
    'Check whether the client makes new keys at each start, or whether two processes have different keys. Set the same keys for all processes.',
}

/** Leaves out each cause that the redirect URI shows to be impossible. */
export function causesOfLoop({ steps }: Pick<RecordedLogin, 'steps'>): LoopCause[] {
  const address = steps
    .map(({ request }) => firstOf(request.query, 'redirect_uri'))
    .find(uri => typeof uri === 'string')
  const { protocol, hostname } =
    address !== undefined && URL.canParse(address) ? new URL(address) : new URL('http://localhost')
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return [
    strictCookie,
    ...(protocol === 'http:' ? [secureCookie] : []),
    ...(isLoopback ? [twoHosts] : []),
    largeCookie,
    changedKeys,
  ]
}
