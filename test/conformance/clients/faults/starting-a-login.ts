import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { right } from '../parts.ts'
import { type Login, Refusal, type Visit } from '../visit.ts'
import { answerWith, exchangeWith, fault, memoryOf, startWith } from './fault.ts'

let count = 1000

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

/** Behaves like a client that does not use `state`: it neither sends nor checks a state. */
const noState = {
  loginCookie: () => '__Host-login-0',
  findLogin: (visit: Visit) => {
    const text = visit.cookies.find(([name]) => name === '__Host-login-0')?.[1]
    return text === undefined ? undefined : (right.unsealLogin(visit, '__Host-login-0', text) as Login | undefined)
  },
  isStateOf: () => true,
}

export const startingALogin = [
  fault('state-static', 'state-unique', { newState: () => 'k3JpQx7Vb2mNc8Zt5RwYd4Hs9Lf6Ga1E' }),
  fault('state-time', 'state-random', { newState: () => `${Date.now()}`.padStart(32, '0') }),
  fault('state-counter', 'state-random', { newState: () => `client-of-the-platform-${count++}` }),
  fault('state-short', 'state-random', { newState: () => randomBytes(4).toString('hex') }),
  fault('state-math-random', 'state-random', { newState: () => Math.random().toString(36).slice(2, 12) }),
  fault('state-missing', 'start-state', { ...startWith(query => query.delete('state')), ...noState }),
  fault(
    'state-twice',
    'start-parameters-once',
    startWith(query => query.append('state', 'x')),
  ),
  fault(
    'cancel-url-missing',
    'start-cancel-url',
    startWith(query => query.delete('cancel_url')),
  ),
  fault(
    'grant-type-of-the-exchange',
    'start-grant-type',
    startWith(query => query.set('grant_type', 'authorization_code')),
  ),
  fault(
    'response-type-token',
    'start-response-type',
    startWith(query => query.set('response_type', 'token')),
  ),
  fault(
    'client-id-missing',
    'start-client-id',
    startWith(query => query.delete('client_id')),
  ),
  fault(
    'redirect-uri-with-return-to',
    'start-redirect-uri',
    startWith(query => query.set('redirect_uri', `${query.get('redirect_uri')}?returnTo=/applications`)),
  ),
  fault(
    'redirect-uri-from-host',
    ['start-forwarded-host', 'start-host'],
    startWith((query, { headers }) => {
      const host = headers['x-forwarded-host'] ?? headers.host
      query.set('redirect_uri', `http://${host}/exchangeToken`)
    }),
  ),
  fault(
    'secret-at-the-start',
    'start-no-secret',
    startWith((query, { settings }) => query.set('client_secret', settings.clientSecret)),
  ),
  fault('pkce-plain', 'pkce-s256', {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      query.set('code_challenge', verifier)
      query.set('code_challenge_method', 'plain')
      return query
    },
  }),
  fault('pkce-one-verifier', 'pkce-fresh', { newVerifier: () => 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' }),
  fault('verifier-is-the-state', 'pkce-verifier-hidden', {
    startQuery: (visit, state) => right.startQuery(visit, state, state),
    exchangeForm: (visit, callback, login) => right.exchangeForm(visit, callback, { ...login, verifier: login.state }),
  }),
  fault('verifier-is-a-hash-of-the-state', 'pkce-verifier-hidden', {
    startQuery: (visit, state) => right.startQuery(visit, state, hashOf(state)),
    exchangeForm: (visit, callback, login) =>
      right.exchangeForm(visit, callback, { ...login, verifier: hashOf(login.state) }),
  }),
  fault('login-by-post', 'start-post', { startMethods: ['GET', 'POST'], isFromHere: () => true }),
  fault('login-cookie-strict', 'login-cookie-same-site', {
    loginAttributes: right.loginAttributes.replace('Lax', 'Strict'),
  }),
  fault('login-cookie-without-samesite', 'login-cookie-same-site', {
    loginAttributes: right.loginAttributes.replace(' SameSite=Lax;', ''),
  }),
  fault('login-cookie-without-httponly', 'login-cookie-http-only', {
    loginAttributes: right.loginAttributes.replace(' HttpOnly;', ''),
  }),
  fault('login-cookie-without-secure', 'login-cookie-secure', {
    loginCookie: state => right.loginCookie(state).replace('__Host-', ''),
    loginAttributes: right.loginAttributes.replace(' Secure;', ''),
  }),
  fault('login-cookie-for-a-month', 'login-cookie-short', {
    loginAttributes: right.loginAttributes.replace('Max-Age=600', 'Max-Age=2592000'),
  }),
  fault('login-cookie-for-half-an-hour', 'login-cookie-short', {
    loginAttributes: right.loginAttributes.replace('Max-Age=600', 'Max-Age=1800'),
  }),
  fault('login-cookies-without-end', 'logins-bounded', { mostLogins: 1000 }),
  fault('login-in-two-steps', 'start-direct', {
    afterStart: (visit, answer) =>
      visit.query.has('now') ? answer : { status: 302, headers: { location: '/login?now=1' } },
  }),
  fault('login-cached', 'start-not-cached', {
    afterStart: (_visit, answer) => ({
      ...answer,
      headers: { ...answer.headers, 'cache-control': 'public, max-age=300' },
    }),
  }),
  fault('login-by-head', 'start-head', { startMethods: ['GET', 'HEAD'] }),
  fault('login-in-frames', ['start-navigation-only', 'callback-cross-site-frame', 'callback-navigation-only'], {
    isNavigation: () => true,
  }),
  fault('portal-address-with-a-path', 'start-leads-to-portal', {
    portalStart: ({ settings }) => `${settings.loginUrl}/authorize`,
  }),

  fault('login-by-a-page-that-goes-on', 'start-plain-redirect', {
    afterStart: (_visit, { headers }) => ({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<meta http-equiv="refresh" content="0;url=${right.html(headers!.location!)}">`,
    }),
  }),
  fault(
    'cancel-url-on-another-site',
    'start-cancel-url-own',
    startWith(query => query.set('cancel_url', 'https://www.example/')),
  ),
  fault('login-without-no-store', 'start-no-store', {
    afterStart: (_visit, answer) => ({ ...answer, headers: { ...answer.headers, 'cache-control': 'private' } }),
  }),
  fault('state-is-a-uuid', 'state-128-bits', { newState: () => randomUUID() }),
  fault('state-hashed-time', 'state-not-of-time', {
    newState: () => createHash('md5').update(`${Date.now()}`).digest('hex'),
  }),
  fault('state-of-the-query', 'state-not-chosen', {
    newState: visit => visit.query.get('state') ?? right.newState(visit),
  }),
  fault(
    'hint-and-language-copied-to-the-portal',
    'start-not-chosen',
    startWith((query, visit) => {
      for (const name of ['login_hint', 'ui_locales'])
        if (visit.query.has(name)) query.set(name, visit.query.get(name)!)
    }),
  ),
  fault(
    'lang-passed-on-as-ui-locales',
    'start-not-chosen',
    startWith((query, visit) => {
      if (visit.query.has('lang')) query.set('ui_locales', visit.query.get('lang')!)
    }),
  ),
  fault(
    'start-of-the-query',
    'start-not-chosen',
    startWith((query, visit) => {
      for (const name of query.keys()) if (visit.query.has(name)) query.set(name, visit.query.get(name)!)
    }),
  ),
  fault(
    'redirect-uri-from-forwarded-proto',
    'start-forwarded-proto',
    startWith((query, { headers, settings }) =>
      query.set(
        'redirect_uri',
        `${headers['x-forwarded-proto'] ?? 'http'}://${new URL(settings.publicUrl).host}/exchangeToken`,
      ),
    ),
  ),
  fault(
    'redirect-uri-from-forwarded',
    'start-forwarded',
    startWith((query, { headers, settings }) => {
      const host = /host=([^;,]+)/.exec(headers.forwarded ?? '')?.[1] ?? new URL(settings.publicUrl).host
      query.set('redirect_uri', `http://${host}/exchangeToken`)
    }),
  ),
  fault('state-of-a-seeded-generator', ['state-after-restart', 'state-of-replica'], {
    newState(visit) {
      const memory = memoryOf(visit)
      const made = ((memory.get('states') as number | undefined) ?? 0) + 1
      memory.set('states', made)
      return createHash('sha256').update(`a fixed seed ${made}`).digest('base64url')
    },
  }),
  fault('no-pkce', 'pkce-used', {
    ...startWith(query => {
      query.delete('code_challenge')
      query.delete('code_challenge_method')
    }),
    ...exchangeWith(form => form.delete('code_verifier')),
  }),
  fault('login-cookie-for-all-subdomains', 'login-cookie-no-domain', {
    loginCookie: state => right.loginCookie(state).replace('__Host-', ''),
    loginAttributes: `${right.loginAttributes}; Domain=localhost`,
  }),
  fault('login-cookie-without-prefix', 'login-cookie-prefix', {
    loginCookie: state => right.loginCookie(state).replace('__Host-', ''),
  }),
  fault(
    'no-cancel-url-with-a-return-address',
    'start-every-way',
    startWith((query, visit) => {
      if (visit.query.has('returnTo')) query.delete('cancel_url')
    }),
  ),
  fault('state-kept-with-a-return-address', 'state-every-way', {
    newState: visit => (visit.query.has('returnTo') ? 'k3JpQx7Vb2mNc8Zt5RwYd4Hs9Lf6Ga1E' : right.newState(visit)),
  }),
  fault('short-state-with-a-return-address', 'state-every-way', {
    newState: visit => (visit.query.has('returnTo') ? randomBytes(6).toString('hex') : right.newState(visit)),
  }),
  fault('one-verifier-for-each-browser', 'pkce-fresh', {
    newVerifier: visit => {
      const known = visit.cookies.find(([name]) => name.startsWith('__Host-login-'))
      const login = known && (right.unsealLogin(visit, ...known) as Login | undefined)
      return login?.verifier ?? right.newVerifier(visit)
    },
  }),
  fault('login-cookie-for-a-month-with-a-return-address', 'login-cookie-short', {
    afterStart(visit, answer) {
      if (visit.query.has('returnTo'))
        visit.setCookies.push(visit.setCookies.pop()!.replace('Max-Age=600', 'Max-Age=2592000'))
      return answer
    },
  }),
  fault(
    'redirect-uri-with-the-forwarded-port',
    'start-other-headers',
    startWith((query, { headers, settings }) => {
      const port = headers['x-forwarded-port']
      if (port) query.set('redirect_uri', `${settings.publicUrl.replace(/:\d+$/, `:${port}`)}/exchangeToken`)
    }),
  ),
  fault('many-login-cookies-are-a-crash', 'logins-at-once', {
    newState(visit) {
      if (visit.cookies.length > 15) throw new RangeError('too many cookies')
      return right.newState(visit)
    },
  }),
  fault('login-cookies-large-and-without-end', ['logins-bounded', 'logins-last-works', 'cookie-headers-in-bounds'], {
    mostLogins: 1000,
    sealLogin: (visit, name, login) => right.seal(visit, name, { ...login, padding: 'x'.repeat(800) }),
  }),
  fault('logins-refused-after-three', 'logins-last-works', {
    mostLogins: 1000,
    newState(visit) {
      if (visit.cookies.filter(([name]) => name.startsWith('__Host-login-')).length >= 3)
        throw new Refusal(429, 'There are too many logins. Please finish one of them.')
      return right.newState(visit)
    },
  }),
  fault(
    'unknown-login-begins-anew',
    'start-without-cookies',
    answerWith((answer, visit) =>
      visit.url.pathname === '/exchangeToken' && answer.status === 400
        ? { status: 302, headers: { location: '/login' } }
        : answer,
    ),
  ),
]
