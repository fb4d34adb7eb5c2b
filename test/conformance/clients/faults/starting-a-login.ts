import { randomBytes } from 'node:crypto'
import { right } from '../parts.ts'
import type { Login, Visit } from '../visit.ts'
import { fault, headersWith, readable, startWith } from './fault.ts'

let count = 1000

/** Of a client that never heard of it: neither made nor looked at. */
const noState = {
  loginCookie: () => '__Host-login-0',
  findLogin: (visit: Visit) => {
    const text = visit.cookies.find(([name]) => name === '__Host-login-0')?.[1]
    return text === undefined ? undefined : (right.unsealLogin(visit, '__Host-login-0', text) as Login | undefined)
  },
  isStateOf: () => true,
}

export const startingALogin = [
  fault('state-static', 'login-state-random', { newState: () => 'k3JpQx7Vb2mNc8Zt5RwYd4Hs9Lf6Ga1E' }),
  fault('state-time', 'login-state-random', { newState: () => `${Date.now()}`.padStart(32, '0') }),
  fault('state-counter', 'login-state-random', { newState: () => `client-of-the-platform-${count++}` }),
  fault('state-short', 'login-state-random', { newState: () => randomBytes(4).toString('hex') }),
  fault('state-math-random', 'login-state-random', { newState: () => Math.random().toString(36).slice(2, 12) }),
  fault('state-missing', 'login-state-present', { ...startWith(query => query.delete('state')), ...noState }),
  fault(
    'state-twice',
    'login-parameters',
    startWith(query => query.append('state', 'x')),
  ),
  fault(
    'cancel-url-missing',
    'login-parameters',
    startWith(query => query.delete('cancel_url')),
  ),
  fault(
    'grant-type-of-the-exchange',
    'login-parameters',
    startWith(query => query.set('grant_type', 'authorization_code')),
  ),
  fault(
    'response-type-token',
    'login-parameters',
    startWith(query => query.set('response_type', 'token')),
  ),
  fault(
    'client-id-missing',
    'login-parameters',
    startWith(query => query.delete('client_id')),
  ),
  fault(
    'redirect-uri-with-return-to',
    'login-parameters',
    startWith(query => query.set('redirect_uri', `${query.get('redirect_uri')}?returnTo=/applications`)),
  ),
  fault(
    'redirect-uri-from-host',
    'login-ignores-host',
    startWith((query, { headers }) => {
      const host = headers['x-forwarded-host'] ?? headers.host
      query.set('redirect_uri', `http://${host}/exchangeToken`)
    }),
  ),
  fault(
    'secret-at-the-start',
    'login-no-secret',
    startWith((query, { settings }) => query.set('client_secret', settings.clientSecret)),
  ),
  fault('pkce-plain', 'login-pkce', {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      query.set('code_challenge', verifier)
      query.set('code_challenge_method', 'plain')
      return query
    },
  }),
  fault('pkce-one-verifier', 'login-pkce-fresh', { newVerifier: () => 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' }),
  fault('verifier-is-the-state', 'login-pkce-fresh', {
    startQuery: (visit, state) => right.startQuery(visit, state, state),
    exchangeForm: (visit, callback, login) => right.exchangeForm(visit, callback, { ...login, verifier: login.state }),
  }),
  fault('login-cookie-strict', 'login-cookie-lax', { loginAttributes: right.loginAttributes.replace('Lax', 'Strict') }),
  fault('login-cookie-without-samesite', 'login-cookie-lax', {
    loginAttributes: right.loginAttributes.replace(' SameSite=Lax;', ''),
  }),
  fault('login-cookie-without-httponly', 'login-cookie-attributes', {
    loginAttributes: right.loginAttributes.replace(' HttpOnly;', ''),
  }),
  fault('login-cookie-without-secure', 'login-cookie-attributes', {
    loginCookie: state => right.loginCookie(state).replace('__Host-', ''),
    loginAttributes: right.loginAttributes.replace(' Secure;', ''),
  }),
  fault('login-cookie-for-a-month', 'login-cookie-short', {
    loginAttributes: right.loginAttributes.replace('Max-Age=600', 'Max-Age=2592000'),
  }),
  fault('login-cookie-readable', 'login-cookie-sealed', {
    sealLogin: (_visit, _name, login) => readable.write(login),
    unsealLogin: (_visit, _name, text) => readable.read(text),
  }),
  fault('login-cookies-without-end', 'login-cookies-bounded', { mostLogins: 1000 }),
  fault('login-cached', 'login-no-store', {
    afterStart: (_visit, answer) => ({
      ...answer,
      headers: { ...answer.headers, 'cache-control': 'public, max-age=300' },
    }),
  }),
  fault('login-by-post', 'login-methods', { startMethods: ['GET', 'POST'], isFromHere: () => true }),
  fault('login-by-head', 'login-methods', { startMethods: ['GET', 'HEAD'] }),
  fault('login-in-frames', 'login-navigations-only', { isNavigation: () => true }),
  fault('login-by-a-page', 'login-redirect', {
    afterStart: (_visit, { headers }) => ({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8', ...headersWith },
      body: `<script>location.href=${JSON.stringify(headers!.location)}</script>`,
    }),
  }),
  fault('portal-address-with-a-path', 'login-parameters', {
    portalStart: ({ settings }) => `${settings.loginUrl}/authorize`,
  }),
]
