import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { goOn, page } from '../pages.ts'
import { right } from '../parts.ts'
import { callPortal } from '../platform.ts'
import { type Answer, type Login, Refusal, type Session, type Visit } from '../visit.ts'
import { answerWith, fault, headersWith, memoryOf, sessionWith, startWith } from './fault.ts'

const loginsOf = (visit: Visit): Login[] =>
  visit.cookies
    .map(([name, text]) => right.unsealLogin(visit, name, text) as Login | undefined)
    .filter(login => login?.verifier !== undefined)
    .map(login => login!)

/** Logins in the memory of the server. The server does not store which browser began a login. */
const known = new Map<string, Login>()

/** Sessions in the memory of the server, keyed by the id in the cookie. */
const sessions = new Map<string, Session>()
const sessionIdOf = ({ cookies }: Visit) => cookies.find(([name]) => name === right.sessionCookie)?.[1]

/** A state that contains the signed data of the login, so that the client needs no login cookie. */
const signed = {
  make: (visit: Visit): string => {
    const text = Buffer.from(JSON.stringify({ at: Date.now(), nonce: right.newState(visit) })).toString('base64url')
    return `${text}.${createHmac('sha256', visit.settings.key).update(text).digest('base64url')}`
  },
  isOurs: (visit: Visit, state: string): boolean => {
    const [text = '', mac = ''] = state.split('.')
    const right = createHmac('sha256', visit.settings.key).update(text).digest()
    const sent = Buffer.from(mac, 'base64url')
    return sent.length === right.length && timingSafeEqual(sent, right)
  },
  verifier: (visit: Visit, state: string): string =>
    createHmac('sha256', visit.settings.key).update(`verifier ${state}`).digest('base64url'),
}

const backTo = (name: string, checks: string | string[], allows: (text: string, visit: Visit) => boolean) =>
  fault(`return-to-${name}`, checks, {
    localPath: (text, visit) => (text && allows(text, visit) ? text : '/applications'),
  })

/** Faulty comparisons of the state, keyed by the id of the check that must find the fault. */
const comparisons: Record<string, (kept: string, sent: string, visit: Visit) => boolean> = {
  'state-longer': (kept, sent) => sent.startsWith(kept),
  'state-case': (kept, sent) => kept.toLowerCase() === sent.toLowerCase(),
  'state-last': (kept, sent) => kept.length === sent.length && kept.slice(0, -4) === sent.slice(0, -4),
  'state-changed': (kept, sent) => kept.length === sent.length && kept.slice(1) === sent.slice(1),
  'state-shortened': (kept, sent) => sent !== '' && kept.startsWith(sent),
  'state-undefined': (kept, sent) => sent === kept || sent === 'undefined',
  'state-list': (kept, sent, { query }) => sent === kept || query.get('state[]') === kept,
  'state-other-login': () => true,
}

/** Comparisons that accept a text if only a part of it is right. */
const looseComparisons: Record<string, (sent: string, own: string) => boolean> = {
  'beginning-compared': (sent, own) => sent.startsWith(own),
  'beginning-enough': (sent, own) => sent !== '' && own.startsWith(sent),
  'part-enough': (sent, own) => sent !== '' && own.includes(sent),
}

const repeated = [
  'callback-code-twice',
  'callback-client-id-twice',
  'callback-subject-twice',
  'callback-redirect-uri-twice',
  'callback-iss-twice',
]

/** Clients that throw an error for some queries, keyed by the id of the check without `callback-`. */
const crashes: Record<string, (visit: Visit) => void> = {
  nothing({ query }) {
    if (!query.has('state')) throw new TypeError("Cannot read properties of null (reading 'length')")
  },
  'bad-escapes': ({ url }) => void decodeURIComponent(url.search),
  'no-utf8': ({ url }) => void decodeURIComponent(url.search),
  'null-byte'({ query }) {
    if (query.get('code')?.includes('\0')) throw new TypeError('must be a string without null bytes')
  },
  prototype({ query }) {
    const fields: Record<string, Record<string, string>> = {}
    for (const [name, value] of query) {
      const [, outer, inner] = /^(\w+)\[(\w+)\]/.exec(name) ?? []
      if (!outer || !inner) continue
      // If `outer` is the name of a property that every object has, such as `constructor`, such code crashes.
      if (!Object.hasOwn(fields, outer) && fields[outer]) throw new TypeError('fields[outer].push is not a function')
      fields[outer] = { ...fields[outer], [inner]: value }
    }
  },
  nested({ query }) {
    if ([...query.keys()].some(name => name.startsWith('code['))) throw new TypeError('code.trim is not a function')
  },
  many({ query }) {
    if (query.size > 500) throw new RangeError('too many parameters')
  },
  long({ url }) {
    if (url.search.length > 8192) throw new RangeError('too long')
  },
}

