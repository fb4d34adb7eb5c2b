import { right } from '../parts.ts'
import { fault, headersWith } from './fault.ts'

export const signingOut = [
  fault('sign-out-by-get', 'logout-not-by-get', { signOutMethods: ['GET', 'POST'] }),
  fault('sign-out-from-elsewhere', 'logout-csrf', {
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
  fault('sign-out-without-revoking', 'logout-revokes', { revokes: false }),
  fault('sign-out-needs-the-portal', 'logout-portal-reset', {
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
    'sign-out-clears-the-whole-site',
    'logout-clear-site-data',
    headersWith(({ url }) => (url.pathname === '/logout' ? { 'clear-site-data': '"cookies"' } : {})),
  ),
  fault('sign-out-to-anywhere', 'logout-redirect-local', {
    signedOut: visit => ({ status: 303, headers: { location: visit.query.get('returnTo') ?? '/' } }),
  }),
]

function laxSession() {
  return {
    sessionAttributes: (seconds: number) => right.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: (seconds: number) => right.refreshAttributes(seconds).replace('Strict', 'Lax'),
  }
}
