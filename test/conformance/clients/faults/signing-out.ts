import { type Parts, right } from '../parts.ts'
import { Refusal, type Tokens } from '../visit.ts'
import { fault, headersWith, memoryOf } from './fault.ts'

export const signingOut = [
  fault('sign-out-by-get', 'logout-not-by-get', { signOutMethods: ['GET', 'POST'] }),
  fault('sign-out-from-elsewhere', ['logout-csrf', 'logout-csrf-same-site', 'logout-csrf-old-browser'], {
    isFromHere: visit => visit.url.pathname === '/logout' || right.isFromHere(visit),
    ...laxSession(),
  }),
  fault('sign-out-keeps-the-session', 'logout-ends-session', { endSession: () => {} }),
  fault('sign-out-keeps-the-refresh-token', 'logout-ends-session', {
    endSession: ({ setCookies }) => void setCookies.push(`${right.sessionCookie}=; ${right.sessionAttributes(0)}`),
  }),
  fault('sign-out-with-other-attributes', 'logout-ends-session', {
    endSession({ setCookies }) {
      for (const name of [right.sessionCookie, right.refreshCookie]) setCookies.push(`${name}=; Path=/; Max-Age=0`)
    },
  }),
  fault('sign-out-without-revoking', ['logout-revokes', 'logout-replay'], { revokes: false }),
  fault('sign-out-needs-the-portal', ['logout-portal-reset', 'logout-portal-503', 'logout-portal-never'], {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
      const [status] = await right.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/revokeToken`,
        headers: right.portalHeaders(visit),
        body: form.toString(),
        most: 65_536,
      })
      if (status !== 200) throw new Error(`revocation answered ${status}`)
      visit.setCookies.length = 0
      right.dropSession(visit)
    },
    endSession: () => {},
  }),
  fault(
    'revocation-with-two-authentications',
    'logout-revocation-one-authentication',
    revoking({
      portalHeaders: visit => ({
        ...right.portalHeaders(visit),
        authorization: `Basic ${btoa(`${visit.settings.clientId}:${visit.settings.clientSecret}`)}`,
      }),
    }),
  ),
  fault(
    'revocation-without-the-secret',
    'logout-revocation-accepted',
    revoking({
      encode(form) {
        form.delete('client_secret')
        return `${form}`
      },
    }),
  ),
  ...[302, 307].map(status =>
    fault(
      `revocation-redirect-${status}-followed`,
      `logout-revocation-redirect-${status}`,
      revoking({ redirects: 'follow' }),
    ),
  ),
  fault('revocation-must-be-json', 'logout-portal-answers', {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
      const [, answer] = await right.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/revokeToken`,
        headers: right.portalHeaders(visit),
        body: `${form}`,
        most: 65_536,
      })
      if (answer === null) throw new TypeError("Cannot read properties of null (reading 'error')")
    },
  }),
  fault(
    'revocation-without-a-deadline',
    ['logout-portal-drip', 'logout-portal-endless-body', 'logout-portal-slow-header'],
    { revocationMs: 86_400_000, readBody: response => response.text() },
  ),
  fault('revocation-in-the-background-without-a-deadline', 'logout-revocation-deadline', {
    async revoke(visit, token) {
      void right.revoke({ ...visit, parts: { ...visit.parts, revocationMs: 86_400_000 } }, token)
    },
  }),
  fault('late-renewal-signs-in-again', 'logout-during-renewal', { noteSignOut: () => {} }),
  fault('sign-out-waits-for-the-portal', 'logout-not-waiting', { revocationMs: 5000 }),
  fault('sign-out-revokes-no-access-token', 'logout-revokes-access-token', {
    tokenToRevoke: visit => right.readRefresh(visit),
  }),
  fault('old-refresh-token-lost-by-a-renewal', 'logout-revokes-kept-token', {
    keepSession(visit, tokens: Tokens) {
      const session = right.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies.push(`${right.refreshCookie}=; ${right.refreshAttributes(0)}`)
      return session
    },
  }),
  fault(
    'sign-out-clears-the-whole-site',
    'logout-clear-site-data',
    headersWith(({ url }) => (url.pathname === '/logout' ? { 'clear-site-data': '"cookies"' } : {})),
  ),
  fault('sign-out-to-anywhere', 'logout-redirect-local', {
    signedOut: visit => ({ status: 303, headers: { location: visit.query.get('returnTo') ?? '/' } }),
  }),

  fault('signed-in-again-by-the-next-page', 'logout-not-silent', {
    signedOut: () => ({ status: 303, headers: { location: '/' } }),
  }),
  fault('signed-out-is-locked-out', 'logout-then-login', {
    newState(visit) {
      if (visit.cookies.some(([name]) => name === '__Host-left')) throw new Refusal(403, 'You have signed out.')
      return right.newState(visit)
    },
  }),
  fault('sign-out-without-a-session-is-a-crash', 'logout-twice', {
    endSession(visit) {
      if (!right.readSession(visit)) throw new TypeError("Cannot read properties of undefined (reading 'id')")
      right.endSession(visit)
    },
  }),
  fault('sign-out-renews-first', 'logout-expired-portal-down', {
    async around(visit, next) {
      const token = visit.url.pathname === '/logout' && !right.readSession(visit) && right.readRefresh(visit)
      if (!token) return next()
      try {
        right.keepSession(visit, await right.renew(visit, token))
      } catch {
        return { status: 503, body: 'Please try again later.' }
      }
      return next()
    },
  }),
  fault('sign-out-needs-a-refresh-token', 'logout-without-refresh-token', {
    endSession(visit) {
      if (!right.readRefresh(visit)) throw new TypeError("Cannot read properties of undefined (reading 'token')")
      right.endSession(visit)
    },
  }),
  fault('revocation-joined-by-hand', 'logout-revocation-encoded', {
    encode: form => (form.has('token') ? [...form].map(([name, value]) => `${name}=${value}`).join('&') : `${form}`),
  }),
  fault('token-of-the-login-revoked', 'logout-revokes-renewed-token', {
    keepSession(visit, tokens: Tokens) {
      const isLogin = visit.url.pathname === '/exchangeToken'
      if (isLogin) memoryOf(visit).set('token of the login', tokens.refreshToken)
      return right.keepSession(visit, tokens)
    },
    tokenToRevoke: visit => memoryOf(visit).get('token of the login') as string,
  }),
  fault('revocation-tried-again-with-basic', 'logout-revocation-one-authentication', {
    async send(visit, request) {
      const answer = await right.send(visit, request)
      if (answer[0] !== 401 || !request.url.endsWith('/api/revokeToken')) return answer
      const { clientId, clientSecret } = visit.settings
      const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
      return right.send(visit, { ...request, headers: { ...request.headers, authorization } })
    },
  }),
  fault('form-without-a-known-origin-accepted', 'logout-csrf-old-browser', {
    isFromHere: visit => visit.headers.origin === 'null' || right.isFromHere(visit),
  }),
  fault('own-cookies-deleted-for-the-domain', 'logout-foreign-cookies', {
    endSession(visit) {
      right.endSession(visit)
      const { hostname } = new URL(visit.settings.publicUrl)
      visit.setCookies.push(`session=; Domain=${hostname}; Path=/; Max-Age=0`)
    },
  }),
  fault('sign-out-leads-to-the-portal', 'logout-says-so', {
    signedOut: () => ({ status: 303, headers: { location: '/login' } }),
  }),
]

/** Changes parts of the client, but only for revocations. */
function revoking(change: Partial<Parts>): Partial<Parts> {
  return { revoke: (visit, token) => right.revoke({ ...visit, parts: { ...visit.parts, ...change } }, token) }
}

function laxSession() {
  return {
    sessionAttributes: (seconds: number) => right.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: (seconds: number) => right.refreshAttributes(seconds).replace('Strict', 'Lax'),
  }
}