/** Sessions in memory, as in many server-side frameworks. */
const kept = new Map<string, Session>()
const isSessionId = /^[0-9a-f]{48}$/

export const callback = [
  fault('refused-callback-ends-the-session', 'callback-refused-keeps-session', {
    async around(visit, next) {
      const answer = await next()
      if (visit.url.pathname === '/exchangeToken' && (answer.status ?? 200) >= 400) right.dropSession(visit)
      return answer
    },
  }),
  fault('error-callback-ends-the-session', 'callback-refused-keeps-session', {
    async beforeState(visit) {
      if (visit.query.has('error')) right.dropSession(visit)
    },
  }),
  fault(
    'state-unchecked',
    [
      'state-other',
      'state-missing',
      'state-empty',
      'state-changed',
      'state-shortened',
      'state-longer',
      'state-case',
      'state-undefined',
      'state-list',
      'state-other-login',
    ],
    { findLogin: visit => loginsOf(visit)[0] },
  ),
  fault('state-known-to-the-server', 'state-other-browser', {
    sealLogin(visit, name, login) {
      known.set(login.state, login)
      return right.sealLogin(visit, name, login)
    },
    findLogin: (_visit, state) => known.get(state),
  }),
  fault('state-signed-by-the-server', 'state-other-browser', {
    newState: signed.make,
    startQuery: (visit, state) => right.startQuery(visit, state, signed.verifier(visit, state)),
    findLogin: (visit, state) =>
      signed.isOurs(visit, state)
        ? { state, verifier: signed.verifier(visit, state), returnTo: '/applications', at: Date.now() }
        : undefined,
  }),
  fault('state-absent-passes', ['state-missing', 'state-empty'], {
    findLogin: (visit, state) => (state ? right.findLogin(visit, state) : loginsOf(visit)[0]),
  }),
  fault('state-absent-on-both-sides-passes', 'login-cookie-empty', {
    findLogin(visit, state) {
      const login = loginsOf(visit)[0]
      // If both states are missing, this comparison treats them as equal.
      return (login?.state ?? '') === state ? (login ?? { state, verifier: '', returnTo: '/', at: 0 }) : undefined
    },
  }),
  fault('state-beginning-compared', 'state-shortened', {
    findLogin: (visit, state) => loginsOf(visit).find(login => state && login.state.startsWith(state.slice(0, 8))),
  }),
  fault('state-after-the-exchange', ['state-other', 'state-before-portal'], {
    async beforeState(visit) {
      const login = loginsOf(visit)[0]
      const callback = { code: visit.query.get('code') ?? '', state: visit.query.get('state') ?? '', subject: '' }
      const verifier = login?.verifier ?? ''
      const form = right.exchangeForm(visit, { ...callback, redirectUri: '' }, { ...login!, verifier })
      await callPortal(visit, '/api/exchangeToken', form).catch(() => {})
    },
  }),
  fault(
    'state-used-again',
    [
      'state-once',
      'state-once-new-code',
      'state-once-after-restart',
      'state-once-on-replica',
      'state-once-after-failure',
    ],
    { forgetLogin: () => {}, isFirstUse: () => true, once: (_visit, _name, act) => act() },
  ),
  fault(
    'state-of-a-failed-login-used-again',
    ['error', 'client-id', 'iss', 'exchange', 'tokens'].map(id => `state-once-copied-${id}`),
    { isFirstUse: () => true },
  ),
  fault(
    'used-state-noted-after-the-checks',
    ['error', 'client-id', 'iss'].map(id => `state-once-copied-${id}`),
    {
      isFirstUse: () => true,
      async exchange(visit, callback, login) {
        if (!right.isFirstUse(visit, login.state)) throw new Refusal(400, 'This login was finished before.')
        return right.exchange(visit, callback, login)
      },
    },
  ),
  fault('login-cookie-not-cleared-rightly', 'state-once', {
    forgetLogin(visit, state) {
      visit.setCookies.push(`${right.loginCookie(state)}=; Max-Age=0`)
    },
    once: (_visit, _name, act) => act(),
  }),
  fault('duplicates-taken', 'callback-code-twice', { one: (query, name) => query.getAll(name).at(-1) ?? '' }),
  fault('client-id-unchecked', 'callback-client-id-other', { checkClient: () => {} }),
  ...Object.entries(looseComparisons).map(([name, isSame]) =>
    fault(`client-id-${name}`, 'callback-client-id-similar', {
      checkClient({ query, settings }) {
        if (!isSame(query.get('client_id') ?? '', settings.clientId)) throw new Refusal(400, 'For another application.')
      },
    }),
  ),
  ...Object.entries(looseComparisons).map(([name, isSame]) =>
    fault(`issuer-${name}`, 'callback-iss-similar', {
      checkClient({ query, settings }) {
        if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
        if (!isSame(query.get('iss') ?? settings.loginUrl, settings.loginUrl))
          throw new Refusal(400, 'Of another portal.')
      },
    }),
  ),
  ...['error_description', 'error', 'error_uri', 'state', 'subject', 'client_id', 'iss'].map(name =>
    fault(`${name}-of-a-cancelled-login-as-html`, 'declined-escapes', {
      async around(visit, next) {
        const answer = await next()
        if (visit.url.pathname === '/cancelled') answer.body += visit.query.get(name) ?? ''
        return answer
      },
    }),
  ),
  fault('error-with-a-code-taken', 'callback-error-and-code', {
    checkError(visit) {
      if (!visit.query.has('code')) right.checkError(visit)
    },
  }),
  fault('error-is-a-crash', 'callback-error', {
    checkError({ query }) {
      if (query.has('error')) throw new Error(query.get('error')!)
    },
  }),
  fault('error-is-a-crash-after-iss-is-checked', 'callback-error', {
    checkError({ query, settings }) {
      if (query.get('iss') !== settings.loginUrl) throw new Refusal(400, 'This answer comes from another login portal.')
      if (query.has('error')) throw new Error(query.get('error')!)
    },
  }),
  fault('session-id-taken-over', 'session-new', {
    keepSession(visit, tokens) {
      const { visitor, expiresAt } = {
        visitor: right.visitorOf(tokens, visit),
        expiresAt: Date.now() + tokens.seconds * 1000,
      }
      const session = { accessToken: tokens.accessToken, visitor, expiresAt }
      const id = sessionIdOf(visit) ?? randomUUID()
      sessions.set(id, session)
      visit.setCookies.push(`${right.sessionCookie}=${id}; ${right.sessionAttributes(tokens.seconds)}`)
      return session
    },
    readSession: visit => sessions.get(sessionIdOf(visit) ?? ''),
  }),
  fault('error-description-as-html', 'callback-escapes-error-description', {
    wordsFor: (error, visit) => right.wordsFor(error, visit) + (visit.query.get('error_description') ?? ''),
    html: text => text,
  }),
  fault('redirect-uri-of-the-callback', 'callback-redirect-uri-other', {
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      form.set('redirect_uri', callback.redirectUri)
      return form
    },
  }),
  fault('back-to-the-redirect-uri', 'callback-redirect-uri-other', {
    arrive: (visit, login) =>
      goOn(
        visit,
        (visit.query.get('redirect_uri') ?? '').replace(/\/exchangeToken.*$/, '/applications') || login.returnTo,
      ),
  }),
  fault('subject-is-the-visitor', 'callback-subject-other', {
    visitorOf: (_tokens, visit) => visit.query.get('subject') ?? '',
  }),
  fault('subject-if-the-name-fails', 'callback-subject-name-fails', {
    async exchange(visit, callback, login) {
      const tokens = await right.exchange(visit, callback, login)
      const headers = { authorization: `Bearer ${tokens.accessToken}` }
      const { ok } = await fetch(`${visit.settings.loginUrl}/api/me`, { headers })
      if (!ok) memoryOf(visit).set(`subject ${tokens.accessToken}`, visit.query.get('subject'))
      return tokens
    },
    visitorOf(tokens, visit) {
      const subject = memoryOf(visit).get(`subject ${tokens.accessToken}`)
      return typeof subject === 'string' ? subject : right.visitorOf(tokens, visit)
    },
  }),
  fault('exchange-fields-by-hand', 'callback-code-literal', {
    encode: form => [...form].map(([name, value]) => `${name}=${value}`).join('&'),
  }),
  fault('code-without-end', 'callback-code-long', {
    readCallback: visit => ({
      code: visit.query.get('code') ?? '',
      state: visit.query.get('state') ?? '',
      subject: '',
      redirectUri: '',
    }),
  }),
  fault('callback-without-a-code-begins-a-new-login', 'callback-code-missing', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/exchangeToken' && !visit.query.has('code')
        ? { status: 302, headers: { location: '/login' } }
        : answer,
    ),
  }),
  fault('callback-without-a-code-crashes', 'callback-code-missing', {
    readCallback(visit) {
      if (!visit.query.has('code')) throw new TypeError("Cannot read properties of null (reading 'code')")
      return right.readCallback(visit)
    },
  }),
  fault('callback-redirects-with-a-strict-cookie', 'login-lands-signed-in', {
    arrive: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
    // Does not load the page a second time. The second request would carry the cookie, and no check would see the
    // fault.
    comesFromElsewhere: () => false,
  }),
  fault('callback-tells-the-next-page', 'callback-no-referrer', {
    arrive(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.headers!['referrer-policy'] = 'unsafe-url'
      return answer
    },
  }),
  fault('callback-kept-in-caches', 'callback-no-store', {
    arrive(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.headers!['cache-control'] = 'private, max-age=600'
      return answer
    },
  }),
  fault('callback-shows-the-code', 'callback-nothing-foreign', {
    arrive(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.body += `<!-- ${visit.query.get('code')} -->`
      return answer
    },
  }),
  fault('callback-waits-for-a-click', ['callback-code-not-in-address', 'tabs-reload-after-login'], {
    arrive: (visit, login) => page(visit, 200, 'Welcome', `<a href="${visit.parts.html(login.returnTo)}">Go on</a>`),
  }),
  fault('callback-loads-from-elsewhere', 'callback-nothing-foreign', {
    ...headersWith(() => ({ 'content-security-policy': undefined })),
    arrive(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.body = answer.body!.replace('<title>', '<script src="https://analytics.invalid/a.js"></script><title>')
      return answer
    },
  }),
  fault(
    'return-to-forgotten-after-a-failure',
    ['declined', 'declined-bare', 'error', 'failed-exchange'].map(id => `return-after-${id}`),
    { signInLink: () => '/login' },
  ),
  fault('return-to-forgotten-without-a-state', 'return-after-declined-bare', {
    signInLink: visit => (visit.query.has('state') ? right.signInLink(visit) : '/login'),
  }),
  fault('return-to-forgotten', 'return-to-works', { localPath: () => '/applications' }),
  backTo(
    'anywhere',
    [
      'absolute',
      'two-slashes',
      'three-slashes',
      'backslash',
      'two-backslashes',
      'tab',
      'newline',
      'space',
      'scheme-only',
      'user-info',
      'script',
      'data',
      'own-origin-in-query',
      'backslash-slash',
      'slash-backslash',
      'script-upper-case',
      'script-after-space',
    ].map(id => `return-to-${id}`),
    () => true,
  ),
  backTo('two-slashes', 'return-to-two-slashes', text => text.startsWith('/')),
  backTo('backslash', 'return-to-backslash', text => /^\/(?!\/)/.test(text)),
  backTo('tab', 'return-to-tab', text => /^\/(?![/\\])/.test(text)),
  backTo(
    'beginning-of-the-origin',
    'return-to-own-origin-as-user',
    (text, { settings }) => text.startsWith(settings.publicUrl) || /^\/\w/.test(text),
  ),
  backTo(
    'name-of-the-host',
    'return-to-user-info',
    (text, { settings }) => text.includes(new URL(settings.publicUrl).hostname) || /^\/\w/.test(text),
  ),
  fault('return-to-path-after-parsing', ['return-to-dots', 'return-to-dot', 'return-to-above'], {
    localPath: (text, { settings }) => {
      const url = text ? URL.parse(text, settings.publicUrl) : null
      return url?.origin === settings.publicUrl ? url.pathname + url.search : '/applications'
    },
  }),

  fault('exchange-at-another-path', ['login-works', 'exchange-post'], {
    portalUrl: ({ settings }) => `${settings.loginUrl}/api/token`,
  }),
  fault('callback-for-every-cache', ['callback-not-cached', 'cookie-not-cached'], {
    arrive(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.headers!['cache-control'] = 'public, max-age=300'
      return answer
    },
  }),
  ...Object.entries(comparisons).map(([check, isSame]) =>
    fault(`compares-wrongly-for-${check}`, check, {
      findLogin: (visit, state) => loginsOf(visit).find(login => isSame(login.state, state, visit)),
    }),
  ),
  fault('first-of-duplicates-taken', [...repeated, 'state-twice'], { one: (query, name) => query.get(name) ?? '' }),
  fault('last-of-duplicates-taken', 'state-twice-first', { one: (query, name) => query.getAll(name).at(-1) ?? '' }),
  fault('used-states-remembered-by-one-process', ['state-once-after-restart', 'state-once-on-replica'], {
    forgetLogin: (visit, state) => void memoryOf(visit).set(`used ${state}`, true),
    findLogin: (visit, state) => (memoryOf(visit).has(`used ${state}`) ? undefined : right.findLogin(visit, state)),
  }),
  fault('login-cookie-only-has-to-be-there', 'login-cookie-changed', {
    newState: signed.make,
    startQuery: (visit, state) => right.startQuery(visit, state, signed.verifier(visit, state)),
    findLogin: (visit, state) =>
      visit.cookies.some(([name]) => name === right.loginCookie(state))
        ? { state, verifier: signed.verifier(visit, state), returnTo: '/applications', at: Date.now() }
        : undefined,
  }),
  fault('late-callback-ends-the-session', 'callback-resent-signed-in', {
    once: (_visit, _name, act) => act(),
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        right.dropSession(visit)
        throw error
      }
    },
  }),
  fault('callback-that-is-under-way-is-a-crash', 'callback-resent', {
    async once(visit, name, act) {
      if (visit.memory.has(name)) throw new Error('duplicate key')
      return right.once(visit, name, act)
    },
  }),
  fault('client-id-checked-only-if-there', 'callback-client-id-missing', {
    checkClient: visit => (visit.query.has('client_id') ? right.checkClient(visit) : undefined),
  }),
  fault('subject-not-needed', 'callback-subject-missing', {
    readCallback: ({ query }) => ({
      code: query.get('code') ?? '',
      state: query.get('state') ?? '',
      subject: '',
      redirectUri: '',
    }),
  }),
  fault('issuer-unchecked', 'callback-iss-other', {
    checkClient({ query, settings }) {
      if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
    },
  }),
  fault('unknown-parameter-refused', 'callback-unknown-parameter', {
    checkClient(visit) {
      right.checkClient(visit)
      const known = ['code', 'state', 'client_id', 'subject', 'redirect_uri', 'iss', 'error', 'error_description']
      if ([...visit.query.keys()].some(name => !known.includes(name))) throw new Refusal(400, 'Unknown parameter.')
    },
  }),
  ...['error', 'subject', 'state'].map(name =>
    fault(`${name}-as-html`, `callback-escapes-${name}`, {
      wordsFor: (error, visit) => right.wordsFor(error, visit) + (visit.query.get(name) ?? ''),
      html: text => text,
    }),
  ),
  ...Object.entries(crashes).map(([id, check]) =>
    fault(`callback-${id}-is-a-crash`, `callback-${id}`, { beforeState: async visit => check(visit) }),
  ),
  fault('callback-by-a-form', 'callback-post', {
    callbackMethods: ['GET', 'POST'],
    isFromHere: () => true,
    loginAttributes: right.loginAttributes.replace('Lax', 'None'),
    async beforeState(visit) {
      for (const [name, value] of new URLSearchParams(visit.body)) visit.query.set(name, value)
    },
  }),
  fault('callback-by-head', 'callback-head', { callbackMethods: ['GET', 'HEAD'] }),
  fault(
    'cancelled-is-not-found',
    'declined',
    startWith((query, { settings }) => query.set('cancel_url', `${settings.publicUrl}/declined`)),
  ),
  fault('old-session-stays', 'session-replaced', {
    ...sessionWith(text => text.replace('Strict', 'Lax')),
    keepSession: (visit, tokens) => right.readSession(visit) ?? right.keepSession(visit, tokens),
  }),
  fault('return-to-in-a-cookie-as-it-came', 'return-to-no-header', {
    afterStart(visit, answer) {
      visit.setCookies.push(`return-to=${visit.query.get('returnTo') ?? '/'}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      return answer
    },
  }),
  backTo('of-any-length', ['return-to-long', 'logins-bounded-with-return-address'], text =>
    /^\/(?!\/)[\w/?=-]*$/.test(text),
  ),
  fault('return-to-glued-to-the-origin', 'return-to-at', {
    localPath: (text, { settings }) => settings.publicUrl + (text ?? '/applications'),
  }),
  fault(
    'return-to-decoded-after-the-check',
    ['return-to-encoded-slash', 'return-to-encoded-backslash', 'return-to-encoded-tab'],
    {
      localPath: (text, visit) =>
        text && /^\/(?![/\\])/.test(text) ? decodeURIComponent(text) : right.localPath(text, visit),
    },
  ),
  fault('return-to-decoded-twice', ['return-to-encoded-twice', 'return-to-encoded-slashes'], {
    localPath(text, visit) {
      const plain = decodeURIComponent(decodeURIComponent(text ?? ''))
      return text && !/^(\w+:|\/\/|\/?\\)/.test(text) ? plain : right.localPath(text, visit)
    },
  }),
  fault('signed-in-visitor-sent-anywhere', 'return-to-signed-in', {
    afterStart(visit, answer) {
      const to = visit.query.get('returnTo') ?? ''
      const isAnswerable = /^[\x20-\x7e]+$/.test(to)
      return right.readSession(visit) && isAnswerable ? { status: 302, headers: { location: to } } : answer
    },
  }),
  fault('last-return-address-kept', 'return-to-twice', {
    localPath: (text, visit) =>
      visit.query.getAll('returnTo').length > 1 ? visit.query.getAll('returnTo').at(-1)! : right.localPath(text, visit),
  }),
  fault('failed-login-links-anywhere', 'return-to-after-failure', {
    startQuery(visit, state, verifier) {
      memoryOf(visit).set(`wanted ${state}`, visit.query.get('returnTo'))
      return right.startQuery(visit, state, verifier)
    },
    signInLink: visit =>
      (memoryOf(visit).get(`wanted ${visit.query.get('state')}`) as string | null | undefined) ??
      right.signInLink(visit),
  }),
  fault('return-to-normalised-after-the-check', 'return-to-full-width', {
    localPath: (text, visit) =>
      text && /^\/(?![/\\])/.test(text) ? text.normalize('NFKC') : right.localPath(text, visit),
  }),
  fault('session-id-adopted', 'session-new', {
    keepSession(visit, tokens) {
      const given = visit.cookies.find(([name]) => name === '__Host-sid')?.[1] ?? ''
      const id = isSessionId.test(given) ? given : randomBytes(24).toString('hex')
      const visitor = right.visitorOf(tokens, visit)
      const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
      kept.set(id, session)
      visit.setCookies.push(`__Host-sid=${id}; ${right.sessionAttributes(tokens.seconds)}`)
      return session
    },
    readSession: visit => kept.get(visit.cookies.find(([name]) => name === '__Host-sid')?.[1] ?? ''),
    readRefresh: () => undefined,
  }),
  fault('odd-code-of-a-login-is-a-crash', ['callback-null-byte', 'callback-long'], {
    readCallback(visit) {
      const code = right.one(visit.query, 'code')
      if (code.includes('\0') || code.length > 10_000) throw new RangeError('unexpected code')
      return right.readCallback(visit)
    },
  }),
  fault('any-character-in-a-code', ['callback-code-newline', 'callback-code-control', 'callback-code-not-ascii'], {
    readCallback: ({ query, parts }) => ({
      code: parts.one(query, 'code'),
      subject: parts.one(query, 'subject'),
      state: parts.one(query, 'state'),
      redirectUri: parts.one(query, 'redirect_uri'),
    }),
  }),
  fault('subject-on-the-page-after-the-login', 'callback-escapes-success', {
    arrive: visit => page(visit, 200, 'Signed in', `<p>You are signed in as ${visit.query.get('subject')}.</p>`),
  }),
  fault('subject-on-the-page-that-leads-on', 'callback-escapes-success', {
    arrive(visit, login) {
      const answer = right.arrive(visit, login)
      return { ...answer, body: `${answer.body}<p>You are ${visit.query.get('subject')}.</p>` }
    },
  }),
  fault('error-begins-a-new-login', 'callback-error-page', {
    ...answerWith((answer, visit) =>
      isFailed(answer, visit, 'error') ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  fault('error-of-another-kind-is-a-crash', 'callback-error-page', {
    checkError({ query }) {
      const error = query.get('error')
      if (error && error !== 'access_denied') throw new TypeError(`no text for ${error}`)
      if (error) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  fault('failed-exchange-without-a-page', 'callback-refused-answer', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/exchangeToken' && answer.status === 502
        ? { status: 500, headers: { 'content-type': 'text/plain' }, body: 'Internal Server Error' }
        : answer,
    ),
  }),
  fault('failed-login-shows-the-code', 'callback-refused-closed', {
    wordsFor: (error, visit) => `${right.wordsFor(error, visit)} ${visit.query.get('code') ?? ''}`,
  }),
  fault('failed-login-loads-from-elsewhere', 'callback-refused-closed', {
    ...answerWith((answer, visit) =>
      isFailed(answer, visit)
        ? { ...answer, body: `${answer.body}<img src="https://analytics.invalid/a.png">` }
        : answer,
    ),
  }),
  fault('failed-login-tells-its-address', 'callback-refused-closed', {
    ...answerWith((answer, visit) =>
      isFailed(answer, visit) ? { ...answer, headers: { ...answer.headers, 'referrer-policy': 'unsafe-url' } } : answer,
    ),
  }),
  fault('failed-login-kept-in-caches', 'callback-refused-no-store', {
    ...answerWith((answer, visit) =>
      isFailed(answer, visit) ? { ...answer, headers: { ...answer.headers, 'cache-control': 'private' } } : answer,
    ),
  }),
  fault('cancelled-login-in-a-frame', 'callback-not-framed', {
    ...headersWith(({ url }) =>
      url.pathname === '/cancelled'
        ? { 'content-security-policy': "default-src 'none'", 'x-frame-options': undefined }
        : {},
    ),
  }),
  fault('only-frames-refused', ['callback-navigation-only', 'start-navigation-only'], {
    isNavigation: ({ headers }) => headers['sec-fetch-dest'] !== 'iframe',
  }),
  fault('callback-without-a-query-ends-the-session', 'callback-forged-keeps-session', {
    async beforeState(visit) {
      if (!visit.query.has('state') && !visit.query.has('error')) right.dropSession(visit)
    },
  }),
  fault('forged-callback-ends-a-session-that-comes-with-it', 'callback-forged-keeps-session', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      if (!login && visit.cookies.some(([name]) => name === right.sessionCookie)) right.dropSession(visit)
      return login
    },
  }),
  fault('cancelled-login-ends-the-session', 'declined-keeps-session', {
    async around(visit, next) {
      if (visit.url.pathname === '/cancelled') right.dropSession(visit)
      return next()
    },
  }),
  fault('state-unchecked-for-the-signed-in', 'state-signed-in-browser', {
    findLogin: (visit, state) =>
      right.findLogin(visit, state) ??
      (right.readSession(visit) && { state, verifier: '', returnTo: '/applications', at: Date.now() }),
  }),
  fault('session-ended-before-the-exchange', 'exchange-failure-keeps-session', {
    exchange(visit, callback, login) {
      right.dropSession(visit)
      return right.exchange(visit, callback, login)
    },
  }),
  fault('parameter-with-brackets-is-a-crash', 'callback-unknown-parameters', {
    async beforeState({ query }) {
      if ([...query.keys()].some(name => name.includes('['))) throw new TypeError('cannot read a list')
    },
  }),
  fault('parameter-named-like-a-property-refused', 'callback-unknown-parameters', {
    async beforeState({ query }) {
      const object: Record<string, unknown> = {}
      for (const name of query.keys())
        if (object[name] !== undefined) throw new Refusal(400, 'A parameter is repeated.')
    },
  }),
  fault('next-page-of-the-callback', 'callback-no-redirect-away', {
    arrive: (visit, login) => goOn(visit, visit.query.get('next') ?? login.returnTo),
  }),
  ...['client_id', 'iss', 'error_uri', 'code'].map(name =>
    fault(`${name}-of-a-refused-callback-as-html`, 'callback-escapes-anything', {
      wordsFor: (error, visit) => right.wordsFor(error, visit) + (visit.query.get(name) ?? ''),
      html: text => text,
    }),
  ),
  ...['error', 'error_description'].map(name =>
    fault(`whole-${name}-on-the-page`, 'callback-long-texts-not-shown', {
      wordsFor: (error, visit) => `${right.wordsFor(error, visit)} ${visit.query.get(name) ?? ''}`,
    }),
  ),
  fault('error-uri-as-a-link', 'callback-escapes-anything', {
    ...answerWith((answer, visit) =>
      isFailed(answer, visit, 'error_uri')
        ? { ...answer, body: `${answer.body}<a href="${right.html(visit.query.get('error_uri')!)}">More</a>` }
        : answer,
    ),
  }),
  ...['lang', 'error_description'].map(name =>
    fault(`header-with-the-${name}-as-it-came`, 'header-injection', {
      ...answerWith((answer, visit) => {
        const lines = (visit.query.get(name) ?? '').split(/[\r\n]+/).filter(line => line.startsWith('x-'))
        const headers = Object.fromEntries(lines.map(line => line.split(': ')))
        return { ...answer, headers: { ...answer.headers, ...headers } }
      }),
    }),
  ),
  fault('redirect-uri-of-the-exchange-from-host', 'callback-headers', {
    exchangeForm(visit, callback, login) {
      const form = right.exchangeForm(visit, callback, login)
      const host = visit.headers['x-forwarded-host']
      if (host) form.set('redirect_uri', `https://${host}/exchangeToken`)
      return form
    },
  }),
  fault('empty-code-exchanged', 'callback-code-missing', {
    readCallback: visit => {
      const { parts, query } = visit
      if (!query.has('code')) throw new Refusal(400, 'The login portal sent no code.')
      return { code: parts.one(query, 'code'), subject: '', state: parts.one(query, 'state'), redirectUri: '' }
    },
  }),
  fault('empty-issuer-taken', 'callback-iss-other', {
    checkClient({ query, settings }) {
      if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
      if (query.get('iss') && query.get('iss') !== settings.loginUrl) throw new Refusal(400, 'Of another portal.')
    },
  }),
  fault('no-login-and-no-state-are-equal', 'login-cookie-empty', {
    isFirstUse: () => true,
    findLogin(visit, state) {
      const isEmpty = !visit.query.has('state') && loginsOf(visit).length === 0
      return isEmpty ? { state, verifier: '', returnTo: '/', at: Date.now() } : right.findLogin(visit, state)
    },
  }),
  fault('code-in-the-fragment', 'callback-code-not-in-address', {
    arrive: (visit, login) => goOn(visit, `${login.returnTo}#${visit.query.get('code')}`),
  }),
  fault('each-callback-exchanges', 'callback-resent-exchanges', {
    once: (_visit, _name, act) => act(),
    isFirstUse: () => true,
  }),
  fault('late-copy-of-a-callback-ends-the-session', 'callback-resent-late', {
    isFirstUse(visit, state) {
      const used = memoryOf(visit)
      if (used.has(`used ${state}`)) right.dropSession(visit)
      const isFirst = !used.has(`used ${state}`)
      used.set(`used ${state}`, true)
      return isFirst
    },
  }),
]

/** Whether the client has refused a callback that contains the parameter `name`. */
function isFailed({ status }: Answer, { url, query }: Visit, name?: string): boolean {
  return url.pathname === '/exchangeToken' && status >= 400 && (name === undefined || query.has(name))
}
