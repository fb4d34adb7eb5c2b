// Clients that renew a session wrongly: with a wrong request, too often, or without keeping the new tokens.
import { type Behaviour, correct } from '../behaviour.ts'
import { showsPauseAsNumber } from '../call-changes.ts'
import { answerWith, contentOf, crashingRenewal, hashOf, laxSession, renewing } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { page, signOutForm } from '../pages.ts'
import { callPortal, isRecord } from '../platform.ts'
import { isApplication, isCallback, isLogin, isRenewal } from '../requests.ts'
import { PlatformError, Refusal, type Tokens, type Visit } from '../visit.ts'

/** Whether a 401 answer causes this renewal. In that case, the session has not expired yet according to the clock. */
const isAfter401 = (visit: Visit) => correct.readSession(visit) !== undefined

/** Changes the client, but only for renewals that a 401 answer from the API causes. */
const after401 = (change: Partial<Behaviour>, isMeant: (visit: Visit) => boolean = isAfter401): Partial<Behaviour> => ({
  renew: (visit, refreshToken) =>
    correct.renew(isMeant(visit) ? { ...visit, behaviour: { ...visit.behaviour, ...change } } : visit, refreshToken),
})

const withoutSecret: Partial<Behaviour> = {
  renewalForm(settings, refreshToken) {
    const form = correct.renewalForm(settings, refreshToken)
    form.delete('client_secret')
    return form
  },
}

/** Repeats a renewal once if the portal answers with the status `wanted`. 0 means that no answer arrives. */
const againOn = (wanted: number): Partial<Behaviour> => ({
  async send(visit, request) {
    const once = () => correct.send(visit, request).catch((): [number, unknown] => [0, undefined])
    const first = await once()
    if (request.body?.includes('grant_type=refresh_token') && first[0] === wanted) return once()
    return first
  },
})

/**
 * The client forgets its old refresh token if `isMeant` returns true for the refresh_token (possibly undefined) in the
 * answer to a renewal.
 */
const loses = (isMeant: (value: unknown) => boolean): Partial<Behaviour> => ({
  readTokens(visit, answer) {
    if (!isCallback(visit) && isMeant(answer.refresh_token)) visit.memory.set('lost', true)
    return correct.readTokens(visit, answer)
  },
  keepSession(visit, tokens: Tokens) {
    const session = correct.keepSession(visit, tokens)
    if (!tokens.refreshToken && visit.memory.delete('lost'))
      visit.setCookies.push(`${correct.refreshCookie}=; ${correct.refreshAttributes(0)}`)
    return session
  },
})

const dropsNew: Partial<Behaviour> = {
  keepSession(visit, tokens) {
    return correct.keepSession(visit, isCallback(visit) ? tokens : { ...tokens, refreshToken: undefined })
  },
}

/** Loses the cookies that a renewal has set if the answer has this status. */
const losesCookiesWith = (status: number): Partial<Behaviour> => ({
  async aroundRequest(visit, next) {
    const answer = await next()
    if (answer.status === status) visit.setCookies = visit.setCookies.filter(line => line.includes('Max-Age=0'))
    return answer
  },
})

/** Renews an expired session before the client handles one of these requests. Shows an error if the renewal fails. */
const loadsSessionAt = (isMeant: (visit: Visit) => boolean): Partial<Behaviour> => ({
  async aroundRequest(visit, next) {
    const token = isMeant(visit) && !correct.readSession(visit) && correct.readRefresh(visit)
    if (!token) return next()
    try {
      correct.keepSession(visit, await correct.renew(visit, token))
    } catch {
      return page(visit, 503, 'Please try again later', '<a href="/login">Sign in</a>')
    }
    return next()
  },
})

