// Further mistakes at the start of a login, at the callback and with cookies. In each of these clients, the usual case
// is right, and one branch, one kind of value or one order of events is wrong.
import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import { goOn } from '../pages.ts'
import { right } from '../parts.ts'
import { callPortal } from '../platform.ts'
import { type Login, PlatformFault, Refusal, type Session, type Tokens, type Visit } from '../visit.ts'
import { answerWith, type Fault, fault, headersWith, memoryOf, startWith } from './fault.ts'

const isCallback = (visit: Visit) => visit.url.pathname === '/exchangeToken'
const isLogin = (visit: Visit) => visit.url.pathname === '/login'
const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')
const deletion = 'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0'
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const loginsOf = (visit: Visit): Login[] =>
  visit.cookies
    .filter(([name]) => name.startsWith('__Host-login-'))
    .flatMap(([name, text]) => (right.unsealLogin(visit, name, text) as Login | undefined) ?? [])

/** Changes how the client compares the state of the callback with the states of this browser's logins. */
const comparing = (isSame: (kept: string, sent: string, visit: Visit) => boolean) => ({
  findLogin: (visit: Visit, state: string) => loginsOf(visit).find(login => isSame(login.state, state, visit)),
})

/** Changes the attributes of the login cookie. The client still deletes this cookie correctly. */
const loginAttributes = (change: (text: string) => string) => ({
  loginAttributes: change(right.loginAttributes),
  forgetLogin: (visit: Visit, state: string) => void visit.setCookies.push(`${right.loginCookie(state)}=; ${deletion}`),
})

const ownVerifiers = new WeakMap<Visit, string>()

/** Keeps the sessions in the memory of the server. The cookie contains the id that `idOf` computes. */
const sessionsBy = (idOf: (visit: Visit, tokens: Tokens) => string, cookie = '__Host-sid') => ({
  keepSession(visit: Visit, tokens: Tokens) {
    const visitor = right.visitorOf(tokens, visit)
    const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
    const id = idOf(visit, tokens)
    memoryOf(visit).set(`session ${id}`, session)
    visit.setCookies.push(`${cookie}=${id}; ${right.sessionAttributes(tokens.seconds)}`)
    return session
  },
  readSession: (visit: Visit) =>
    memoryOf(visit).get(`session ${visit.cookies.find(([name]) => name === cookie)?.[1]}`) as Session | undefined,
  readRefresh: () => undefined,
})

/** On the start page, shows the name that `nameOf` returns. `keep` stores the name of a login. */
const naming = (keep: (visit: Visit, name: string) => void, nameOf: (visit: Visit) => unknown) => ({
  async exchange(visit: Visit, ...rest: [Parameters<typeof right.exchange>[1], Login]) {
    const tokens = await right.exchange(visit, ...rest)
    const answer = await fetch(`${visit.settings.loginUrl}/api/me`, {
      headers: { authorization: `Bearer ${tokens.accessToken}` },
    })
    const { firstName } = (await answer.json()) as { firstName?: string }
    if (firstName) keep(visit, firstName)
    return tokens
  },
  ...answerWith((answer, visit) => {
    const name = nameOf(visit)
    if (!name || !answer.body || visit.url.pathname !== '/applications') return answer
    return { ...answer, body: answer.body.replace('<h1>', `<p>Hello ${right.html(String(name))}</p><h1>`) }
  }),
})

/** If a client splits a value into several cookies, each cookie contains at most this number of characters. */
const partLength = 3500

const backOnThisHost = fault('return-to-any-port-of-the-host', 'return-to-other-port', {
  localPath(text, visit) {
    const isOwn = URL.parse(text ?? '')?.hostname === new URL(visit.settings.publicUrl).hostname
    return text && isOwn ? text : right.localPath(text, visit)
  },
})

