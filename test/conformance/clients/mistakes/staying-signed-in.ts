// Clients that mishandle the end of an access token or a token that the API refuses.
import { correct } from '../behaviour.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { isCallback } from '../requests.ts'

export const stayingSignedIn: Mistake[] = [
  mistake('ended-token-is-a-crash', 'expired-session-answers', {
    renew: async () => {
      throw new Error('token expired')
    },
  }),
  mistake(
    'session-lost-when-the-portal-is-down',
    [
      'refresh-kept-on-503',
      'refresh-kept-on-500',
      'refresh-kept-on-429',
      'refresh-kept-on-reset',
      'refresh-kept-on-html',
      'refresh-kept-on-cut',
    ],
    { isPermanentRefusal: () => true },
  ),
  mistake('invalid-grant-only-with-401', 'refresh-dropped-on-invalid-grant', {
    isPermanentRefusal: error => error.upstream === 401 && correct.isPermanentRefusal(error),
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('session-kept-after-invalid-grant', 'refresh-dropped-on-invalid-grant', { isPermanentRefusal: () => false }),
  mistake('renewal-without-end', ['refresh-once-on-401', 'list-401-always'], {
    mostRenewals: 20,
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('refused-token-is-an-empty-page', 'api-401-says-so', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      return status === 401 && request.url.includes('/apps/') ? [200, { ItemList: [] }] : [status, answer]
    },
  }),
  mistake('renewal-on-403', 'refresh-not-on-403', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      return [status === 403 ? 401 : status, answer]
    },
  }),
  mistake('renewal-shared-by-all-visitors', 'refresh-keeps-visitor', {
    shareCall: (visit, name, act) => correct.shareCall(visit, name.startsWith('renew') ? 'renew' : name, act),
  }),
  mistake('renewal-adds-cookies', 'session-cookies-after-refresh', {
    keepSession(visit, tokens) {
      if (!isCallback(visit))
        for (const part of [1, 2, 3])
          visit.setCookies.push(`__Host-old-${Date.now()}-${part}=1; ${correct.sessionAttributes(tokens.seconds)}`)
      return correct.keepSession(visit, tokens)
    },
  }),
  mistake('one-more-cookie-after-each-login', 'session-cookies-after-logins', {
    keepSession(visit, tokens) {
      if (isCallback(visit)) visit.setCookies.push(`__Host-at-${Date.now()}=1; ${correct.refreshAttributes(86_400)}`)
      return correct.keepSession(visit, tokens)
    },
  }),
]
