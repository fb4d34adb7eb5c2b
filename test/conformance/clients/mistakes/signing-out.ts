// Clients that sign a visitor out on the wrong request, incompletely, or without revoking the tokens.
import { type Behaviour, correct } from '../behaviour.ts'
import { passingBack } from '../call-changes.ts'
import { bodyWith, contentOf, hashOf, headersWith, laxSession, loginDeletion } from '../changes.ts'
import { manyRefreshCookies } from '../many-refresh-cookies.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { signOutForm } from '../pages.ts'
import { isRecord } from '../platform.ts'
import { cookieOf, isApplication, isCallback } from '../requests.ts'
import { sessionsAtServer, storedSession, storesDeletedSessions } from '../server-sessions.ts'
import { type PlatformError, Refusal, type Tokens, type Visit } from '../visit.ts'

/** Reads the access token from the session cookie that the answer sets, or else from the one that the request sent. */
function newestToken(visit: Visit): string {
  const line = visit.setCookies.findLast(line => line.startsWith(`${correct.sessionCookie}=`))
  const text = line?.slice(correct.sessionCookie.length + 1).split(';')[0]
  const content = text ? correct.unseal(visit, correct.sessionCookie, text) : contentOf(visit)
  return isRecord(content) ? String(content.accessToken) : ''
}

/** Changes the client, but only for revocations. */
function revoking(change: Partial<Behaviour>): Partial<Behaviour> {
  return { revoke: (visit, token) => correct.revoke({ ...visit, behaviour: { ...visit.behaviour, ...change } }, token) }
}

/** Lets a GET request change its method to POST. The client does not check the origin of such a POST request. */
const overriding = (methodOf: (visit: Visit) => unknown): Partial<Behaviour> => {
  const overridden = new WeakSet<Visit>()
  return {
    async aroundRequest(visit, next) {
      if (visit.method === 'GET' && `${methodOf(visit)}`.toUpperCase() === 'POST') {
        visit.method = 'POST'
        overridden.add(visit)
      }
      return next()
    },
    isFromHere: visit => overridden.has(visit) || correct.isFromHere(visit),
  }
}

/** The token of a sign-out form that is bound to the visitor. */
const signOutToken = (visit: Visit) => hashOf(`sign out ${correct.readSession(visit)?.visitor}`)

const signedOutAtLogin: Partial<Behaviour> = {
  signedOut: ({ setCookies }) => ({ status: 303, headers: { location: '/login' }, setCookies }),
}

