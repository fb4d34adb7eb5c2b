// Clients that begin a login wrongly: with wrong parameters, a guessable state or verifier, or a wrong login cookie.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { correct } from '../behaviour.ts'
import {
  allowedHostsOnly,
  answerWith,
  beginsAtPage,
  exchangeWith,
  hashOf,
  headersWith,
  hostOf,
  loginDeletion,
  startWith,
  toHttps,
} from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { cookieOf, isCallback, isLogin } from '../requests.ts'
import { type Login, Refusal, type Visit } from '../visit.ts'

/** Changes the attributes of the login cookie. The client still deletes this cookie correctly. */
const loginAttributes = (change: (text: string) => string) => ({
  loginAttributes: change(correct.loginAttributes),
  forgetLogin: (visit: Visit, state: string) =>
    void visit.setCookies.push(`${correct.loginCookie(state)}=; ${loginDeletion}`),
})

const ownVerifiers = new WeakMap<Visit, string>()

let count = 1000

/** Behaves like a client that does not use `state`: it neither sends nor checks a state. */
const noState = {
  loginCookie: () => '__Host-login-0',
  findLogin: (visit: Visit) => {
    const text = cookieOf(visit, '__Host-login-0')
    return text === undefined ? undefined : (correct.unsealLogin(visit, '__Host-login-0', text) as Login | undefined)
  },
  isStateOf: () => true,
}