export const loginWays: Fault[] = [
  // ---- The start
  fault(
    'login-cookie-without-max-age',
    'login-cookie-expires',
    loginAttributes(text => text.replace('; Max-Age=600', '')),
  ),
  fault(
    'login-cookie-for-a-minute',
    'login-cookie-long-enough',
    loginAttributes(text => text.replace('600', '60')),
  ),
  fault('login-with-a-return-address-by-a-page', 'start-plain-redirect', {
    afterStart: (visit, answer) =>
      visit.query.has('returnTo')
        ? {
            status: 200,
            headers: { 'content-type': 'text/html; charset=utf-8' },
            body: `<meta http-equiv="refresh" content="0;url=${right.html(answer.headers!.location!)}">`,
          }
        : answer,
  }),
  fault(
    'cancel-url-is-the-return-address',
    'start-cancel-url-own',
    startWith((query, visit) => {
      const there = visit.query.get('returnTo')
      if (there) query.set('cancel_url', URL.parse(there, visit.settings.publicUrl)?.href ?? there)
    }),
  ),
  fault(
    'cancel-url-joined-by-hand',
    'start-cancel-url-own',
    startWith((query, visit) => {
      const there = visit.query.get('returnTo')
      if (there) query.set('cancel_url', visit.settings.publicUrl + there)
    }),
  ),
  fault(
    'scope-at-the-start',
    'start-no-further-parameters',
    startWith(query => query.set('scope', 'openid profile')),
  ),
  fault(
    'nonce-with-a-return-address',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (visit.query.has('returnTo')) query.set('nonce', hashOf(`${Math.random()}`))
    }),
  ),
  fault(
    'post-to-the-login-is-not-found',
    'start-methods-405',
    answerWith((answer, visit) =>
      isLogin(visit) && answer.status === 405 ? { ...answer, status: 404, headers: {} } : answer,
    ),
  ),
  fault(
    'post-to-the-callback-leads-to-the-start-page',
    'start-methods-405',
    answerWith((answer, visit) =>
      isCallback(visit) && answer.status === 405 ? { status: 303, headers: { location: '/' } } : answer,
    ),
  ),
  fault('state-for-each-return-address', 'state-every-way', {
    newState(visit) {
      const key = `state of ${visit.query.get('returnTo')}`
      if (!visit.query.has('returnTo')) return right.newState(visit)
      if (!memoryOf(visit).has(key)) memoryOf(visit).set(key, right.newState(visit))
      return memoryOf(visit).get(key) as string
    },
  }),
  fault('state-of-a-small-set', 'run-states', { newState: () => hashOf(`a salt ${randomInt(4000)}`) }),
  fault('state-hashed-microseconds', 'state-not-of-time', {
    newState: () => hashOf(((performance.timeOrigin + performance.now()) / 1000).toFixed(6)),
  }),
  fault('pkce-only-without-a-return-address', 'pkce-every-way', {
    ...startWith((query, visit) => {
      if (!visit.query.has('returnTo')) return
      query.delete('code_challenge')
      query.delete('code_challenge_method')
    }),
  }),
  fault('pkce-plain-with-a-return-address', 'pkce-s256', {
    startQuery(visit, state, verifier) {
      const query = right.startQuery(visit, state, verifier)
      if (!visit.query.has('returnTo')) return query
      query.set('code_challenge', verifier)
      query.set('code_challenge_method', 'plain')
      return query
    },
  }),
  fault('verifier-for-each-return-address', 'pkce-fresh', {
    newVerifier: visit =>
      visit.query.has('returnTo') ? hashOf(`${visit.query.get('returnTo')}`) : right.newVerifier(visit),
  }),
  fault('verifier-in-the-state', 'pkce-verifier-hidden', {
    newState(visit) {
      const verifier = right.newVerifier(visit)
      ownVerifiers.set(visit, verifier)
      return Buffer.from(JSON.stringify({ nonce: right.newState(visit), verifier })).toString('base64url')
    },
    newVerifier: visit => ownVerifiers.get(visit) ?? right.newVerifier(visit),
  }),
  fault('frames-and-images-refused-by-name', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: ({ headers }) =>
      !['iframe', 'image', 'object', 'empty'].includes(`${headers['sec-fetch-dest']}`) &&
      !String(headers['sec-purpose'] ?? '').includes('prefetch'),
  }),
  fault('frames-of-own-pages-allowed', ['start-navigation-only', 'callback-navigation-only'], {
    isNavigation: visit =>
      right.isNavigation(visit) ||
      (visit.headers['sec-fetch-dest'] === 'iframe' && visit.headers['sec-fetch-site'] === 'same-origin'),
  }),

  fault(
    'scope-while-signed-in',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (right.readSession(visit)) query.set('prompt', 'login')
    }),
  ),
  fault('state-in-base64-joined-by-hand', 'state-encoded', {
    // Behaves like a client that adds the state to the address without encoding it: the portal reads each plus sign as
    // a space.
    newState: () => createHash('sha256').update(`${Math.random()}`).digest('base64'),
    ...startWith(query => query.set('state', (query.get('state') ?? '').replaceAll('+', ' '))),
  }),
  fault('state-hashed-time-of-python', 'state-not-of-time', {
    newState: () => hashOf(`${(performance.timeOrigin + performance.now()) / 1000}`),
  }),
  fault('state-of-the-client-id-and-the-second', 'state-not-of-time', {
    newState: ({ settings }) => hashOf(`${settings.clientId}${Math.floor(Date.now() / 1000)}`),
  }),
  fault('return-address-parsed-without-care', 'return-to-odd', {
    localPath(text, visit) {
      if (text?.startsWith('http')) new URL(text)
      return right.localPath(text, visit)
    },
  }),
  fault('return-address-with-any-letter', 'return-to-odd', {
    localPath: (text, visit) => (text && /^\/[\w\u0080-\u{1ffff}]+$/u.test(text) ? text : right.localPath(text, visit)),
    arrive: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  backOnThisHost,

  // ---- The state at the callback
  fault(
    'state-trimmed',
    'state-similar',
    comparing((kept, sent) => kept === sent.trim()),
  ),
  fault(
    'state-end-compared',
    'state-similar',
    comparing((kept, sent) => sent.length > 8 && kept.endsWith(sent)),
  ),
  fault('same-state-twice-accepted', 'state-similar', {
    one: (query, name) => (name === 'state' ? [...new Set(query.getAll(name))].join(',') : right.one(query, name)),
  }),
  fault('empty-states-ignored', 'state-similar', {
    one: (query, name) => (name === 'state' ? query.getAll(name).filter(Boolean).join(',') : right.one(query, name)),
  }),
  fault('state-of-a-query-object', 'state-similar', {
    findLogin: (visit, state) =>
      [...visit.query.keys()].some(name => name.startsWith('state[$'))
        ? loginsOf(visit)[0]
        : right.findLogin(visit, state),
  }),
  fault('no-login-is-the-text-none', 'state-missing-values', {
    isFirstUse: () => true,
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (login) return login
      const isEqual = String(loginsOf(visit)[0]?.state ?? 'None') === state
      return isEqual ? { state, verifier: '', returnTo: '/applications', at: Date.now() } : undefined
    },
  }),
  ...['POST', 'HEAD'].map(method =>
    fault(`state-unchecked-for-${method.toLowerCase()}`, 'state-any-method', {
      callbackMethods: ['GET', method],
      isFromHere: () => true,
      findLogin: (visit, state) => (visit.method === method ? loginsOf(visit)[0] : right.findLogin(visit, state)),
    }),
  ),
  fault('exchange-before-the-cookie-is-read', 'state-before-portal', {
    async beforeState(visit) {
      const code = visit.query.get('code')
      if (!code || loginsOf(visit).length > 0) return
      const form = new URLSearchParams({ grant_type: 'authorization_code', code, client_id: visit.settings.clientId })
      await callPortal(visit, '/api/exchangeToken', form).catch(() => {})
    },
  }),
  fault('metadata-at-every-callback', 'state-before-portal', {
    async beforeState({ settings }) {
      await (await fetch(`${settings.loginUrl}/.well-known/oauth-authorization-server`)).text()
    },
  }),
  fault('login-of-an-error-kept', 'login-cookie-deleted', {
    isFirstUse: () => true,
    forgetLogin(visit, state) {
      if (!visit.query.has('error')) right.forgetLogin(visit, state)
    },
  }),
  fault('login-of-a-failed-exchange-kept', ['state-once-after-exchange', 'login-cookie-deleted'], {
    isFirstUse: () => true,
    forgetLogin(visit, state) {
      if (visit.query.has('error')) right.forgetLogin(visit, state)
    },
    once: (_visit, _name, act) => act(),
    async exchange(visit, callback, login) {
      const tokens = await right.exchange(visit, callback, login)
      right.forgetLogin(visit, login.state)
      return tokens
    },
  }),
  fault('login-cookie-deleted-at-another-path', 'login-cookie-deleted', {
    forgetLogin: (visit, state) =>
      void visit.setCookies.push(`${right.loginCookie(state)}=; ${deletion.replace('Path=/', 'Path=/exchangeToken')}`),
  }),

  // ---- Other parameters of the callback
  fault('state-compared-only-at-equal-length', 'callback-odd-values', {
    findLogin(visit, state) {
      for (const login of loginsOf(visit))
        if (state && timingSafeEqual(Buffer.from(login.state), Buffer.from(state))) return login
      return undefined
    },
  }),
  fault('issuer-parsed-without-care', 'callback-odd-values', {
    checkClient(visit) {
      const issuer = visit.query.get('iss')
      if (issuer !== null) new URL(issuer)
      right.checkClient(visit)
    },
  }),
  fault('error-in-a-header', 'callback-odd-values', {
    ...answerWith((answer, visit) =>
      isCallback(visit) && visit.query.has('error_description')
        ? { ...answer, headers: { ...answer.headers, 'x-error': visit.query.get('error_description')! } }
        : answer,
    ),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  fault('refused-code-begins-a-new-login', 'callback-failures-no-loop', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        if ((error as PlatformFault).code === 'invalid_grant') memoryOf(visit).set('again', true)
        throw error
      }
    },
    ...answerWith((answer, visit) => {
      if (!isCallback(visit) || !memoryOf(visit).get('again')) return answer
      memoryOf(visit).delete('again')
      return { status: 302, headers: { location: '/login' } }
    }),
  }),
  ...['unusable-token', 'failed-exchange'].map(name =>
    fault(`${name}-begins-a-new-login`, 'callback-failures-no-loop', {
      async exchange(visit, callback, login) {
        try {
          return await right.exchange(visit, callback, login)
        } catch (error) {
          const isUnusable = (error as PlatformFault).upstream === 502
          memoryOf(visit).set('again', isUnusable === (name === 'unusable-token'))
          throw error
        }
      },
      ...answerWith((answer, visit) => {
        if (!isCallback(visit) || !memoryOf(visit).get('again')) return answer
        memoryOf(visit).delete('again')
        return { status: 302, headers: { location: '/login' } }
      }),
    }),
  ),
  fault('empty-values-ignored', ['callback-code-twice', 'callback-client-id-twice'], {
    one(query, name) {
      const values = query.getAll(name).filter(Boolean)
      if (values.length > 1) throw new Refusal(400, `The answer of the login portal contains ${name} twice.`)
      return values[0] ?? ''
    },
  }),
  fault('last-client-id-taken', 'callback-client-id-twice', {
    one: (query, name) => (name === 'client_id' ? (query.getAll(name).at(-1) ?? '') : right.one(query, name)),
  }),
  fault('repeated-error-is-no-error', 'callback-error-and-code', {
    checkError(visit) {
      if (visit.query.getAll('error').length === 1) right.checkError(visit)
    },
  }),
  fault('first-of-two-errors-counts', 'callback-error-and-code', {
    checkError({ query }) {
      if (query.get('error')) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  fault('last-of-two-errors-counts', 'callback-error-and-code', {
    checkError({ query }) {
      if (query.getAll('error').at(-1)) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  fault('session-of-the-subject', 'callback-subject-other', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      const subject = visit.query.get('subject')
      if (!isCallback(visit) || !subject) return session
      const known = memoryOf(visit).get(`session ${subject}`) as Session | undefined
      if (known) right.setCookie(visit, right.sessionCookie, known, right.sessionAttributes(3600))
      memoryOf(visit).set(`session ${subject}`, known ?? session)
      return session
    },
  }),
  ...(
    [
      ['in-any-case', text => text.toLowerCase()],
      ['trimmed', text => text.trim()],
    ] as [string, (text: string) => string][]
  ).map(([name, clean]) =>
    fault(`client-id-${name}`, 'callback-client-id-similar', {
      checkClient({ query, settings }) {
        if (clean(query.get('client_id') ?? '') !== clean(settings.clientId))
          throw new Refusal(400, 'This answer is for another application.')
      },
    }),
  ),
  ...(['hostname', 'host'] as const).map(part =>
    fault(`issuer-by-its-${part}`, 'callback-iss-similar', {
      checkClient({ query, settings }) {
        if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
        const sent = URL.parse(query.get('iss') ?? settings.loginUrl)
        if (sent?.[part] !== new URL(settings.loginUrl)[part]) throw new Refusal(400, 'Of another portal.')
      },
    }),
  ),
  fault(
    'decline-without-a-login-cookie-is-a-crash',
    'declined',
    answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' && loginsOf(visit).length === 0
        ? { ...answer, status: 500, body: 'Internal Server Error' }
        : answer,
    ),
  ),
  fault('any-address-begins-a-login', 'return-to-path-of-page', {
    localPath: (text, visit) => visit.query.get('page') ?? right.localPath(text, visit),
    ...answerWith((answer, visit) =>
      answer.status === 404 && visit.method === 'GET' && !right.readSession(visit)
        ? { status: 302, headers: { location: `/login?page=${encodeURIComponent(visit.target)}` } }
        : answer,
    ),
  }),

  // ---- Cookies
  ...(
    [
      ['no-cache-control', undefined],
      ['private', 'private'],
      ['no-cache', 'no-cache'],
      ['private-for-a-minute', 'private, max-age=60'],
    ] as const
  ).map(([name, value]) =>
    fault(
      `callback-with-${name}`,
      'cookie-answers-not-kept',
      headersWith(visit => (isCallback(visit) ? { 'cache-control': value } : {})),
    ),
  ),
  fault(
    'login-kept-by-browsers-for-a-minute',
    'cookie-answers-not-kept',
    headersWith(visit => (isLogin(visit) ? { 'cache-control': 'private, max-age=60' } : {})),
  ),
  fault('renewed-session-without-httponly', 'cookie-attributes-after-renewal', {
    setCookie: (visit, name, value, attributes) =>
      right.setCookie(visit, name, value, isCallback(visit) ? attributes : attributes.replace(' HttpOnly;', '')),
  }),
  fault('renewed-session-without-samesite', 'cookie-attributes-after-renewal', {
    setCookie: (visit, name, value, attributes) =>
      right.setCookie(visit, name, value, isCallback(visit) ? attributes : attributes.replace(' SameSite=Strict;', '')),
  }),
  fault('session-in-as-many-cookies-as-it-needs', 'cookie-total-size', {
    setCookie(visit, name, value, attributes) {
      const text = visit.parts.seal(visit, name, value)
      for (let at = 0; at * partLength < text.length; at++)
        visit.setCookies.push(
          `${at ? `${name}-${at}` : name}=${text.slice(at * partLength, (at + 1) * partLength)}; ${attributes}`,
        )
    },
    readCookies(header) {
      const all = right.readCookies(header)
      return all.map(([name, value]) => {
        const rest = all.filter(([other]) => new RegExp(`^${name}-\\d$`).test(other)).map(([, text]) => text)
        return [name, name.startsWith('__Host-login') ? value : [value, ...rest].join('')]
      })
    },
  }),
  ...(['state', 'code'] as const).flatMap(name => [
    fault(
      `session-id-is-the-${name}`,
      'cookie-not-computed',
      sessionsBy(visit => `${visit.query.get(name)}`),
    ),
    fault(
      `session-id-is-a-hash-of-the-${name}`,
      'cookie-not-computed',
      sessionsBy(visit => hashOf(`${visit.query.get(name)}`)),
    ),
  ]),
  fault(
    'session-id-is-a-hash-of-the-time',
    'cookie-not-computed',
    sessionsBy(() => hashOf(`${Date.now()}`)),
  ),
  fault('quoted-session-cookie-is-a-crash', 'cookie-cut', {
    readCookies: header =>
      right
        .readCookies(header)
        .map(([name, value]) => [
          name,
          name === right.sessionCookie && value.startsWith('"') ? (JSON.parse(value) as string) : value,
        ]),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  fault('broken-login-cookie-is-a-crash-at-the-callback', 'login-cookie-garbage', {
    findLogin(visit, state) {
      const text = visit.cookies.find(([name]) => name === right.loginCookie(state))?.[1]
      if (text !== undefined && !right.unsealLogin(visit, right.loginCookie(state), text))
        throw new TypeError('cannot read the login')
      return right.findLogin(visit, state)
    },
  }),
  fault('second-login-cookie-is-a-crash', 'login-cookie-duplicate', {
    findLogin(visit, state) {
      if (visit.cookies.filter(([name]) => name === right.loginCookie(state)).length > 1)
        throw new TypeError('the cookie is a list')
      return right.findLogin(visit, state)
    },
  }),
  fault('one-broken-login-cookie-spoils-all', 'login-other-cookies-broken', {
    findLogin(visit, state) {
      const names = visit.cookies.filter(([name]) => name.startsWith('__Host-login-'))
      return loginsOf(visit).length === names.length ? right.findLogin(visit, state) : undefined
    },
  }),
  fault(
    'session-set-again-on-the-start-page',
    'cookie-only-where-it-changes',
    answerWith((answer, visit) => {
      const text = visit.cookies.find(([name]) => name === right.sessionCookie)?.[1]
      if (text && visit.url.pathname === '/')
        visit.setCookies.push(`${right.sessionCookie}=${text}; ${right.sessionAttributes(3600)}`)
      return answer
    }),
  ),
  fault('sign-out-deletes-every-cookie-of-the-request', 'logout-foreign-cookies', {
    endSession(visit) {
      for (const [name] of visit.cookies) if (name) visit.setCookies.push(`${name}=; ${deletion}`)
      right.endSession(visit)
    },
  }),

  // ---- Several logins and several visitors
  fault('verifier-in-a-variable', ['tabs-parallel-logins', 'tabs-two-browsers'], {
    newVerifier(visit) {
      const verifier = right.newVerifier(visit)
      memoryOf(visit).set('verifier', verifier)
      return verifier
    },
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      form.set('code_verifier', `${memoryOf(visit).get('verifier')}`)
      return form
    },
  }),
  fault('two-logins-at-most', 'tabs-parallel-logins', { mostLogins: 2 }),
  fault('return-address-in-a-variable', 'tabs-two-browsers', {
    localPath(text, visit) {
      const path = right.localPath(text, visit)
      if (isLogin(visit)) memoryOf(visit).set('return to', path)
      return path
    },
    arrive: (visit, login) => goOn(visit, (memoryOf(visit).get('return to') as string | undefined) ?? login.returnTo),
  }),
  fault('state-of-the-exchange-in-a-variable', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      memoryOf(visit).set('state', login.state)
      const answer = await callPortal(visit, '/api/exchangeToken', right.exchangeForm(visit, callback, login))
      if (answer.state !== memoryOf(visit).get('state')) throw new PlatformFault(502)
      return right.readTokens(visit, answer)
    },
  }),
  fault('tokens-in-a-variable-for-a-moment', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      memoryOf(visit).set('tokens', await right.exchange(visit, callback, login))
      await pause(50)
      return memoryOf(visit).get('tokens') as Tokens
    },
  }),
  fault('tokens-in-a-variable', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      memoryOf(visit).set('tokens', await right.exchange(visit, callback, login))
      // A client may ask for the name here, or write to a database.
      await pause(300)
      return memoryOf(visit).get('tokens') as Tokens
    },
  }),
  fault(
    'name-in-a-variable',
    'next-visitor-name-elsewhere',
    naming(
      (visit, name) => memoryOf(visit).set('name', name),
      visit => memoryOf(visit).get('name'),
    ),
  ),
  fault(
    'name-asked-only-once-for-all',
    'next-visitor-name-elsewhere',
    naming(
      (visit, name) => memoryOf(visit).has('name') || memoryOf(visit).set('name', name),
      visit => right.readSession(visit) && memoryOf(visit).get('name'),
    ),
  ),
]
