import { right } from '../parts.ts'
import { call, callPortal } from '../platform.ts'
import { exchangeWith, fault } from './fault.ts'

export const exchange = [
  fault('secret-in-the-address', 'exchange-secret-in-body', {
    portalUrl: ({ settings }, path, form) => `${settings.loginUrl}${path}?client_secret=${form.get('client_secret')}`,
  }),
  fault('secret-twice', 'exchange-secret-in-body', {
    portalHeaders({ settings }) {
      const basic = Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')
      return { ...right.portalHeaders({} as never), authorization: `Basic ${basic}` }
    },
  }),
  fault('exchange-as-json', 'exchange-form', {
    portalHeaders: () => ({ 'content-type': 'application/json' }),
    encode: form => JSON.stringify(Object.fromEntries(form)),
  }),
  fault('exchange-fields-by-hand', 'exchange-encoded', {
    encode: form => [...form].map(([name, value]) => `${name}=${value}`).join('&'),
  }),
  fault(
    'exchange-without-state',
    'exchange-fields',
    exchangeWith(form => form.delete('state')),
  ),
  fault(
    'exchange-without-redirect-uri',
    'exchange-fields',
    exchangeWith(form => form.delete('redirect_uri')),
  ),
  fault(
    'exchange-grant-type-of-the-start',
    'exchange-fields',
    exchangeWith(form => form.set('grant_type', 'authorization')),
  ),
  fault(
    'exchange-with-a-field-twice',
    'exchange-fields',
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
  fault('browser-headers-passed-on', 'exchange-browser-headers', {
    portalHeaders: ({ headers }) => ({
      ...Object.fromEntries(
        ['cookie', 'user-agent', 'accept-language'].flatMap(name =>
          headers[name] ? [[name, String(headers[name])]] : [],
        ),
      ),
      'content-type': 'application/x-www-form-urlencoded',
    }),
  }),
  fault('token-state-unchecked', 'exchange-state-compared', { isStateOf: () => true }),
  fault('token-state-missing-passes', 'exchange-state-compared', {
    isStateOf: (answer, state) => answer.state === undefined || answer.state === state,
  }),
  fault('token-type-ignored', 'exchange-token-type', { isBearer: () => true }),
  fault('token-type-in-one-case', 'exchange-token-type-case', { isBearer: type => type === 'Bearer' }),
  fault('access-token-unchecked', 'exchange-access-token', {
    isToken: (token): token is string => token !== undefined,
  }),
  fault('access-token-missing-passes', 'exchange-access-token', { isToken: (_token): _token is string => true }),
  fault('expires-in-nan', 'exchange-expires-in', { lifetime: value => Number(value) }),
  fault('expires-in-text', 'exchange-expires-in', { lifetime: value => value as number }),
  fault('expires-in-parsed', 'exchange-expires-in', { lifetime: value => Number.parseInt(String(value), 10) }),
  fault('answer-of-any-status', 'exchange-status', {
    async send(visit, request) {
      const [status, answer] = await call(visit.parts, request)
      return [status === 400 || status === 401 || status === 500 ? 200 : status, answer]
    },
  }),
]