export const startingALogin: Mistake[] = [
  mistake('portal-address-with-a-path', 'start-leads-to-portal', {
    portalStart: ({ settings }) => `${settings.loginUrl}/authorize`,
  }),
  mistake('login-with-a-return-address-by-a-page', 'start-plain-redirect', {
    afterStart: (visit, answer) =>
      visit.query.has('returnTo')
        ? {
            status: 200,
            headers: { 'content-type': 'text/html; charset=utf-8' },
            body: `<meta http-equiv="refresh" content="0;url=${correct.html(answer.headers!.location!)}">`,
          }
        : answer,
  }),
  mistake('login-by-a-page-that-goes-on', 'start-plain-redirect', {
    afterStart: (_visit, { headers }) => ({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<meta http-equiv="refresh" content="0;url=${correct.html(headers!.location!)}">`,
    }),
  }),
  mistake('login-in-two-steps', 'start-direct', {
    afterStart: (visit, answer) =>
      visit.query.has('now') ? answer : { status: 302, headers: { location: '/login?now=1' } },
  }),
  mistake(
    'grant-type-of-the-exchange',
    'start-grant-type',
    startWith(query => query.set('grant_type', 'authorization_code')),
  ),
  mistake(
    'response-type-token',
    'start-response-type',
    startWith(query => query.set('response_type', 'token')),
  ),
  mistake(
    'client-id-missing',
    'start-client-id',
    startWith(query => query.delete('client_id')),
  ),
  mistake(
    'redirect-uri-with-return-to',
    'start-redirect-uri',
    startWith(query => query.set('redirect_uri', `${query.get('redirect_uri')}?returnTo=/applications`)),
  ),
  mistake(
    'cancel-url-missing',
    'start-cancel-url',
    startWith(query => query.delete('cancel_url')),
  ),
  mistake('state-missing', 'start-state', { ...startWith(query => query.delete('state')), ...noState }),
  mistake(
    'state-twice',
    'start-parameters-once',
    startWith(query => query.append('state', 'x')),
  ),
  mistake(
    'prompt-after-a-sign-out',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (visit.cookies.some(([name]) => name === '__Host-left')) query.set('prompt', 'login')
    }),
  ),
  mistake(
    'scope-at-the-start',
    'start-no-further-parameters',
    startWith(query => query.set('scope', 'openid profile')),
  ),
  mistake(
    'nonce-with-a-return-address',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (visit.query.has('returnTo')) query.set('nonce', hashOf(`${Math.random()}`))
    }),
  ),
  mistake(
    'scope-while-signed-in',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (correct.readSession(visit)) query.set('prompt', 'login')
    }),
  ),
  mistake(
    'secret-at-the-start',
    'start-no-secret',
    startWith((query, { settings }) => query.set('client_secret', settings.clientSecret)),
  ),
  mistake(
    'cancel-url-is-the-return-address',
    'start-cancel-url-own',
    startWith((query, visit) => {
      const there = visit.query.get('returnTo')
      if (there) query.set('cancel_url', URL.parse(there, visit.settings.publicUrl)?.href ?? there)
    }),
  ),
  mistake(
    'cancel-url-joined-by-hand',
    'start-cancel-url-own',
    startWith((query, visit) => {
      const there = visit.query.get('returnTo')
      if (there) query.set('cancel_url', visit.settings.publicUrl + there)
    }),
  ),
  mistake(
    'cancel-url-on-another-site',
    'start-cancel-url-own',
    startWith(query => query.set('cancel_url', 'https://www.example/')),
  ),
  mistake('login-cached', 'start-not-cached', {
    afterStart: (_visit, answer) => ({
      ...answer,
      headers: { ...answer.headers, 'cache-control': 'public, max-age=300' },
    }),
  }),
  mistake(
    'login-kept-until-a-date',
    'start-not-cached',
    headersWith(({ url }) => {
      const expires = new Date(Date.now() + 300_000).toUTCString()
      return url.pathname === '/login' ? { 'cache-control': undefined, expires } : {}
    }),
  ),
  mistake('login-without-no-store', 'start-no-store', {
    afterStart: (_visit, answer) => ({ ...answer, headers: { ...answer.headers, 'cache-control': 'private' } }),
  }),
  mistake(
    'no-cancel-url-with-a-return-address',
    'start-every-way',
    startWith((query, visit) => {
      if (visit.query.has('returnTo')) query.delete('cancel_url')
    }),
  ),
  mistake('state-static', 'state-unique', { newState: () => 'k3JpQx7Vb2mNc8Zt5RwYd4Hs9Lf6Ga1E' }),
  mistake('state-for-each-return-address', 'state-every-way', {
    newState(visit) {
      const key = `state of ${visit.query.get('returnTo')}`
      if (!visit.query.has('returnTo')) return correct.newState(visit)
      if (!visit.memory.has(key)) visit.memory.set(key, correct.newState(visit))
      return visit.memory.get(key) as string
    },
  }),
  mistake('state-kept-with-a-return-address', 'state-every-way', {
    newState: visit => (visit.query.has('returnTo') ? 'k3JpQx7Vb2mNc8Zt5RwYd4Hs9Lf6Ga1E' : correct.newState(visit)),
  }),
  mistake('short-state-with-a-return-address', 'state-every-way', {
    newState: visit => (visit.query.has('returnTo') ? randomBytes(6).toString('hex') : correct.newState(visit)),
  }),
  mistake('state-in-base64-joined-by-hand', 'state-encoded', {
    // Behaves like a client that adds the state to the address without encoding it: the portal reads each plus sign as
    // a space.
    newState: () => createHash('sha256').update(`${Math.random()}`).digest('base64'),
    ...startWith(query => query.set('state', (query.get('state') ?? '').replaceAll('+', ' '))),
  }),
  mistake('state-time', 'state-random', { newState: () => `${Date.now()}`.padStart(32, '0') }),
  mistake('state-counter', 'state-random', { newState: () => `client-of-the-platform-${count++}` }),
  mistake('state-short', 'state-random', { newState: () => randomBytes(4).toString('hex') }),
  mistake('state-math-random', 'state-random', { newState: () => Math.random().toString(36).slice(2, 12) }),
  mistake('state-is-a-uuid', 'state-128-bits', { newState: () => randomUUID() }),
  mistake('state-hashed-user-agent-and-time', 'state-not-of-time', {
    newState: ({ headers }) => hashOf(`${headers['user-agent']}${Date.now()}`),
  }),
  mistake('state-hashed-address-and-time', 'state-not-of-time', { newState: () => hashOf(`127.0.0.1${Date.now()}`) }),
  mistake('state-hashed-microseconds', 'state-not-of-time', {
    newState: () => hashOf(((performance.timeOrigin + performance.now()) / 1000).toFixed(6)),
  }),
  mistake('state-hashed-time-of-python', 'state-not-of-time', {
    newState: () => hashOf(`${(performance.timeOrigin + performance.now()) / 1000}`),
  }),
  mistake('state-of-the-client-id-and-the-second', 'state-not-of-time', {
    newState: ({ settings }) => hashOf(`${settings.clientId}${Math.floor(Date.now() / 1000)}`),
  }),
  mistake('state-hashed-time', 'state-not-of-time', {
    newState: () => createHash('md5').update(`${Date.now()}`).digest('hex'),
  }),
  mistake('state-of-the-query', 'state-not-chosen', {
    newState: visit => visit.query.get('state') ?? correct.newState(visit),
  }),
  ...(
    [
      ['organization', 'org_hint'],
      ['max_age', 'max_age'],
    ] as const
  ).map(([name, sent]) =>
    mistake(
      `${name}-passed-on-to-the-portal`,
      'start-not-chosen',
      startWith((query, visit) => {
        if (visit.query.has(name)) query.set(sent, visit.query.get(name)!)
      }),
    ),
  ),
  mistake(
    'hint-and-language-copied-to-the-portal',
    'start-not-chosen',
    startWith((query, visit) => {
      for (const name of ['login_hint', 'ui_locales'])
        if (visit.query.has(name)) query.set(name, visit.query.get(name)!)
    }),
  ),
  mistake(
    'lang-passed-on-as-ui-locales',
    'start-not-chosen',
    startWith((query, visit) => {
      if (visit.query.has('lang')) query.set('ui_locales', visit.query.get('lang')!)
    }),
  ),
  mistake(
    'start-of-the-query',
    'start-not-chosen',
    startWith((query, visit) => {
      for (const name of query.keys()) if (visit.query.has(name)) query.set(name, visit.query.get(name)!)
    }),
  ),
  mistake(
    'redirect-uri-from-host',
    ['start-forwarded-host', 'start-host'],
    startWith((query, { headers }) => {
      const host = headers['x-forwarded-host'] ?? headers.host
      query.set('redirect_uri', `http://${host}/exchangeToken`)
    }),
  ),
  mistake('redirect-uri-from-the-port-of-an-allowed-host', ['start-host', 'start-forwarded-host'], {
    ...allowedHostsOnly,
    ...startWith((query, visit) => query.set('redirect_uri', `http://${hostOf(visit)}/exchangeToken`)),
  }),
  mistake(
    'cancel-url-from-the-other-name-of-this-machine',
    'start-host',
    startWith((query, { headers }) => {
      if (headers.host?.startsWith('127.0.0.1')) query.set('cancel_url', `http://${headers.host}/cancelled`)
    }),
  ),
  mistake(
    'redirect-uri-with-https-from-forwarded-proto',
    'start-forwarded-proto',
    startWith((query, { headers }) => {
      if (headers['x-forwarded-proto'] === 'https') query.set('redirect_uri', toHttps(query.get('redirect_uri') ?? ''))
    }),
  ),
  mistake(
    'redirect-uri-from-forwarded-proto',
    'start-forwarded-proto',
    startWith((query, { headers, settings }) =>
      query.set(
        'redirect_uri',
        `${headers['x-forwarded-proto'] ?? 'http'}://${new URL(settings.publicUrl).host}/exchangeToken`,
      ),
    ),
  ),
  mistake(
    'redirect-uri-from-forwarded',
    'start-forwarded',
    startWith((query, { headers, settings }) => {
      const host = /host=([^;,]+)/.exec(headers.forwarded ?? '')?.[1] ?? new URL(settings.publicUrl).host
      query.set('redirect_uri', `http://${host}/exchangeToken`)
    }),
  ),
  mistake(
    'redirect-uri-from-forwarded-proto-and-host',
    'start-other-headers',
    startWith((query, { headers }) => {
      const { 'x-forwarded-proto': scheme, 'x-forwarded-host': host } = headers
      if (scheme && host) query.set('redirect_uri', `${scheme}://${host}/exchangeToken`)
    }),
  ),
  mistake(
    'redirect-uri-with-the-forwarded-port',
    'start-other-headers',
    startWith((query, { headers, settings }) => {
      const port = headers['x-forwarded-port']
      if (port) query.set('redirect_uri', `${settings.publicUrl.replace(/:\d+$/, `:${port}`)}/exchangeToken`)
    }),
  ),
  mistake('state-of-a-seeded-generator', ['state-after-restart', 'state-of-replica'], {
    newState(visit) {
      const memory = visit.memory
      const made = ((memory.get('states') as number | undefined) ?? 0) + 1
      memory.set('states', made)
      return createHash('sha256').update(`a fixed seed ${made}`).digest('base64url')
    },
  }),
  mistake('no-pkce', 'pkce-used', {
    ...startWith(query => {
      query.delete('code_challenge')
      query.delete('code_challenge_method')
    }),
    ...exchangeWith(form => form.delete('code_verifier')),
  }),
  mistake('pkce-only-without-a-return-address', 'pkce-every-way', {
    ...startWith((query, visit) => {
      if (!visit.query.has('returnTo')) return
      query.delete('code_challenge')
      query.delete('code_challenge_method')
    }),
  }),
  mistake('pkce-plain-with-a-return-address', 'pkce-s256', {
    startQuery(visit, state, verifier) {
      const query = correct.startQuery(visit, state, verifier)
      if (!visit.query.has('returnTo')) return query
      query.set('code_challenge', verifier)
      query.set('code_challenge_method', 'plain')
      return query
    },
  }),
  mistake('pkce-plain', 'pkce-s256', {
    startQuery(visit, state, verifier) {
      const query = correct.startQuery(visit, state, verifier)
      query.set('code_challenge', verifier)
      query.set('code_challenge_method', 'plain')
      return query
    },
  }),
  mistake('verifier-for-each-return-address', 'pkce-fresh', {
    newVerifier: visit =>
      visit.query.has('returnTo') ? hashOf(`${visit.query.get('returnTo')}`) : correct.newVerifier(visit),
  }),
  mistake('pkce-one-verifier', 'pkce-fresh', { newVerifier: () => 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' }),
  mistake('one-verifier-for-each-browser', 'pkce-fresh', {
    newVerifier: visit => {
      const known = visit.cookies.find(([name]) => name.startsWith('__Host-login-'))
      const login = known && (correct.unsealLogin(visit, ...known) as Login | undefined)
      return login?.verifier ?? correct.newVerifier(visit)
    },
  }),
  mistake('verifier-in-the-state', 'pkce-verifier-hidden', {
    newState(visit) {
      const verifier = correct.newVerifier(visit)
      ownVerifiers.set(visit, verifier)
      return Buffer.from(JSON.stringify({ nonce: correct.newState(visit), verifier })).toString('base64url')
    },
    newVerifier: visit => ownVerifiers.get(visit) ?? correct.newVerifier(visit),
  }),
  mistake('verifier-is-the-state', 'pkce-verifier-hidden', {
    startQuery: (visit, state) => correct.startQuery(visit, state, state),
    exchangeForm: (visit, callback, login) =>
      correct.exchangeForm(visit, callback, { ...login, verifier: login.state }),
  }),
  mistake('verifier-is-a-hash-of-the-state', 'pkce-verifier-hidden', {
    startQuery: (visit, state) => correct.startQuery(visit, state, hashOf(state)),
    exchangeForm: (visit, callback, login) =>
      correct.exchangeForm(visit, callback, { ...login, verifier: hashOf(login.state) }),
  }),
  mistake('login-cookie-without-httponly', 'login-cookie-http-only', {
    loginAttributes: correct.loginAttributes.replace(' HttpOnly;', ''),
  }),
  mistake('login-cookie-without-secure', 'login-cookie-secure', {
    loginCookie: state => correct.loginCookie(state).replace('__Host-', ''),
    loginAttributes: correct.loginAttributes.replace(' Secure;', ''),
  }),
  mistake('login-cookie-strict', 'login-cookie-same-site', {
    loginAttributes: correct.loginAttributes.replace('Lax', 'Strict'),
  }),
  mistake('login-cookie-without-samesite', 'login-cookie-same-site', {
    loginAttributes: correct.loginAttributes.replace(' SameSite=Lax;', ''),
  }),
  mistake('login-cookie-for-all-subdomains', 'login-cookie-no-domain', {
    loginCookie: state => correct.loginCookie(state).replace('__Host-', ''),
    loginAttributes: `${correct.loginAttributes}; Domain=localhost`,
  }),
  mistake('login-cookie-without-prefix', 'login-cookie-prefix', {
    loginCookie: state => correct.loginCookie(state).replace('__Host-', ''),
  }),
  mistake('login-cookie-for-a-month', 'login-cookie-short', {
    loginAttributes: correct.loginAttributes.replace('Max-Age=600', 'Max-Age=2592000'),
  }),
  mistake('login-cookie-for-half-an-hour', 'login-cookie-short', {
    loginAttributes: correct.loginAttributes.replace('Max-Age=600', 'Max-Age=1800'),
  }),
  mistake('login-cookie-for-a-month-with-a-return-address', 'login-cookie-short', {
    afterStart(visit, answer) {
      if (visit.query.has('returnTo'))
        visit.setCookies.push(visit.setCookies.pop()!.replace('Max-Age=600', 'Max-Age=2592000'))
      return answer
    },
  }),
  mistake(
    'login-cookie-without-max-age',
    'login-cookie-expires',
    loginAttributes(text => text.replace('; Max-Age=600', '')),
  ),
  mistake(
    'login-cookie-for-a-minute',
    'login-cookie-long-enough',
    loginAttributes(text => text.replace('600', '60')),
  ),
  mistake('login-expires-after-600-milliseconds', 'login-lasts', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      return login && Date.now() - login.at < 600 ? login : undefined
    },
  }),
  mistake('logins-begun-at-pages-unlimited', 'logins-bounded', {
    askToSignIn: visit =>
      beginsAtPage(() => ({})).askToSignIn({ ...visit, behaviour: { ...visit.behaviour, mostLogins: 1000 } }),
  }),
  mistake('login-cookies-without-end', 'logins-bounded', { mostLogins: 1000 }),
  mistake('login-cookies-large-and-without-end', ['logins-bounded', 'logins-last-works', 'cookie-headers-in-bounds'], {
    mostLogins: 1000,
    sealLogin: (visit, name, login) => correct.seal(visit, name, { ...login, padding: 'x'.repeat(800) }),
  }),
  mistake('many-login-cookies-are-a-crash', 'logins-at-once', {
    newState(visit) {
      if (visit.cookies.length > 15) throw new RangeError('too many cookies')
      return correct.newState(visit)
    },
  }),
  mistake('logins-refused-after-three', 'logins-last-works', {
    mostLogins: 1000,
    newState(visit) {
      if (visit.cookies.filter(([name]) => name.startsWith('__Host-login-')).length >= 3)
        throw new Refusal(429, 'There are too many logins. Please finish one of them.')
      return correct.newState(visit)
    },
  }),
  mistake('no-new-login-while-there-is-a-session-cookie', 'start-after-session-ended', {
    dropSession: () => {},
    endRefusedSession: () => {},
    endSession: visit => correct.dropSession(visit),
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/login' && correct.readSession(visit)
        ? { status: 302, headers: { location: '/applications' } }
        : answer,
    ),
  }),
  mistake('login-by-head', 'start-head', { startMethods: ['GET', 'HEAD'] }),
  mistake('login-by-post', 'start-post', { startMethods: ['GET', 'POST'], isFromHere: () => true }),
  mistake('login-starts-with-put', 'start-other-methods', { startMethods: ['GET', 'PUT'] }),
  mistake('login-starts-with-an-own-form', ['start-other-methods', 'start-post-own'], {
    startMethods: ['GET', 'POST'],
  }),
  mistake('login-by-options', 'start-other-methods', { startMethods: ['GET', 'OPTIONS'] }),
  mistake(
    'post-to-the-login-shows-a-page',
    'start-methods-refused',
    answerWith((answer, visit) =>
      isLogin(visit) && answer.status === 405 ? { ...answer, status: 200, headers: {} } : answer,
    ),
  ),
  mistake(
    'post-to-the-callback-leads-to-the-start-page',
    'start-methods-refused',
    answerWith((answer, visit) =>
      isCallback(visit) && answer.status === 405 ? { status: 303, headers: { location: '/' } } : answer,
    ),
  ),
  mistake('frames-and-images-refused-by-name', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: ({ headers }) =>
      !['iframe', 'image', 'object', 'empty'].includes(`${headers['sec-fetch-dest']}`) &&
      !String(headers['sec-purpose'] ?? '').includes('prefetch'),
  }),
  mistake('frames-of-own-pages-allowed', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: visit =>
      correct.isNavigation(visit) ||
      (visit.headers['sec-fetch-dest'] === 'iframe' && visit.headers['sec-fetch-site'] === 'same-origin'),
  }),
  mistake('prerendering-counts-as-a-navigation', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: visit => visit.headers['sec-purpose'] === 'prefetch;prerender' || correct.isNavigation(visit),
  }),
  mistake('login-in-frames', ['start-navigation-only', 'callback-cross-site-frame', 'callback-navigation-only'], {
    isNavigation: () => true,
  }),
  mistake(
    'unknown-login-begins-anew',
    'start-without-cookies',
    answerWith((answer, visit) =>
      isCallback(visit) && answer.status === 400 ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  ),
]
