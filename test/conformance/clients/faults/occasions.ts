// Clients that make the usual renewal correctly, but not renewals in special cases.
import { type Parts, right } from '../parts.ts'
import { isRecord } from '../platform.ts'
import { PlatformFault, Refusal, type Tokens, type Visit } from '../visit.ts'
import { type Fault, fault, memoryOf } from './fault.ts'

/** Whether a 401 answer causes this renewal. In that case, the session has not yet expired by the clock. */
const isAfter401 = (visit: Visit) => right.readSession(visit) !== undefined

/** Changes parts of the client, but only for renewals that a 401 answer from the API causes. */
const after401 = (change: Partial<Parts>, isMeant: (visit: Visit) => boolean = isAfter401): Partial<Parts> => ({
  renew: (visit, refreshToken) =>
    right.renew(isMeant(visit) ? { ...visit, parts: { ...visit.parts, ...change } } : visit, refreshToken),
})

const withoutSecret: Partial<Parts> = {
  renewalForm(settings, refreshToken) {
    const form = right.renewalForm(settings, refreshToken)
    form.delete('client_secret')
    return form
  },
}

/** Repeats a renewal once if the portal answers with the status `wanted`. 0 means that no answer arrives. */
const againOn = (wanted: number): Partial<Parts> => ({
  async send(visit, request) {
    const once = () => right.send(visit, request).catch((): [number, unknown] => [0, undefined])
    const first = await once()
    if (request.body?.includes('grant_type=refresh_token') && first[0] === wanted) return once()
    return first
  },
})

/**
 * If `isMeant` returns true for the refresh_token in the answer to a renewal, which may be undefined, the client
 * forgets its old refresh token.
 */
const loses = (isMeant: (value: unknown) => boolean): Partial<Parts> => ({
  readTokens(visit, answer) {
    if (visit.url.pathname !== '/exchangeToken' && isMeant(answer.refresh_token)) memoryOf(visit).set('lost', true)
    return right.readTokens(visit, answer)
  },
  keepSession(visit, tokens: Tokens) {
    const session = right.keepSession(visit, tokens)
    if (!tokens.refreshToken && memoryOf(visit).delete('lost'))
      visit.setCookies.push(`${right.refreshCookie}=; ${right.refreshAttributes(0)}`)
    return session
  },
})

export const occasions: Fault[] = [
  fault('renewal-after-401-without-the-secret', 'refresh-fields-after-401', after401(withoutSecret)),
  fault(
    'renewal-after-401-in-the-address',
    'refresh-fields-after-401',
    after401({
      portalUrl: ({ settings }, path, form) => `${settings.loginUrl}${path}?client_id=${form.get('client_id')}`,
    }),
  ),
  fault(
    'renewal-for-a-form-without-the-secret',
    'refresh-fields-for-form',
    after401(withoutSecret, ({ method }) => method === 'POST'),
  ),
  fault('new-refresh-token-of-a-renewal-dropped', 'refresh-fields-second', {
    keepSession(visit, tokens) {
      const isLogin = visit.url.pathname === '/exchangeToken'
      return right.keepSession(visit, isLogin ? tokens : { ...tokens, refreshToken: undefined })
    },
  }),
  fault(
    'refresh-token-lost-if-missing',
    'refresh-token-kept-missing',
    loses(value => value === undefined),
  ),
  fault(
    'refresh-token-lost-if-null',
    'refresh-token-kept-null',
    loses(value => value === null),
  ),
  fault(
    'refresh-token-lost-if-empty',
    'refresh-token-kept-empty',
    loses(value => value === ''),
  ),
  ...[400, 403, 408].map(status =>
    fault(`session-lost-after-status-${status}`, 'refresh-kept-on-many', {
      isForGood: error => error.upstream === status || right.isForGood(error),
    }),
  ),
  fault('session-lost-after-a-redirect', 'refresh-kept-on-many', {
    isForGood: error => error.upstream === 302 || right.isForGood(error),
  }),
  fault('session-lost-after-an-answer-without-tokens', 'refresh-kept-on-many', {
    async send(visit, request) {
      const answered = await right.send(visit, request)
      const isEmpty = answered[0] === 200 && isRecord(answered[1]) && !answered[1].access_token
      if (request.body?.includes('refresh_token') && isEmpty) throw new PlatformFault(400, 'invalid_grant')
      return answered
    },
  }),
  ...[0, 500, 504, 408].map(status =>
    fault(`renewal-sent-again-after-${status}`, 'refresh-failed-not-repeated', againOn(status)),
  ),
  fault('refused-renewal-after-401-is-an-error', 'refresh-dropped-after-401', {
    async renew(visit, refreshToken) {
      try {
        return await right.renew(visit, refreshToken)
      } catch (error) {
        if (isAfter401(visit)) throw new TypeError('no session')
        throw error
      }
    },
  }),
  fault('renewal-after-401-under-way-is-refused', 'refresh-parallel-after-401', {
    async once(visit, name, act) {
      if (visit.memory.has(name) && isAfter401(visit)) throw new Refusal(409, 'Your session is being renewed.')
      return right.once(visit, name, act)
    },
  }),
  fault('failed-renewal-after-401-ends-the-session', 'refresh-kept-after-401', {
    async renew(visit, refreshToken) {
      try {
        return await right.renew(visit, refreshToken)
      } catch (error) {
        throw isAfter401(visit) ? new PlatformFault(401, 'invalid_grant') : error
      }
    },
  }),
  fault('each-request-renews-after-401', 'refresh-single-flight-after-401', {
    once: (visit, name, act) => (name.startsWith('renew') && isAfter401(visit) ? act() : right.once(visit, name, act)),
  }),
  fault('every-refusal-of-the-api-is-a-401', 'refresh-not-on-errors', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      const isRefused = request.url.startsWith(visit.settings.apiUrl) && status >= 400 && status !== 403
      return [isRefused ? 401 : status, answer]
    },
  }),
  fault('renewed-cookies-lost-with-a-403', 'refresh-delivered-with-refusal', {
    wordsFor(error, visit) {
      if (error instanceof Refusal && error.status === 403) visit.setCookies.length = 0
      return right.wordsFor(error, visit)
    },
  }),
  fault('failed-renewal-for-a-form-ends-the-session', 'refresh-kept-for-form', {
    async renew(visit, refreshToken) {
      try {
        return await right.renew(visit, refreshToken)
      } catch (error) {
        throw visit.method === 'POST' ? new PlatformFault(401, 'invalid_grant') : error
      }
    },
  }),
  fault('refused-renewal-for-a-form-is-a-crash', 'refresh-dropped-for-form', {
    async renew(visit, refreshToken) {
      try {
        return await right.renew(visit, refreshToken)
      } catch (error) {
        throw visit.method === 'POST' ? new TypeError('no session') : error
      }
    },
  }),
  fault('renewal-five-minutes-before', 'refresh-short-tokens', {
    readSession: visit => {
      const session = right.readSession(visit)
      return session && session.expiresAt - 300_000 > Date.now() ? session : undefined
    },
  }),
]
