import { right } from '../parts.ts'
import { callPortal } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { exchangeWith, fault, readable } from './fault.ts'

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
  fault('browser-headers-passed-on', 'exchange-without-cookie', {
    portalHeaders: ({ headers }) => ({
      ...Object.fromEntries(
        ['cookie', 'user-agent', 'accept-language'].flatMap(name =>
          headers[name] ? [[name, String(headers[name])]] : [],
        ),
      ),
      'content-type': 'application/x-www-form-urlencoded',
    }),
  }),
  fault('token-state-unchecked', 'token-answer-state-other', { isStateOf: () => true }),
  fault('token-state-missing-passes', 'token-answer-state-missing', {
    isStateOf: (answer, state) => answer.state === undefined || answer.state === state,
  }),
  fault('token-type-ignored', 'token-answer-token-type-mac', { isBearer: () => true }),
  fault('token-type-in-one-case', 'token-answer-lowercase-type', { isBearer: type => type === 'Bearer' }),
  fault('access-token-unchecked', 'token-answer-access-token-number', {
    isToken: (token): token is string => token !== undefined,
  }),
  fault('access-token-missing-passes', 'token-answer-access-token-missing', {
    isToken: (_token): _token is string => true,
  }),
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
]

function tokenSetIn(visit: Visit): string {
  const text = visit.setCookies.find(line => line.startsWith(right.sessionCookie))?.match(/=([^;]*)/)?.[1] ?? ''
  return (right.unseal(visit, right.sessionCookie, text) as { accessToken: string }).accessToken
}
