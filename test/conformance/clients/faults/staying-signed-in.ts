import { type Parts, right } from '../parts.ts'
import { callPortal } from '../platform.ts'
import { Refusal, type Tokens } from '../visit.ts'
import { fault } from './fault.ts'

const dropsNew: Partial<Parts> = {
  keepSession(visit, tokens) {
    const isLogin = visit.url.pathname === '/exchangeToken'
    return right.keepSession(visit, isLogin ? tokens : { ...tokens, refreshToken: undefined })
  },
}

export const stayingSignedIn = [
  fault('renewal-by-each-tab', 'refresh-single-flight', { once: (_visit, _name, act) => act() }),
  fault('renewal-that-is-under-way-is-refused', 'refresh-parallel', {
    async once(visit, name, act) {
      if (visit.memory.has(name)) throw new Refusal(409, 'Your session is being renewed. Please try again.')
      return right.once(visit, name, act)
    },
  }),
  fault('renewal-without-memory', 'refresh-single-flight', {
    async once({ memory }, name, act) {
      const known = memory.get(name) ?? act().finally(() => memory.delete(name))
      memory.set(name, known)
      return known as never
    },
  }),
  fault(
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
  fault('session-kept-after-invalid-grant', 'refresh-dropped-on-invalid-grant', { isForGood: () => false }),
  fault('renewal-without-end', ['refresh-once-on-401', 'list-401-always'], {
    mostRenewals: 20,
    once: (_visit, _name, act) => act(),
  }),
  fault('renewal-on-403', 'refresh-not-on-403', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return [status === 403 ? 401 : status, answer]
    },
  }),
  fault('new-refresh-token-dropped', 'refresh-token-replaced', dropsNew),
  fault('new-refresh-token-dropped-by-who-renews-early', 'refresh-fields', {
    ...dropsNew,
    // Switches off the memory for renewals. With this memory, the client would use the earlier answer instead of
    // sending the old token again.
    once: (_visit, _name, act) => act(),
    // Renews only when the token has expired by the clock, never after a 401 answer.
    mostRenewals: 0,
    readSession(visit) {
      const session = right.readSession(visit)
      return session && session.expiresAt - 30_000 > Date.now() ? session : undefined
    },
  }),
  fault('new-refresh-token-dropped-by-who-hears-it-from-the-api', 'refresh-token-replaced', {
    ...dropsNew,
    lifetime: () => 86_400,
  }),
  fault('no-new-refresh-token-is-an-end', 'refresh-token-kept', {
    keepSession(visit, tokens: Tokens) {
      const session = right.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies.push(`${right.refreshCookie}=; ${right.refreshAttributes(0)}`)
      return session
    },
  }),
  fault('renewed-session-not-given-to-the-browser', 'refresh-delivered', {
    keepSession(visit, tokens) {
      if (visit.url.pathname === '/exchangeToken') return right.keepSession(visit, tokens)
      return { accessToken: tokens.accessToken, visitor: right.visitorOf(tokens, visit), expiresAt: Date.now() + 1000 }
    },
  }),
  // The client hangs before it calls the portal, so the check sees no renewal.
  fault('renewal-never-begins-nor-ends', 'refresh-delivered', { renew: () => new Promise(() => {}) }),
  fault('renewal-at-every-visit', 'refresh-not-too-often', {
    readSession: () => undefined,
    once: (_visit, _name, act) => act(),
  }),
  fault('renewal-an-hour-before', 'refresh-not-too-often', {
    readSession: visit => {
      const session = right.readSession(visit)
      return session && session.expiresAt - 3_600_000 > Date.now() ? session : undefined
    },
    once: (_visit, _name, act) => act(),
  }),
  fault('renewal-needs-a-state', 'refresh-without-state', {
    async renew(visit, refreshToken) {
      const answer = await callPortal(visit, '/api/exchangeToken', right.renewalForm(visit.settings, refreshToken))
      if (typeof answer.state !== 'string') throw new Error('state mismatch')
      return right.readTokens(visit, answer)
    },
  }),
  fault('renewal-without-the-secret', 'refresh-fields', {
    renewalForm(settings, refreshToken) {
      const form = right.renewalForm(settings, refreshToken)
      form.delete('client_secret')
      return form
    },
  }),
  fault('renewal-lifetime-forgotten', 'refresh-max-age', {
    keepSession: (visit, tokens) =>
      right.keepSession(visit, visit.url.pathname === '/exchangeToken' ? tokens : { ...tokens, seconds: 86_400 }),
  }),
  fault('refused-token-is-an-empty-page', 'api-401-says-so', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return status === 401 && request.url.includes('/apps/') ? [200, { ItemList: [] }] : [status, answer]
    },
  }),

  fault('ended-token-is-a-crash', 'expired-session-answers', {
    renew: async () => {
      throw new Error('token expired')
    },
  }),
  fault('renewal-shared-by-all-visitors', 'refresh-keeps-visitor', {
    once: (visit, name, act) => right.once(visit, name.startsWith('renew') ? 'renew' : name, act),
  }),
  fault('renewal-adds-cookies', 'session-cookies-after-refresh', {
    keepSession(visit, tokens) {
      if (visit.url.pathname !== '/exchangeToken')
        for (const part of [1, 2, 3])
          visit.setCookies.push(`__Host-old-${Date.now()}-${part}=1; ${right.sessionAttributes(tokens.seconds)}`)
      return right.keepSession(visit, tokens)
    },
  }),
  fault('no-renewal', 'refresh-works', { readRefresh: () => undefined }),
  fault('renewal-in-the-address', 'refresh-not-in-address', {
    portalUrl: ({ settings }, path, form) =>
      `${settings.loginUrl}${path}${form.has('refresh_token') ? `?grant_type=${form.get('grant_type')}` : ''}`,
  }),
  fault('renewal-until-the-token-is-long', 'refresh-no-storm', {
    async renew(visit, refreshToken) {
      let tokens = await right.renew(visit, refreshToken)
      for (let count = 0; count < 5 && tokens.seconds < 30; count++)
        tokens = await right.renew(visit, tokens.refreshToken ?? refreshToken)
      return tokens
    },
  }),
]