export const signingOut: Mistake[] = [
  mistake('sign-out-keeps-the-session', 'logout-ends-session', { endSession: () => {} }),
  mistake('sign-out-keeps-the-refresh-token', 'logout-ends-session', {
    endSession: ({ setCookies }) => void setCookies.push(`${correct.sessionCookie}=; ${correct.sessionAttributes(0)}`),
  }),
  mistake('sign-out-with-other-attributes', 'logout-ends-session', {
    endSession({ setCookies }) {
      for (const name of [correct.sessionCookie, correct.refreshCookie]) setCookies.push(`${name}=; Path=/; Max-Age=0`)
    },
  }),
  mistake(
    'refresh-cookie-of-the-earlier-visitor-left-at-sign-out',
    'logout-after-two-logins',
    manyRefreshCookies(
      names => names.at(-1),
      names => names.slice(-1),
    ),
  ),
  mistake('refresh-cookie-of-the-later-visitor-left-at-sign-out', 'logout-after-two-logins', {
    ...manyRefreshCookies(
      names => names.at(-1),
      names => names.slice(0, 1),
    ),
    revokes: false,
    noteSignOut: () => {},
  }),
  mistake('sign-out-by-get', 'logout-not-by-get', { signOutMethods: ['GET', 'POST'] }),
  mistake(
    'method-from-the-query',
    'logout-not-by-get',
    overriding(({ query }) => query.get('_method')),
  ),
  mistake(
    'method-from-a-header',
    'logout-not-by-get',
    overriding(({ headers }) => headers['x-http-method-override']),
  ),
  mistake('sign-out-from-elsewhere', ['logout-csrf', 'logout-csrf-same-site', 'logout-csrf-old-browser'], {
    isFromHere: visit => visit.url.pathname === '/logout' || correct.isFromHere(visit),
    ...laxSession,
  }),
  // The portal signs the visitor in again at once, with a new session.
  mistake('sign-out-from-elsewhere-leads-to-the-login', ['logout-csrf', 'logout-csrf-same-site'], {
    isFromHere: visit => visit.url.pathname === '/logout' || correct.isFromHere(visit),
    ...laxSession,
    ...signedOutAtLogin,
  }),
  mistake('sign-out-by-get-leads-to-the-login', 'logout-not-by-get', {
    signOutMethods: ['GET', 'POST'],
    ...signedOutAtLogin,
  }),
  mistake('form-without-a-known-origin-accepted', 'logout-csrf-old-browser', {
    isFromHere: visit => visit.headers.origin === 'null' || correct.isFromHere(visit),
  }),
  mistake('origin-checked-only-for-navigations', ['logout-csrf-script', 'create-forged-script'], {
    isFromHere: visit => (visit.headers['sec-fetch-mode'] ?? 'navigate') !== 'navigate' || correct.isFromHere(visit),
    // The token of a form is not bound to a visitor, so only the check of the origin protects the form.
    isFormOf: () => true,
  }),
  mistake('sign-out-without-revoking', ['logout-revokes', 'logout-replay'], { revokes: false }),
  mistake('only-sessions-with-a-refresh-token-end-at-the-server', 'logout-replay-without-refresh-token', {
    ...sessionsAtServer,
    dropSession(visit) {
      if (sessionsAtServer.readRefresh(visit)) return sessionsAtServer.dropSession(visit)
      visit.setCookies.push(`__Host-id=; ${correct.refreshAttributes(0)}`)
    },
  }),
  mistake('old-refresh-token-lost-by-a-renewal', 'logout-revokes-kept-token', {
    keepSession(visit, tokens: Tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies.push(`${correct.refreshCookie}=; ${correct.refreshAttributes(0)}`)
      return session
    },
  }),
  mistake('sign-out-needs-the-portal', ['logout-portal-reset', 'logout-portal-503', 'logout-portal-never'], {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
      const [status] = await correct.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/revokeToken`,
        headers: correct.portalHeaders(visit),
        body: form.toString(),
        most: 65_536,
      })
      if (status !== 200) throw new Error(`revocation answered ${status}`)
      visit.setCookies.length = 0
      correct.dropSession(visit)
    },
    endSession: () => {},
  }),
  mistake('late-renewal-signs-in-again', ['logout-during-renewal', 'logout-during-slow-page'], {
    noteSignOut: () => {},
  }),
  mistake('late-page-signs-in-again', 'logout-during-slow-page', { dropLateSession: () => {} }),
  mistake('late-renewal-signs-in-again-after-the-lifetime', 'logout-during-renewal', {
    noteSignOut: () => {},
    mostRenewals: 0,
  }),
  mistake('late-renewal-stores-the-session-again', 'logout-during-renewal-at-server', storesDeletedSessions),
  mistake('sign-out-tries-the-revocation-again', 'logout-not-waiting', {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const body = `${new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })}`
      const url = `${visit.settings.loginUrl}/api/revokeToken`
      const behaviour = { ...visit.behaviour, deadlineMs: 1000 }
      for (let tries = 0; tries < 3; tries++) {
        const request = { method: 'POST', url, headers: correct.portalHeaders(visit), body, most: 65_536 }
        const [status] = await correct
          .send({ ...visit, behaviour }, request)
          .catch((error: PlatformError) => [error.upstream])
        if (status !== 503) return
        await new Promise(resolve => setTimeout(resolve, 1500).unref())
      }
    },
  }),
  mistake('sign-out-waits-for-the-portal', 'logout-not-waiting', { revocationMs: 5000 }),
  mistake('sign-out-revokes-no-access-token', 'logout-revokes-access-token', {
    tokenToRevoke: visit => correct.readRefresh(visit),
  }),
  mistake('sign-out-forgotten-on-a-page-of-an-application', 'logout-not-silent', {
    askToSignIn: visit =>
      isApplication(visit) ? { status: 302, headers: { location: '/login' } } : correct.askToSignIn(visit),
  }),
  mistake('sign-out-forgotten-after-one-page', 'logout-not-silent', {
    askToSignIn(visit) {
      if (cookieOf(visit, '__Host-left'))
        visit.setCookies.push('__Host-left=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0')
      return correct.askToSignIn(visit)
    },
  }),
  mistake('signed-in-again-by-the-form', 'logout-not-silent', {
    askToSignIn: visit =>
      correct.askToSignIn(visit.url.pathname === '/applications' ? visit : { ...visit, cookies: [] }),
  }),
  mistake('signed-in-again-by-the-next-page', 'logout-not-silent', {
    signedOut: () => ({ status: 303, headers: { location: '/' } }),
  }),
  mistake('signed-out-is-locked-out', 'logout-then-login', {
    newState(visit) {
      if (visit.cookies.some(([name]) => name === '__Host-left')) throw new Refusal(403, 'You have signed out.')
      return correct.newState(visit)
    },
  }),
  mistake('sign-out-without-a-session-is-a-crash', 'logout-twice', {
    endSession(visit) {
      if (!correct.readSession(visit)) throw new TypeError("Cannot read properties of undefined (reading 'id')")
      correct.endSession(visit)
    },
  }),
  mistake(
    'sign-out-clears-the-whole-site',
    'logout-clear-site-data',
    headersWith(({ url }) => (url.pathname === '/logout' ? { 'clear-site-data': '"cookies"' } : {})),
  ),
  mistake('sign-out-to-anywhere', 'logout-redirect-local', {
    signedOut: visit => ({ status: 303, headers: { location: visit.query.get('returnTo') ?? '/' } }),
  }),
  mistake('sign-out-with-a-token-to-anywhere', 'logout-redirect-local', {
    // Only one page has the sign-out form.
    ...bodyWith((body, visit) =>
      visit.url.pathname === '/groups'
        ? body.replace('action="/logout">', `$&<input type="hidden" name="csrf" value="${signOutToken(visit)}">`)
        : body.replace(signOutForm, ''),
    ),
    formOf(visit, body) {
      const isOwn = new URLSearchParams(body).get('csrf') === signOutToken(visit)
      if (visit.url.pathname === '/logout' && !isOwn) throw new Refusal(403, 'This form is not one of ours.')
      return body
    },
    signedOut: visit => ({ status: 303, headers: { location: new URLSearchParams(visit.body).get('next') ?? '/' } }),
  }),
  mistake('sign-out-leads-to-the-portal', 'logout-says-so', {
    signedOut: () => ({ status: 303, headers: { location: '/login' } }),
  }),
  mistake(
    'revocation-with-two-authentications',
    'logout-revocation-one-authentication',
    revoking({
      portalHeaders: visit => ({
        ...correct.portalHeaders(visit),
        authorization: `Basic ${btoa(`${visit.settings.clientId}:${visit.settings.clientSecret}`)}`,
      }),
    }),
  ),
  mistake('revocation-tried-again-with-basic', 'logout-revocation-one-authentication', {
    async send(visit, request) {
      const answer = await correct.send(visit, request)
      if (answer[0] !== 401 || !request.url.endsWith('/api/revokeToken')) return answer
      const { clientId, clientSecret } = visit.settings
      const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
      return correct.send(visit, { ...request, headers: { ...request.headers, authorization } })
    },
  }),
  mistake('revocation-joined-by-hand', 'logout-revocation-encoded', {
    encode: form => (form.has('token') ? [...form].map(([name, value]) => `${name}=${value}`).join('&') : `${form}`),
  }),
  mistake('token-of-the-login-revoked', 'logout-revokes-renewed-token', {
    keepSession(visit, tokens: Tokens) {
      if (isCallback(visit)) visit.memory.set('token of the login', tokens.refreshToken)
      return correct.keepSession(visit, tokens)
    },
    tokenToRevoke: visit => visit.memory.get('token of the login') as string,
  }),
  mistake(
    'revocation-without-the-secret',
    'logout-revocation-accepted',
    revoking({
      encode(form) {
        form.delete('client_secret')
        return `${form}`
      },
    }),
  ),
  mistake(
    'headers-of-a-revocation-passed-back',
    'logout-headers-not-passed-back',
    passingBack(({ url }) => url.endsWith('/api/revokeToken')),
  ),
  mistake('revocation-in-the-background-without-a-deadline', 'logout-revocation-deadline', {
    async revoke(visit, token) {
      void correct.revoke({ ...visit, behaviour: { ...visit.behaviour, revocationMs: 86_400_000 } }, token)
    },
  }),
  ...[302, 307].map(status =>
    mistake(
      `revocation-redirect-${status}-followed`,
      `logout-revocation-redirect-${status}`,
      revoking({ redirects: 'follow' }),
    ),
  ),
  mistake('revocation-must-be-json', 'logout-portal-answers', {
    async revoke(visit, token) {
      const { clientId, clientSecret } = visit.settings
      const form = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret })
      const [, answer] = await correct.send(visit, {
        method: 'POST',
        url: `${visit.settings.loginUrl}/api/revokeToken`,
        headers: correct.portalHeaders(visit),
        body: `${form}`,
        most: 65_536,
      })
      if (answer === null) throw new TypeError("Cannot read properties of null (reading 'error')")
    },
  }),
  mistake(
    'revocation-without-a-deadline',
    ['logout-portal-drip', 'logout-portal-endless-body', 'logout-portal-slow-header'],
    { revocationMs: 86_400_000, readBody: response => response.text() },
  ),
  mistake('sign-out-looks-only-at-the-session', ['logout-expired-revokes', 'logout-expired-ends'], {
    tokenToRevoke: visit => (correct.readSession(visit) ? correct.tokenToRevoke(visit) : undefined),
    endSession: visit => void (correct.readSession(visit) && correct.dropSession(visit)),
  }),
  mistake('sign-out-needs-a-valid-access-token', 'logout-expired-revokes', {
    ...sessionsAtServer,
    tokenToRevoke: visit => (sessionsAtServer.readSession(visit) ? correct.tokenToRevoke(visit) : undefined),
  }),
  mistake('sign-out-revokes-an-expired-access-token', 'logout-expired-revokes', {
    ...sessionsAtServer,
    tokenToRevoke: visit => storedSession(visit)?.accessToken,
  }),
  mistake('sign-out-form-bound-to-the-access-token', ['logout-after-renewal', 'logout-expired-ends'], {
    ...bodyWith((body, visit) => {
      const field = `<input type="hidden" name="csrf" value="${hashOf(newestToken(visit))}">`
      return body.replace('action="/logout">', `action="/logout">${field}`)
    }),
    formOf(visit, body) {
      const isOwn = new URLSearchParams(body).get('csrf') === hashOf(correct.readSession(visit)?.accessToken ?? '')
      if (visit.url.pathname === '/logout' && !isOwn) throw new Refusal(403, 'This form is not one of ours.')
      return body
    },
  }),
  mistake('sign-out-renews-first', 'logout-expired-portal-down', {
    async aroundRequest(visit, next) {
      const token = visit.url.pathname === '/logout' && !correct.readSession(visit) && correct.readRefresh(visit)
      if (!token) return next()
      try {
        correct.keepSession(visit, await correct.renew(visit, token))
      } catch {
        return { status: 503, body: 'Please try again later.' }
      }
      return next()
    },
  }),
  mistake('session-without-refresh-token-not-ended', 'logout-without-refresh-token', {
    endSession(visit) {
      if (correct.readRefresh(visit)) correct.dropSession(visit)
    },
  }),
  mistake('sign-out-needs-a-refresh-token', 'logout-without-refresh-token', {
    endSession(visit) {
      if (!correct.readRefresh(visit)) throw new TypeError("Cannot read properties of undefined (reading 'token')")
      correct.endSession(visit)
    },
  }),
  mistake('sign-out-by-head', 'logout-not-by-head', { signOutMethods: ['POST', 'HEAD'] }),
  mistake('login-start-ends-the-session', 'login-start-keeps-session', {
    afterStart(visit, answer) {
      correct.dropSession(visit)
      return answer
    },
  }),
  mistake('only-the-instance-of-the-login-revokes', 'replica-sign-out-revokes', {
    keepSession(visit, tokens: Tokens) {
      visit.memory.set(`own ${tokens.refreshToken}`, true)
      return correct.keepSession(visit, tokens)
    },
    tokenToRevoke(visit) {
      const token = correct.tokenToRevoke(visit)
      return visit.memory.has(`own ${token}`) ? token : undefined
    },
  }),
  mistake('sign-out-deletes-every-cookie-of-the-request', 'logout-foreign-cookies', {
    endSession(visit) {
      for (const [name] of visit.cookies) if (name) visit.setCookies.push(`${name}=; ${loginDeletion}`)
      correct.endSession(visit)
    },
  }),
  mistake('sign-out-deletes-all-cookies-of-the-domain', 'logout-foreign-cookies', {
    endSession(visit) {
      correct.endSession(visit)
      const { hostname } = new URL(visit.settings.publicUrl)
      for (const [name] of visit.cookies)
        if (name && !name.startsWith('__Host-'))
          visit.setCookies.push(`${name}=; Domain=${hostname}; Path=/; Max-Age=0`)
    },
  }),
  mistake('own-cookies-deleted-for-the-domain', 'logout-foreign-cookies', {
    endSession(visit) {
      correct.endSession(visit)
      const { hostname } = new URL(visit.settings.publicUrl)
      visit.setCookies.push(`session=; Domain=${hostname}; Path=/; Max-Age=0`)
    },
  }),
]
