// Clients that send a wrong request for the exchange, or accept a token response that they must refuse.
import { createHmac } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import { correct } from '../behaviour.ts'
import { answerWith, exchangeWith, readable } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { callPortal, isRecord } from '../platform.ts'
import { PlatformError, Refusal, type Visit } from '../visit.ts'

function tokenSetIn(visit: Visit): string {
  const text = visit.setCookies.find(line => line.startsWith(correct.sessionCookie))?.match(/=([^;]*)/)?.[1] ?? ''
  return (correct.unseal(visit, correct.sessionCookie, text) as { accessToken: string }).accessToken
}

const basic = ({ settings }: Visit) =>
  `Basic ${Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')}`

export const exchange: Mistake[] = [
  mistake('exchange-as-json', 'exchange-form', {
    portalHeaders: () => ({ 'content-type': 'application/json' }),
    encode: form => JSON.stringify(Object.fromEntries(form)),
  }),
  mistake(
    'exchange-grant-type-of-the-start',
    'exchange-grant-type',
    exchangeWith(form => form.set('grant_type', 'authorization')),
  ),
  ...['code', 'client_id', 'client_secret'].map(name =>
    mistake(
      `exchange-without-${name}`,
      `exchange-${name.replace('_', '-')}`,
      exchangeWith(form => form.delete(name)),
    ),
  ),
  mistake(
    'exchange-code-trimmed',
    'exchange-code',
    exchangeWith(form => form.set('code', form.get('code')!.slice(0, 20))),
  ),
  mistake(
    'exchange-without-redirect-uri',
    'exchange-redirect-uri',
    exchangeWith(form => form.delete('redirect_uri')),
  ),
  mistake(
    'exchange-without-state',
    'exchange-state',
    exchangeWith(form => form.delete('state')),
  ),
  mistake(
    'exchange-with-a-field-twice',
    'exchange-fields-once',
    exchangeWith(form => form.append('client_id', form.get('client_id')!)),
  ),
  mistake('secret-in-the-address', 'exchange-no-query', {
    portalUrl: ({ settings }, path, form) => `${settings.loginUrl}${path}?client_secret=${form.get('client_secret')}`,
  }),
  mistake('secret-twice', 'exchange-one-authentication', {
    portalHeaders({ settings }) {
      const basic = Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')
      return { ...correct.portalHeaders({} as never), authorization: `Basic ${basic}` }
    },
  }),
  mistake('secret-in-a-header-of-the-exchange', 'exchange-one-authentication', {
    portalHeaders: visit => ({ ...correct.portalHeaders(visit), 'x-client-secret': visit.settings.clientSecret }),
  }),
  mistake('exchange-tried-again-with-basic', 'exchange-one-authentication', {
    async send(visit, request) {
      const answer = await correct.send(visit, request)
      if (answer[0] !== 401 || !request.url.endsWith('/api/exchangeToken')) return answer
      return correct.send(visit, { ...request, headers: { ...request.headers, authorization: basic(visit) } })
    },
  }),
  mistake('exchange-twice', 'exchange-once', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      await callPortal(visit, '/api/exchangeToken', correct.exchangeForm(visit, callback, login)).catch(() => {})
      return tokens
    },
  }),
  mistake(
    'verifier-not-sent',
    'exchange-verifier',
    exchangeWith(form => form.delete('code_verifier')),
  ),
  mistake('last-verifier-for-every-login', 'exchange-verifier-own', {
    newVerifier(visit) {
      const verifier = correct.newVerifier(visit)
      visit.memory.set('verifier', verifier)
      return verifier
    },
    exchangeForm: (visit, callback, login) =>
      correct.exchangeForm(visit, callback, {
        ...login,
        verifier: `${visit.memory.get('verifier') ?? login.verifier}`,
      }),
  }),
  mistake('no-redirect-uri-for-a-login-with-a-return-address', 'exchange-every-login', {
    startQuery(visit, state, verifier) {
      visit.memory.set(`returns ${state}`, visit.query.has('returnTo'))
      return correct.startQuery(visit, state, verifier)
    },
    ...exchangeWith((form, visit) => {
      if (visit.memory.get(`returns ${form.get('state')}`)) form.delete('redirect_uri')
    }),
  }),
  mistake(
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
  mistake('token-in-the-query', 'token-in-header', {
    send(visit, request) {
      const token = request.headers.authorization?.slice('Bearer '.length)
      return correct.send(visit, token ? { ...request, url: `${request.url}?for=${token}` } : request)
    },
  }),
  mistake('browser-headers-to-the-api', 'api-call-own-headers', {
    send(visit, request) {
      const sent = Object.entries(visit.headers).filter(([name]) => name.startsWith('x-') || name === 'cookie')
      return correct.send(visit, { ...request, headers: { ...Object.fromEntries(sent), ...request.headers } as never })
    },
  }),
  mistake('token-of-the-browser-at-the-api', 'api-call-own-headers', {
    send: (visit, call) =>
      correct.send(visit, {
        ...call,
        headers: {
          ...call.headers,
          ...(visit.headers.authorization?.startsWith('Bearer ') && { authorization: visit.headers.authorization }),
        },
      }),
  }),
  mistake('token-in-the-address', 'tokens-not-in-browser', {
    afterLogin: (visit, login) => ({
      status: 303,
      headers: { location: `${login.returnTo}#access_token=${tokenSetIn(visit)}` },
    }),
    sessionAttributes: seconds => correct.sessionAttributes(seconds).replace('Strict', 'Lax'),
    refreshAttributes: seconds => correct.refreshAttributes(seconds).replace('Strict', 'Lax'),
  }),
  mistake('token-for-scripts', 'tokens-not-in-browser', {
    setCookie(visit, name, value, attributes) {
      correct.setCookie(visit, name, value, attributes)
      const { accessToken } = value as { accessToken?: string }
      if (accessToken) visit.setCookies.push(`access_token=${accessToken}; Path=/; Secure; SameSite=Strict`)
    },
  }),
  mistake('session-readable', 'tokens-sealed', {
    seal: (_visit, _name, value) => readable.write(value),
    unseal: (_visit, _name, text) => readable.read(text),
  }),
  mistake('session-is-the-token', 'tokens-sealed', {
    seal: (visit, name, value) =>
      name === visit.behaviour.sessionCookie
        ? (value as { accessToken: string }).accessToken
        : correct.seal(visit, name, value),
    unseal: (visit, name, text) =>
      name === visit.behaviour.sessionCookie
        ? { accessToken: text, visitor: 'me', expiresAt: Date.now() + 60_000 }
        : correct.unseal(visit, name, text),
  }),
  mistake('session-packed-and-signed', 'tokens-sealed', {
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
  mistake(
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
  mistake('token-state-missing-passes', 'token-answer-state-missing', {
    isStateOf: (answer, state) => answer.state === undefined || answer.state === state,
  }),
  mistake(
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
  mistake('access-token-unchecked', 'token-answer-access-token-number', {
    isToken: (token): token is string => token !== undefined,
  }),
  // In many languages, $ in a pattern also matches before a line break at the end of the text.
  mistake('access-token-matched-before-a-final-line-break', 'token-answer-access-token-control', {
    isToken: (token): token is string => typeof token === 'string' && /^[\w.~+/-]+=*\n?$/.test(token),
  }),
  mistake(
    'access-token-made-to-fit',
    ['token-answer-access-token-with-newline', 'token-answer-access-token-not-ascii'],
    {
      isToken: (token): token is string => typeof token === 'string',
      readTokens: (visit, answer) =>
        correct.readTokens(visit, { ...answer, access_token: encodeURI(`${answer.access_token}`) }),
    },
  ),
  mistake(
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
  mistake(
    'access-token-that-is-no-header',
    ['token-answer-access-token-control', 'token-answer-access-token-with-newline'],
    { isToken: (token): token is string => typeof token === 'string' && token !== '' },
  ),
  mistake('token-type-that-begins-like-bearer', 'token-answer-token-type-similar', {
    isBearer: type => typeof type === 'string' && /^bearer/i.test(type),
  }),
  mistake('any-access-token-that-is-there', 'token-answer-access-token-other', {
    isToken: (token): token is string => Boolean(token),
  }),
  mistake('token-state-without-case', 'token-answer-state-other-case', {
    isStateOf: (answer, state) => `${answer.state}`.toLowerCase() === state.toLowerCase(),
  }),
  mistake('token-state-beginning-enough', 'token-answer-state-cut', {
    isStateOf: (answer, state) => Boolean(answer.state) && state.startsWith(`${answer.state}`),
  }),
  mistake('token-state-longer-passes', 'token-answer-state-longer', {
    isStateOf: (answer, state) => `${answer.state}`.startsWith(state),
  }),
  mistake('token-state-trimmed', ['token-answer-state-space', 'token-answer-state-line-break'], {
    isStateOf: (answer, state) => typeof answer.state === 'string' && answer.state.trim() === state,
  }),
  mistake('state-of-a-list', 'token-answer-state-list', { isStateOf: (answer, state) => `${answer.state}` === state }),
  mistake('state-compared-loosely', ['token-answer-state-true', 'token-answer-state-zero'], {
    isStateOf: ({ state: sent }, state) => sent === true || sent === 0 || sent === state,
  }),
  mistake('state-of-any-login-that-began', 'token-answer-state-of-another-tab', {
    newState(visit) {
      const state = correct.newState(visit)
      visit.memory.set(`began ${state}`, true)
      return state
    },
    async exchange(visit, callback, login) {
      const answer = await callPortal(visit, '/api/exchangeToken', correct.exchangeForm(visit, callback, login))
      if (!visit.memory.has(`began ${answer.state}`)) throw new Refusal(502, 'This answer is for another login.')
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('token-type-in-one-case', 'token-answer-lowercase-type', { isBearer: type => type === 'Bearer' }),
  mistake('token-type-in-two-cases', 'token-answer-uppercase-type', {
    isBearer: type => type === 'Bearer' || type === 'bearer',
  }),
  mistake('refresh-token-needed', 'token-answer-no-refresh-token', {
    readTokens(visit, answer) {
      if (!answer.refresh_token) throw new Refusal(502, 'The portal gave no refresh token.')
      return correct.readTokens(visit, answer)
    },
  }),
  mistake(
    'refresh-token-as-it-came',
    ['null', 'number', 'with-newline'].map(what => `token-answer-refresh-token-${what}`),
    {
      seal: (visit, name, value) =>
        name === correct.refreshCookie
          ? `${(value as { refreshToken: unknown }).refreshToken}`
          : correct.seal(visit, name, value),
      unseal: (visit, name, text) =>
        name === correct.refreshCookie
          ? { refreshToken: text, endsAt: Date.now() + 60_000 }
          : correct.unseal(visit, name, text),
      readTokens: (visit, answer) => ({
        ...correct.readTokens(visit, answer),
        refreshToken: answer.refresh_token === undefined ? undefined : `${answer.refresh_token}`,
      }),
    },
  ),
  mistake('null-is-a-refresh-token', 'token-answer-refresh-token-null', {
    readTokens(visit, answer) {
      const tokens = correct.readTokens(visit, answer)
      return answer.refresh_token === null ? { ...tokens, refreshToken: `${answer.refresh_token}` } : tokens
    },
  }),
  mistake('empty-refresh-token-hangs-up', 'token-answer-refresh-token-empty', {
    readTokens(visit, answer) {
      if (answer.refresh_token === '') throw new RangeError('The refresh token has no first part.')
      return correct.readTokens(visit, answer)
    },
    statusFor(error) {
      if (error instanceof RangeError) throw error
      return correct.statusFor(error)
    },
  }),
  mistake('expires-in-nan', 'token-answer-expires-in-missing', { lifetime: value => Number(value) }),
  mistake('expires-in-parsed', 'token-answer-expires-in-null', {
    lifetime: value => Number.parseInt(String(value), 10),
  }),
  mistake('expires-in-text', 'token-answer-expires-in-words', { lifetime: value => value as number }),
  mistake('expires-in-only-as-a-number', ['token-answer-expires-in-text', 'token-answer-expires-in-true'], {
    lifetime: value => (typeof value === 'number' ? value : (undefined as never)),
  }),
  mistake('expires-in-unsigned', 'token-answer-expires-in-negative', { lifetime: value => Number(value) >>> 0 }),
  mistake('expires-in-zero-is-for-ever', 'token-answer-expires-in-zero', {
    lifetime: value => Number(value) || 10 * 365 * 86_400,
  }),
  mistake('expires-in-as-it-came', ['token-answer-expires-in-fraction', 'token-answer-expires-in-huge'], {
    lifetime: value => value as number,
  }),
  mistake(
    'lifetime-as-it-came',
    ['decimal', 'long', 'exponent'].map(id => `token-answer-expires-in-${id}`),
    { lifetime: value => (typeof value === 'number' && value > 0 ? value : correct.lifetime(value)) },
  ),
  mistake(
    'expires-in-of-another-type-hangs-up',
    ['list', 'object', 'empty'].map(what => `token-answer-expires-in-${what}`),
    {
      lifetime(value) {
        if (typeof value === 'object' || value === '') throw new RangeError('This value is not a number.')
        return correct.lifetime(value)
      },
      statusFor(error) {
        if (error instanceof RangeError) throw error
        return correct.statusFor(error)
      },
    },
  ),
  mistake('session-without-refresh-token-as-long-as-the-token', 'token-answer-no-refresh-token-expires-in', {
    readTokens(visit, answer) {
      const tokens = correct.readTokens(visit, answer)
      return tokens.refreshToken ? tokens : { ...tokens, seconds: Number(answer.expires_in) }
    },
  }),
  mistake('expires-in-true-is-a-number', 'token-answer-expires-in-converted', {
    lifetime: value => correct.lifetime(value === true ? 1 : value),
  }),
  mistake('unknown-member-refused', 'token-answer-unknown-member', {
    readTokens(visit, answer) {
      const known = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope', 'state']
      if (Object.keys(answer).some(name => !known.includes(name))) throw new Refusal(502, 'Not as agreed.')
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('names-of-members-in-any-case', 'token-answer-names-in-other-case', {
    readTokens(visit, answer) {
      const inLowerCase = Object.entries(answer).map(([name, value]) => [name.toLowerCase(), value])
      return correct.readTokens(visit, Object.fromEntries(inLowerCase))
    },
  }),
  mistake('token-answer-without-scope-refused', 'token-answer-without-scope', {
    readTokens(visit, answer) {
      if (typeof answer.scope !== 'string') throw new PlatformError(502)
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('only-the-first-piece-of-an-answer-read', 'token-answer-in-pieces', {
    async readBody(response) {
      for await (const chunk of response.body ?? []) return Buffer.from(chunk).toString()
      return ''
    },
  }),
  mistake('first-value-of-a-doubled-name', 'token-answer-doubled-names', {
    parse(text, type) {
      const answer = correct.parse(text, type)
      if (!isRecord(answer)) return answer
      const first = Object.keys(answer).map(name => [name, new RegExp(`"${name}":"([^"]*)"`).exec(text)?.[1]])
      return { ...answer, ...Object.fromEntries(first.filter(([, value]) => value !== undefined)) }
    },
  }),
  mistake(
    'renewal-without-a-refresh-token',
    ['token-answer-no-refresh-token-expired', 'token-answer-no-refresh-token-refused'],
    {
      keepSession(visit, tokens) {
        visit.memory.set('signed in', true)
        return correct.keepSession(visit, tokens)
      },
      readRefresh: visit => correct.readRefresh(visit) ?? (visit.memory.has('signed in') ? 'undefined' : undefined),
    },
  ),
  mistake('status-of-the-exchange-ignored', ['token-answer-status-400', 'token-answer-status-500'], {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      return [request.url.endsWith('/api/exchangeToken') ? 200 : status, answer]
    },
  }),
  mistake('cookie-over-4096', ['token-answer-3-kb', 'token-answer-5-kb', 'token-answer-9-kb'], {
    setCookie(visit, name, value, attributes) {
      visit.setCookies.push(`${name}=${visit.behaviour.seal(visit, name, value)}; ${attributes}`)
    },
  }),
  mistake('login-refuses-large-tokens-with-a-crash', 'token-answer-9-kb', {
    ...answerWith(answer => (answer.status === 500 ? { status: 500, body: 'Internal Server Error' } : answer)),
    setCookie(visit, name, value, attributes) {
      try {
        correct.setCookie(visit, name, value, attributes)
      } catch (error) {
        throw error instanceof Refusal ? new RangeError('cookie too large') : error
      }
    },
  }),
  mistake('expires-in-rounded-down-to-zero', 'token-answer-half-second-cookies', {
    lifetime: value => Math.min(correct.lifetime(value), Math.floor(Number(value))),
  }),
  mistake('refresh-token-dropped-with-a-short-life', 'token-answer-half-second-renewed', {
    readTokens(visit, answer) {
      const tokens = correct.readTokens(visit, answer)
      return Number(answer.expires_in) < 1 ? { ...tokens, refreshToken: undefined } : tokens
    },
  }),
]