export const renewal: Mistake[] = [
  mistake('no-renewal', 'refresh-works', { readRefresh: () => undefined }),
  mistake('renewal-needs-a-state', 'refresh-without-state', {
    async renew(visit, refreshToken) {
      const answer = await callPortal(visit, '/api/exchangeToken', correct.renewalForm(visit.settings, refreshToken))
      if (typeof answer.state !== 'string') throw new Error('state mismatch')
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('new-refresh-token-dropped-by-who-renews-early', 'refresh-fields', {
    ...dropsNew,
    // Switches off the memory for renewals. With this memory, the client would use the earlier answer instead of
    // sending the old token again.
    shareCall: (_visit, _name, act) => act(),
    // Renews only when the token has expired according to the clock, never after a 401 answer.
    mostRenewals: 0,
    readSession(visit) {
      const session = correct.readSession(visit)
      return session && session.expiresAt - 30_000 > Date.now() ? session : undefined
    },
  }),
  mistake('renewal-without-the-secret', 'refresh-fields', {
    renewalForm(settings, refreshToken) {
      const form = correct.renewalForm(settings, refreshToken)
      form.delete('client_secret')
      return form
    },
  }),
  mistake('renewal-with-a-misspelled-field', 'refresh-fields', {
    renewalForm(settings, refreshToken) {
      const form = correct.renewalForm(settings, refreshToken)
      form.delete('refresh_token')
      form.set('refreshToken', refreshToken)
      return form
    },
  }),
  mistake('renewal-in-the-address', 'refresh-not-in-address', {
    portalUrl: ({ settings }, path, form) =>
      `${settings.loginUrl}${path}${form.has('refresh_token') ? `?grant_type=${form.get('grant_type')}` : ''}`,
  }),
  mistake('new-lifetime-not-stored-by-a-renewal', 'refresh-delivered', {
    // A renewal does not change the end of the session. The session ends when the first access token expires.
    keepSession(visit, tokens) {
      if (isCallback(visit)) visit.memory.set(correct.visitorOf(tokens, visit), Date.now() + tokens.seconds * 1000)
      return correct.keepSession(visit, tokens)
    },
    readSession(visit) {
      const session = correct.readSession(visit)
      const end = session && (visit.memory.get(session.visitor) as number | undefined)
      return end !== undefined && end < Date.now() ? undefined : session
    },
  }),
  mistake('renewed-session-not-given-to-the-browser', 'refresh-delivered', {
    keepSession(visit, tokens) {
      if (isCallback(visit)) return correct.keepSession(visit, tokens)
      return {
        accessToken: tokens.accessToken,
        visitor: correct.visitorOf(tokens, visit),
        expiresAt: Date.now() + 1000,
      }
    },
  }),
  // The client hangs before it calls the portal, so the check sees no renewal.
  mistake('renewal-never-begins-nor-ends', 'refresh-delivered', { renew: () => new Promise(() => {}) }),
  mistake('renewed-cookies-lost-with-an-error', 'refresh-delivered-with-error', {
    wordsFor(error, visit) {
      if (!isCallback(visit)) visit.setCookies.length = 0
      return correct.wordsFor(error, visit)
    },
  }),
  ...(
    [
      [404, 'refresh-delivered-with-not-found'],
      [422, 'refresh-delivered-with-refused-form'],
      [409, 'refresh-delivered-with-overtaken-form'],
    ] as const
  ).map(([status, check]) => mistake(`renewed-cookies-lost-with-status-${status}`, check, losesCookiesWith(status))),
  mistake('renewed-cookies-lost-if-the-api-is-busy', 'refresh-delivered-with-busy-api', {
    wordsFor(error, visit) {
      if (error instanceof PlatformError && error.upstream === 429) visit.setCookies.length = 0
      return correct.wordsFor(error, visit)
    },
  }),
  mistake('renewed-after-401-not-delivered', 'refresh-delivered-after-401', {
    keepSession(visit, tokens) {
      const isRefused = !isCallback(visit) && correct.readSession(visit) !== undefined
      const session = correct.keepSession(visit, tokens)
      if (isRefused) visit.setCookies.length = 0
      return session
    },
  }),
  mistake('renewed-for-a-form-not-delivered', 'refresh-delivered-after-form', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (visit.method === 'POST') visit.setCookies.length = 0
      return session
    },
  }),
  mistake('new-refresh-token-lost-by-a-form', 'refresh-delivered-after-form', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (visit.method === 'POST')
        visit.setCookies = visit.setCookies.filter(line => !line.startsWith(correct.refreshCookie))
      return session
    },
  }),
  mistake('renewal-needs-its-state', 'refresh-state-optional', {
    renewalForm(settings, refreshToken) {
      const form = correct.renewalForm(settings, refreshToken)
      form.set('state', 'of-this-renewal')
      return form
    },
    readTokens(visit, answer) {
      if (!isCallback(visit) && answer.state !== 'of-this-renewal') throw new PlatformError(502)
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('new-refresh-token-dropped', 'refresh-token-replaced', dropsNew),
  mistake('new-refresh-token-dropped-by-who-hears-it-from-the-api', 'refresh-token-replaced', {
    ...dropsNew,
    lifetime: () => 86_400,
  }),
  mistake('no-new-refresh-token-is-an-end', 'refresh-token-kept', {
    keepSession(visit, tokens: Tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies.push(`${correct.refreshCookie}=; ${correct.refreshAttributes(0)}`)
      return session
    },
  }),
  mistake('renewal-lifetime-forgotten', 'refresh-max-age', {
    keepSession: (visit, tokens) =>
      correct.keepSession(visit, isCallback(visit) ? tokens : { ...tokens, seconds: 86_400 }),
  }),
  mistake('refresh-cookie-slides', 'refresh-fixed-end', {
    loginEnd: visit => Date.now() + visit.behaviour.refreshSeconds * 1000,
  }),
  mistake('renewal-after-401-extends-the-login', 'refresh-fixed-end', {
    loginEnd: visit =>
      correct.readSession(visit) ? Date.now() + visit.behaviour.refreshSeconds * 1000 : correct.loginEnd(visit),
  }),
  mistake('refresh-cookie-slides-with-a-form', 'refresh-fixed-end', {
    loginEnd: visit =>
      visit.method === 'POST' ? Date.now() + visit.behaviour.refreshSeconds * 1000 : correct.loginEnd(visit),
  }),
  mistake('renewed-refresh-cookie-ends-with-the-access-token', 'refresh-cookie-age-kept', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!isCallback(visit))
        visit.setCookies = visit.setCookies.map(line => line.replace(/Max-Age=\d+$/, `Max-Age=${tokens.seconds}`))
      return session
    },
  }),
  mistake('renewal-at-every-visit', 'refresh-not-too-often', {
    readSession: () => undefined,
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('renewal-an-hour-before', 'refresh-not-too-often', {
    readSession: visit => {
      const session = correct.readSession(visit)
      return session && session.expiresAt - 3_600_000 > Date.now() ? session : undefined
    },
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('renewal-until-the-token-is-long', 'refresh-no-storm', {
    async renew(visit, refreshToken) {
      let tokens = await correct.renew(visit, refreshToken)
      for (let count = 0; count < 5 && tokens.seconds < 30; count++)
        tokens = await correct.renew(visit, tokens.refreshToken ?? refreshToken)
      return tokens
    },
  }),
  mistake('renewal-that-is-under-way-is-refused', 'refresh-parallel', {
    async shareCall(visit, name, act) {
      if (visit.memory.has(name)) throw new Refusal(409, 'Your session is being renewed. Please try again.')
      return correct.shareCall(visit, name, act)
    },
  }),
  mistake('renewals-shared-by-page', 'refresh-single-flight', {
    shareCall: (visit, name, act) =>
      correct.shareCall(visit, name.startsWith('renew') ? `${name} ${visit.url.pathname}` : name, act),
  }),
  mistake('renewal-by-each-tab', 'refresh-single-flight', { shareCall: (_visit, _name, act) => act() }),
  mistake('renewal-without-memory', 'refresh-single-flight', {
    async shareCall({ memory }, name, act) {
      const known = memory.get(name) ?? act().finally(() => memory.delete(name))
      memory.set(name, known)
      return known as never
    },
  }),
  mistake('each-request-renews', 'refresh-single-flight-slow', {
    shareCall: (visit, name, act) => (name.startsWith('renew') ? act() : correct.shareCall(visit, name, act)),
  }),
  mistake('renewal-after-401-without-the-secret', 'refresh-fields-after-401', after401(withoutSecret)),
  mistake(
    'renewal-after-401-in-the-address',
    'refresh-fields-after-401',
    after401({
      portalUrl: ({ settings }, path, form) => `${settings.loginUrl}${path}?client_id=${form.get('client_id')}`,
    }),
  ),
  mistake(
    'renewal-for-a-form-without-the-secret',
    'refresh-fields-for-form',
    after401(withoutSecret, ({ method }) => method === 'POST'),
  ),
  mistake('new-refresh-token-of-a-renewal-dropped', 'refresh-fields-second', {
    keepSession(visit, tokens) {
      return correct.keepSession(visit, isCallback(visit) ? tokens : { ...tokens, refreshToken: undefined })
    },
  }),
  mistake(
    'refresh-token-lost-if-missing',
    'refresh-token-kept-missing',
    loses(value => value === undefined),
  ),
  mistake(
    'refresh-token-lost-if-null',
    'refresh-token-kept-null',
    loses(value => value === null),
  ),
  mistake(
    'refresh-token-lost-if-empty',
    'refresh-token-kept-empty',
    loses(value => value === ''),
  ),
  ...[400, 403, 408].map(status =>
    mistake(`session-lost-after-status-${status}`, 'refresh-kept-on-many', {
      isPermanentRefusal: error => error.upstream === status || correct.isPermanentRefusal(error),
    }),
  ),
  mistake('session-lost-after-a-redirect', 'refresh-kept-on-many', {
    isPermanentRefusal: error => error.upstream === 302 || correct.isPermanentRefusal(error),
  }),
  mistake('session-lost-after-an-answer-without-tokens', 'refresh-kept-on-many', {
    async send(visit, request) {
      const answered = await correct.send(visit, request)
      const isEmpty = answered[0] === 200 && isRecord(answered[1]) && !answered[1].access_token
      if (request.body?.includes('refresh_token') && isEmpty) throw new PlatformError(400, 'invalid_grant')
      return answered
    },
  }),
  ...[0, 500, 504, 408].map(status =>
    mistake(`renewal-sent-again-after-${status}`, 'refresh-failed-not-repeated', againOn(status)),
  ),
  mistake('renewal-tried-again-with-basic', 'refresh-failed-not-repeated', {
    async renew(visit, refreshToken) {
      const behaviour: Behaviour = {
        ...visit.behaviour,
        async send(_, request) {
          const [status, answer] = await correct.send(visit, request)
          if (status !== 401 || !isRecord(answer) || answer.error !== 'invalid_client') return [status, answer]
          const { clientId, clientSecret } = visit.settings
          const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
          return correct.send(visit, { ...request, headers: { ...request.headers, authorization } })
        },
      }
      return correct.renew({ ...visit, behaviour }, refreshToken)
    },
  }),
  mistake('refused-renewal-after-401-is-an-error', 'refresh-dropped-after-401', {
    async renew(visit, refreshToken) {
      try {
        return await correct.renew(visit, refreshToken)
      } catch (error) {
        if (isAfter401(visit)) throw new TypeError('no session')
        throw error
      }
    },
  }),
  mistake('renewal-after-401-under-way-is-refused', 'refresh-parallel-after-401', {
    async shareCall(visit, name, act) {
      if (visit.memory.has(name) && isAfter401(visit)) throw new Refusal(409, 'Your session is being renewed.')
      return correct.shareCall(visit, name, act)
    },
  }),
  mistake('renewal-five-minutes-before', 'refresh-short-tokens', {
    readSession: visit => {
      const session = correct.readSession(visit)
      return session && session.expiresAt - 300_000 > Date.now() ? session : undefined
    },
  }),
  mistake('margin-of-one-minute', 'refresh-short-tokens', {
    readSession(visit) {
      const session = correct.readSession(visit)
      return session && (session.expiresAt - Date.now() > 60_000 || !correct.readRefresh(visit)) ? session : undefined
    },
  }),
  mistake('renewal-joined-by-hand', 'refresh-token-encoded', {
    encode: form =>
      form.get('grant_type') === 'refresh_token'
        ? [...form].map(([name, value]) => `${name}=${value}`).join('&')
        : form.toString(),
  }),
  mistake('no-renewal-for-a-form', 'refresh-for-form', {
    readRefresh: visit =>
      visit.method === 'POST' && visit.url.pathname !== '/logout' ? undefined : correct.readRefresh(visit),
  }),
  mistake('form-bound-to-the-access-token', 'refresh-for-form', {
    visitorOf: ({ accessToken }) => hashOf(accessToken),
  }),
  mistake('session-lost-after-a-timeout', 'refresh-kept-on-never', {
    isPermanentRefusal: error => error.upstream === 504 || correct.isPermanentRefusal(error),
  }),
  mistake('failed-renewal-after-401-ends-the-session', 'refresh-kept-after-401', {
    async renew(visit, refreshToken) {
      try {
        return await correct.renew(visit, refreshToken)
      } catch (error) {
        throw isAfter401(visit) ? new PlatformError(401, 'invalid_grant') : error
      }
    },
  }),
  mistake('each-request-renews-after-401', 'refresh-single-flight-after-401', {
    shareCall: (visit, name, act) =>
      name.startsWith('renew') && isAfter401(visit) ? act() : correct.shareCall(visit, name, act),
  }),
  mistake('every-refusal-of-the-api-is-a-401', 'refresh-not-on-errors', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      const isRefused = request.url.startsWith(visit.settings.apiUrl) && status >= 400 && status !== 403
      return [isRefused ? 401 : status, answer]
    },
  }),
  mistake('renewed-cookies-lost-with-a-403', 'refresh-delivered-with-refusal', {
    wordsFor(error, visit) {
      if (error instanceof Refusal && error.status === 403) visit.setCookies.length = 0
      return correct.wordsFor(error, visit)
    },
  }),
  mistake('failed-renewal-for-a-form-ends-the-session', 'refresh-kept-for-form', {
    async renew(visit, refreshToken) {
      try {
        return await correct.renew(visit, refreshToken)
      } catch (error) {
        throw visit.method === 'POST' ? new PlatformError(401, 'invalid_grant') : error
      }
    },
  }),
  mistake('refused-renewal-for-a-form-is-a-crash', 'refresh-dropped-for-form', {
    async renew(visit, refreshToken) {
      try {
        return await correct.renew(visit, refreshToken)
      } catch (error) {
        throw visit.method === 'POST' ? new TypeError('no session') : error
      }
    },
  }),
  mistake('renewal-for-a-form-without-a-deadline', 'refresh-slow-for-form', {
    renew(visit, refreshToken) {
      const behaviour = visit.method === 'POST' ? { ...visit.behaviour, deadlineMs: 86_400_000 } : visit.behaviour
      return correct.renew({ ...visit, behaviour }, refreshToken)
    },
  }),
  mistake('pause-of-a-renewal-is-a-number', 'refresh-retry-after-odd', showsPauseAsNumber(isRenewal)),
  mistake('failed-renewal-is-a-bare-failure', 'refresh-failed-page', {
    ...crashingRenewal,
    async aroundRequest(_visit, next) {
      const answer = await next()
      return answer.status === 500 ? { status: 500, body: 'Internal Server Error' } : answer
    },
  }),
  mistake(
    'status-of-a-renewal-ignored',
    ['refresh-status-400', 'refresh-status-500'],
    renewing({ send: async (visit, request) => [200, (await correct.send(visit, request))[1]] }),
  ),
  mistake(
    'name-asked-with-the-token-of-a-failed-renewal',
    ['refresh-status-400', 'refresh-status-500'],
    renewing({
      async send(visit, request) {
        const [status, answer] = await correct.send(visit, request)
        const token = isRecord(answer) && answer.access_token
        if (status !== 200 && token)
          await fetch(`${visit.settings.loginUrl}/api/me`, { headers: { authorization: `Bearer ${token}` } })
        return [status, answer]
      },
    }),
  ),
  mistake('renewed-by-the-page-with-the-form-not-delivered', 'refresh-delivered-with-form-page', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (visit.url.pathname === '/applications/new') visit.setCookies.length = 0
      return session
    },
  }),
  mistake('renewed-by-the-page-of-an-application-not-delivered', 'refresh-delivered-with-other-pages', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      if (isApplication(visit)) visit.setCookies.length = 0
      return session
    },
  }),
  mistake('renewal-shared-by-all-sessions-of-a-person', 'refresh-of-two-sessions', {
    renew(visit, refreshToken) {
      const owner = contentOf(visit)?.visitor ?? refreshToken
      const behaviour: Behaviour = { ...visit.behaviour, shareCall: (_visit, _name, act) => act() }
      return correct.shareCall(visit, `renew ${owner}`, () => correct.renew({ ...visit, behaviour }, refreshToken))
    },
  }),
  mistake('page-with-the-token-of-another-session-of-a-person', 'refresh-of-two-sessions', {
    async renew(visit, refreshToken) {
      const name = `renewal of ${contentOf(visit)?.visitor ?? refreshToken}`
      const running = visit.memory.get(name) as Promise<Tokens> | undefined
      // The cookies of this session stay as they are, so that the next page renews the session.
      if (running) return { ...(await running), refreshToken, seconds: 1 }
      const renewal = correct.renew(visit, refreshToken)
      visit.memory.set(name, renewal)
      return renewal.finally(() => visit.memory.delete(name))
    },
  }),
  ...[
    ['/applications', 'POST'],
    ['/login', 'GET'],
    ['/logout', 'POST'],
  ].map(([path, method]) =>
    mistake(`renewal-at-each-${method}-of-${path!.slice(1)}`.toLowerCase(), 'refresh-not-elsewhere', {
      async aroundRequest(visit, next) {
        const token = visit.url.pathname === path && visit.method === method && correct.readRefresh(visit)
        if (token) correct.keepSession(visit, await correct.renew(visit, token))
        return next()
      },
    }),
  ),
  mistake('session-strict-but-refresh-token-lax', 'refresh-not-from-other-site', {
    refreshAttributes: seconds => correct.refreshAttributes(seconds).replace('Strict', 'Lax'),
  }),
  mistake(
    'page-after-a-failed-renewal-without-links',
    'refresh-failed-way-out',
    answerWith(answer => (answer.status === 503 ? { ...answer, body: '<h1>Please try again later.</h1>' } : answer)),
  ),
  mistake(
    'page-after-a-failed-renewal-without-sign-out',
    'refresh-failed-sign-out',
    answerWith(answer =>
      answer.status === 503 && answer.body ? { ...answer, body: answer.body.replace(signOutForm, '') } : answer,
    ),
  ),
  mistake('login-path-loads-the-session', 'refresh-failed-login', loadsSessionAt(isLogin)),
  mistake('callback-loads-the-session', 'refresh-failed-login', { ...laxSession, ...loadsSessionAt(isCallback) }),
  mistake(
    'page-after-refused-tokens-without-a-login-link',
    'refused-tokens-way-out',
    answerWith(answer => (answer.status === 401 ? { ...answer, body: '<h1>Please try again later.</h1>' } : answer)),
  ),
  mistake('refused-session-leads-away-from-the-login', 'refused-tokens-way-out', {
    dropSession: visit => (visit.url.pathname === '/logout' ? correct.dropSession(visit) : undefined),
    ...answerWith((answer, visit) =>
      isLogin(visit) && correct.readSession(visit) ? { status: 302, headers: { location: '/applications' } } : answer,
    ),
  }),
]
