// Clients that handle the end of an access token wrongly, or a token that the API refuses.
import { type Mistake, mistake } from '../mistake.ts'
import { right } from '../parts.ts'
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
    { isForGood: () => true },
  ),
  mistake('invalid-grant-only-with-401', 'refresh-dropped-on-invalid-grant', {
    isForGood: error => error.upstream === 401 && right.isForGood(error),
    once: (_visit, _name, act) => act(),
  }),
  mistake('session-kept-after-invalid-grant', 'refresh-dropped-on-invalid-grant', { isForGood: () => false }),
  mistake('renewal-without-end', ['refresh-once-on-401', 'list-401-always'], {
    mostRenewals: 20,
    once: (_visit, _name, act) => act(),
  }),
  mistake('refused-token-is-an-empty-page', 'api-401-says-so', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return status === 401 && request.url.includes('/apps/') ? [200, { ItemList: [] }] : [status, answer]
    },
  }),
  mistake('renewal-on-403', 'refresh-not-on-403', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return [status === 403 ? 401 : status, answer]
    },
  }),
  mistake('renewal-shared-by-all-visitors', 'refresh-keeps-visitor', {
    once: (visit, name, act) => right.once(visit, name.startsWith('renew') ? 'renew' : name, act),
  }),
  mistake('renewal-adds-cookies', 'session-cookies-after-refresh', {
    keepSession(visit, tokens) {
      if (visit.url.pathname !== '/exchangeToken')
        for (const part of [1, 2, 3])
          visit.setCookies.push(`__Host-old-${Date.now()}-${part}=1; ${right.sessionAttributes(tokens.seconds)}`)
      return right.keepSession(visit, tokens)
    },
  }),
  mistake('one-more-cookie-after-each-login', 'session-cookies-after-logins', {
    keepSession(visit, tokens) {
      if (isCallback(visit)) visit.setCookies.push(`__Host-at-${Date.now()}=1; ${right.refreshAttributes(86_400)}`)
      return right.keepSession(visit, tokens)
    },
  }),
]
