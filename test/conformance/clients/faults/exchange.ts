import { createHmac } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import { right } from '../parts.ts'
import { callPortal, isRecord } from '../platform.ts'
import { Refusal, type Visit } from '../visit.ts'
import { exchangeWith, fault, memoryOf, readable } from './fault.ts'

export const exchange = [
  fault('secret-in-the-address', 'exchange-no-query', {
    portalUrl: ({ settings }, path, form) => `${settings.loginUrl}${path}?client_secret=${form.get('client_secret')}`,
  }),
  fault('secret-twice', 'exchange-one-authentication', {
    portalHeaders({ settings }) {
      const basic = Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')
      return { ...right.portalHeaders({} as never), authorization: `Basic ${basic}` }
    },
  }),
  fault('exchange-as-json', 'exchange-form', {
    portalHeaders: () => ({ 'content-type': 'application/json' }),
    encode: form => JSON.stringify(Object.fromEntries(form)),
  }),
  fault(
    'exchange-without-state',
    'exchange-state',
    exchangeWith(form => form.delete('state')),
  ),
  fault(
    'exchange-without-redirect-uri',
    'exchange-redirect-uri',
    exchangeWith(form => form.delete('redirect_uri')),
  ),
  fault(
    'exchange-grant-type-of-the-start',
    'exchange-grant-type',
    exchangeWith(form => form.set('grant_type', 'authorization')),
  ),
  fault(
    'exchange-with-a-field-twice',
    'exchange-fields-once',
    exchangeWith(form => form.append('client_id', form.get('client_id')!)),
  ),
  fault(
    'verifier-not-sent',
    'exchange-verifier',
    exchangeWith(form => form.delete('code_verifier')),
  ),
  fault('exchange-twice', 'exchange-once', {
    async exchange(visit, callback, login) {
      const tokens = await right.exchange(visit, callback, login)
      await callPortal(visit, '/api/exchangeToken', right.exchangeForm(visit, callback, login)).catch(() => {})
      return tokens
    },
  }),
  fault(
    'browser-headers-passed-on',
    [
      'exchange-without-cookie',
      'exchange-without-authorization',
      'exchange-without-referer',
      'exchange-without-x-forwarded-for',
      'exchange-without-user-agent',
    ],
    {
      portalHeaders: ({ headers }) => ({
        ...Object.fromEntries(
          ['cookie', 'authorization', 'referer', 'x-forwarded-for', 'user-agent', 'accept-language'].flatMap(name =>
            headers[name] ? [[name, String(headers[name])]] : [],
          ),
        ),
        'content-type': 'application/x-www-form-urlencoded',
      }),
    },
  ),
  fault(
    'token-state-unchecked',
    [
      'token-answer-state-other',
      'token-answer-state-missing',
      'token-answer-state-null',
      'token-answer-state-empty',
      'token-answer-state-number',
    ],
    { isStateOf: () => true },
  ),
  fault('token-state-without-case', 'token-answer-state-other-case', {
    isStateOf: (answer, state) => `${answer.state}`.toLowerCase() === state.toLowerCase(),
  }),
  fault('token-state-beginning-enough', 'token-answer-state-cut', {
    isStateOf: (answer, state) => Boolean(answer.state) && state.startsWith(`${answer.state}`),
  }),
  fault('token-state-longer-passes', 'token-answer-state-longer', {
    isStateOf: (answer, state) => `${answer.state}`.startsWith(state),
  }),
  fault('token-state-missing-passes', 'token-answer-state-missing', {
    isStateOf: (answer, state) => answer.state === undefined || answer.state === state,
  }),
  fault(
    'token-type-ignored',
    [
      'token-answer-token-type-mac',
      'token-answer-token-type-missing',
      'token-answer-token-type-null',
      'token-answer-token-type-empty',
      'token-answer-token-type-number',
    ],
    { isBearer: () => true },
  ),
  fault('token-type-in-one-case', 'token-answer-lowercase-type', { isBearer: type => type === 'Bearer' }),
  fault('access-token-unchecked', 'token-answer-access-token-number', {
    isToken: (token): token is string => token !== undefined,
  }),
  fault(
    'access-token-missing-passes',
    [
      'token-answer-access-token-missing',
      'token-answer-access-token-null',
      'token-answer-access-token-empty',
      'token-answer-access-token-number',
      'token-answer-access-token-list',
      'token-answer-access-token-not-ascii',
    ],
    { isToken: (_token): _token is string => true },
  ),
  fault('expires-in-nan', 'token-answer-expires-in-missing', { lifetime: value => Number(value) }),
  fault('expires-in-text', 'token-answer-expires-in-words', { lifetime: value => value as number }),
  fault('expires-in-parsed', 'token-answer-expires-in-null', { lifetime: value => Number.parseInt(String(value), 10) }),
  fault('session-readable', 'tokens-sealed', {
    seal: (_visit, _name, value) => readable.write(value),
    unseal: (_visit, _name, text) => readable.read(text),
  }),
  fault('session-is-the-token', 'tokens-sealed', {
    seal: (visit, name, value) =>
      name === visit.parts.sessionCookie
        ? (value as { accessToken: string }).accessToken
        : right.seal(visit, name, value),
    unseal: (visit, name, text) =>
      name === visit.parts.sessionCookie
        ? { accessToken: text, visitor: 'me', expiresAt: Date.now() + 60_000 }
        : right.unseal(visit, name, text),
  }),
  fault('token-in-the-address', 'tokens-not-in-browser', {
    arrive: (visit, login) => ({
      status: 303,
      headers: { location: `${login.returnTo}#access_token=${tokenSetIn(visit)}` },
    }),
    sessionAttributes: seconds => right.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: seconds => right.refreshAttributes(seconds).replace('Strict', 'Lax'),
  }),
  fault('token-for-scripts', 'tokens-not-in-browser', {
    setCookie(visit, name, value, attributes) {
      right.setCookie(visit, name, value, attributes)
      const { accessToken } = value as { accessToken?: string }
      if (accessToken) visit.setCookies.push(`access_token=${accessToken}; Path=/; Secure; SameSite=Strict`)
    },
  }),

  ...['code', 'client_id', 'client_secret'].map(name =>
    fault(
      `exchange-without-${name}`,
      `exchange-${name.replace('_', '-')}`,
      exchangeWith(form => form.delete(name)),
    ),
  ),
  fault(
    'exchange-code-trimmed',
    'exchange-code',
    exchangeWith(form => form.set('code', form.get('code')!.slice(0, 20))),
  ),
  fault('token-in-the-query', 'token-in-header', {
    send(visit, request) {
      const token = request.headers.authorization?.slice('Bearer '.length)
      return right.send(visit, token ? { ...request, url: `${request.url}?for=${token}` } : request)
    },
  }),
  fault('browser-headers-to-the-api', 'api-call-own-headers', {
    send(visit, request) {
      const sent = Object.entries(visit.headers).filter(([name]) => name.startsWith('x-') || name === 'cookie')
      return right.send(visit, { ...request, headers: { ...Object.fromEntries(sent), ...request.headers } as never })
    },
  }),
  fault('access-token-made-to-fit', ['token-answer-access-token-with-newline', 'token-answer-access-token-not-ascii'], {
    isToken: (token): token is string => typeof token === 'string',
    readTokens: (visit, answer) =>
      right.readTokens(visit, { ...answer, access_token: encodeURI(`${answer.access_token}`) }),
  }),
  fault('refresh-token-needed', 'token-answer-no-refresh-token', {
    readTokens(visit, answer) {
      if (!answer.refresh_token) throw new Refusal(502, 'The portal gave no refresh token.')
      return right.readTokens(visit, answer)
    },
  }),
  fault(
    'refresh-token-as-it-came',
    ['null', 'number', 'with-newline'].map(what => `token-answer-refresh-token-${what}`),
    {
      seal: (visit, name, value) =>
        name === right.refreshCookie
          ? `${(value as { refreshToken: unknown }).refreshToken}`
          : right.seal(visit, name, value),
      unseal: (visit, name, text) =>
        name === right.refreshCookie
          ? { refreshToken: text, endsAt: Date.now() + 60_000 }
          : right.unseal(visit, name, text),
      readTokens: (visit, answer) => ({
        ...right.readTokens(visit, answer),
        refreshToken: answer.refresh_token === undefined ? undefined : `${answer.refresh_token}`,
      }),
    },
  ),
  fault('empty-refresh-token-hangs-up', 'token-answer-refresh-token-empty', {
    readTokens(visit, answer) {
      if (answer.refresh_token === '') throw new RangeError('The refresh token has no first part.')
      return right.readTokens(visit, answer)
    },
    statusFor(error) {
      if (error instanceof RangeError) throw error
      return right.statusFor(error)
    },
  }),
  fault('expires-in-only-as-a-number', ['token-answer-expires-in-text', 'token-answer-expires-in-true'], {
    lifetime: value => (typeof value === 'number' ? value : (undefined as never)),
  }),
  fault('expires-in-true-is-a-number', 'token-answer-expires-in-converted', {
    lifetime: value => right.lifetime(value === true ? 1 : value),
  }),
  fault('expires-in-unsigned', 'token-answer-expires-in-negative', { lifetime: value => Number(value) >>> 0 }),
  fault('expires-in-zero-is-for-ever', 'token-answer-expires-in-zero', {
    lifetime: value => Number(value) || 10 * 365 * 86_400,
  }),
  fault('lifetime-made-up', ['token-answer-over-zero', 'token-answer-over-negative'], {
    lifetime: value => (Number(value) > 0 ? Number(value) : 3600),
  }),
  fault('unknown-member-refused', 'token-answer-unknown-member', {
    readTokens(visit, answer) {
      const known = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope', 'state']
      if (Object.keys(answer).some(name => !known.includes(name))) throw new Refusal(502, 'Not as agreed.')
      return right.readTokens(visit, answer)
    },
  }),
  fault('status-of-the-exchange-ignored', ['token-answer-status-400', 'token-answer-status-500'], {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return [request.url.endsWith('/api/exchangeToken') ? 200 : status, answer]
    },
  }),
  fault('expires-in-as-it-came', ['token-answer-expires-in-fraction', 'token-answer-expires-in-huge'], {
    lifetime: value => value as number,
  }),
  fault('secret-in-a-header-of-the-exchange', 'exchange-one-authentication', {
    portalHeaders: visit => ({ ...right.portalHeaders(visit), 'x-client-secret': visit.settings.clientSecret }),
  }),
  fault('last-verifier-for-every-login', 'exchange-verifier-own', {
    newVerifier(visit) {
      const verifier = right.newVerifier(visit)
      memoryOf(visit).set('verifier', verifier)
      return verifier
    },
    exchangeForm: (visit, callback, login) =>
      right.exchangeForm(visit, callback, {
        ...login,
        verifier: `${memoryOf(visit).get('verifier') ?? login.verifier}`,
      }),
  }),
  fault('no-redirect-uri-for-a-login-with-a-return-address', 'exchange-every-login', {
    startQuery(visit, state, verifier) {
      memoryOf(visit).set(`returns ${state}`, visit.query.has('returnTo'))
      return right.startQuery(visit, state, verifier)
    },
    ...exchangeWith((form, visit) => {
      if (memoryOf(visit).get(`returns ${form.get('state')}`)) form.delete('redirect_uri')
    }),
  }),
  fault('token-type-that-begins-like-bearer', 'token-answer-token-type-similar', {
    isBearer: type => typeof type === 'string' && /^bearer/i.test(type),
  }),
  fault('any-access-token-that-is-there', 'token-answer-access-token-other', {
    isToken: (token): token is string => Boolean(token),
  }),
  fault('state-of-a-list', 'token-answer-state-list', { isStateOf: (answer, state) => `${answer.state}` === state }),
  fault('state-compared-loosely', ['token-answer-state-true', 'token-answer-state-zero'], {
    isStateOf: ({ state: sent }, state) => sent === true || sent === 0 || sent === state,
  }),
  fault('token-type-in-two-cases', 'token-answer-uppercase-type', {
    isBearer: type => type === 'Bearer' || type === 'bearer',
  }),
  fault(
    'lifetime-as-it-came',
    ['decimal', 'long', 'exponent'].map(id => `token-answer-expires-in-${id}`),
    { lifetime: value => (typeof value === 'number' && value > 0 ? value : right.lifetime(value)) },
  ),
  fault('session-packed-and-signed', 'tokens-sealed', {
    seal(visit, _name, value) {
      const text = deflateSync(JSON.stringify(value)).toString('base64url')
      return `.${text}.${createHmac('sha256', visit.settings.key).update(text).digest('base64url')}`
    },
    unseal(visit, _name, sealed) {
      const [, text = '', mac] = sealed.split('.')
      if (createHmac('sha256', visit.settings.key).update(text).digest('base64url') !== mac) return undefined
      return JSON.parse(inflateSync(Buffer.from(text, 'base64url')).toString())
    },
  }),
  fault(
    'access-token-that-is-no-header',
    ['token-answer-access-token-control', 'token-answer-access-token-with-newline'],
    { isToken: (token): token is string => typeof token === 'string' && token !== '' },
  ),
  fault('token-state-trimmed', ['token-answer-state-space', 'token-answer-state-line-break'], {
    isStateOf: (answer, state) => typeof answer.state === 'string' && answer.state.trim() === state,
  }),
  fault('state-of-any-login-that-began', 'token-answer-state-of-another-tab', {
    newState(visit) {
      const state = right.newState(visit)
      memoryOf(visit).set(`began ${state}`, true)
      return state
    },
    async exchange(visit, callback, login) {
      const answer = await callPortal(visit, '/api/exchangeToken', right.exchangeForm(visit, callback, login))
      if (!memoryOf(visit).has(`began ${answer.state}`)) throw new Refusal(502, 'This answer is of another login.')
      return right.readTokens(visit, answer)
    },
  }),
  fault(
    'expires-in-of-another-type-hangs-up',
    ['list', 'object', 'empty'].map(what => `token-answer-expires-in-${what}`),
    {
      lifetime(value) {
        if (typeof value === 'object' || value === '') throw new RangeError('This value is no number.')
        return right.lifetime(value)
      },
      statusFor(error) {
        if (error instanceof RangeError) throw error
        return right.statusFor(error)
      },
    },
  ),
  fault(
    'renewal-without-a-refresh-token',
    ['token-answer-no-refresh-token-expired', 'token-answer-no-refresh-token-refused'],
    {
      keepSession(visit, tokens) {
        memoryOf(visit).set('signed in', true)
        return right.keepSession(visit, tokens)
      },
      readRefresh: visit => right.readRefresh(visit) ?? (memoryOf(visit).has('signed in') ? 'undefined' : undefined),
    },
  ),
  fault('first-value-of-a-doubled-name', 'token-answer-doubled-names', {
    parse(text, type) {
      const answer = right.parse(text, type)
      if (!isRecord(answer)) return answer
      const first = Object.keys(answer).map(name => [name, new RegExp(`"${name}":"([^"]*)"`).exec(text)?.[1]])
      return { ...answer, ...Object.fromEntries(first.filter(([, value]) => value !== undefined)) }
    },
  }),
  fault('session-emptied-at-the-callback', 'exchange-failed-keeps-session', {
    beforeState: async visit => right.dropSession(visit),
  }),
  fault('failed-login-ends-the-session', 'exchange-failed-keeps-session', {
    wordsFor(error, visit) {
      if (visit.url.pathname === '/exchangeToken') right.dropSession(visit)
      return right.wordsFor(error, visit)
    },
  }),
]

function tokenSetIn(visit: Visit): string {
  const text = visit.setCookies.find(line => line.startsWith(right.sessionCookie))?.match(/=([^;]*)/)?.[1] ?? ''
  return (right.unseal(visit, right.sessionCookie, text) as { accessToken: string }).accessToken
}
