// Clients with a mistake in one branch of the login: in a login that begins at a page, in the answer to one kind of
// failure, in the second login of a signed-in visitor, or in the handling of one kind of return address.
import { createHash } from 'node:crypto'
import { goOn, page } from '../pages.ts'
import { keepLogin, right } from '../parts.ts'
import { type Answer, PlatformFault, Refusal, type Visit } from '../visit.ts'
import { answerWith, exchangeWith, type Fault, fault, memoryOf, startWith } from './fault.ts'

const isCallback = (visit: Visit) => visit.url.pathname === '/exchangeToken'
const isCancelled = (visit: Visit) => visit.url.pathname === '/cancelled'
const secure = (address: string) => address.replace(/^http:/, 'https:')
const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

/** Checks the return address with the pattern of the correct client, but does not encode the markup in it. */
const unencoded = (text: string | null) =>
  text && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,200}$/.test(text) ? text : '/applications'

/** If a page needs a session, the client redirects from this page to the portal without using the login path. */
const beginsAtPage = (change: (visit: Visit) => Record<string, string>) => ({
  askToSignIn(visit: Visit) {
    const [state, verifier] = [right.newState(visit), right.newVerifier(visit)]
    keepLogin(visit, { state, verifier, returnTo: visit.url.pathname + visit.url.search, at: Date.now() })
    const location = `${visit.settings.loginUrl}/?${right.startQuery(visit, state, verifier)}`
    return { status: 302, headers: { location, ...change(visit) } }
  },
})

/** Uses up the state of each callback that `isMet` selects, although the client refuses this callback. */
const usingUp = (isMet: (visit: Visit) => boolean) => ({
  async around(visit: Visit, next: () => Promise<Answer>) {
    const state = visit.query.get('state') ?? ''
    if (isCallback(visit) && isMet(visit)) memoryOf(visit).set(`used ${state}`, true)
    return next()
  },
  findLogin: (visit: Visit, state: string) =>
    memoryOf(visit).has(`used ${state}`) ? undefined : right.findLogin(visit, state),
})

/** The requests whose call to the portal was answered. */
const answered = new WeakSet<Visit>()

/** The return address of the last login that began. */
let lastReturn = '/'

export const loginBranches: Fault[] = [
  // ---- The return address
  fault('return-address-as-markup', 'return-to-escapes', {
    localPath: unencoded,
    arrive(visit, { returnTo }) {
      const answer = page(visit, 200, 'One moment', `<a href="${returnTo}">Continue</a>`)
      answer.body = answer.body!.replace('<title>', `<meta http-equiv="refresh" content="0;url=${returnTo}"><title>`)
      answer.headers!['referrer-policy'] = 'no-referrer'
      return answer
    },
  }),
  fault(
    'return-address-as-markup-after-a-failure',
    'return-to-escapes',
    answerWith((answer, visit) => {
      if (visit.url.pathname === '/login' && answer.status === 302) lastReturn = visit.query.get('returnTo') ?? '/'
      return isCallback(visit) && answer.status === 400
        ? { ...answer, body: `${answer.body}<a href='/login?returnTo=${unencoded(lastReturn)}'>Again</a>` }
        : answer
    }),
  ),
  fault(
    'login-begun-at-a-page-keeps-an-address-of-any-length',
    'return-to-long-path-of-page',
    beginsAtPage(() => ({})),
  ),
  fault('return-address-of-up-to-3500-characters', 'return-to-long', {
    localPath: (text, visit) =>
      text && /^\/[\w/?=&-]{1,3500}$/.test(text) && !text.startsWith('//') ? text : right.localPath(text, visit),
  }),

  fault('return-address-with-an-upper-case-scheme-accepted', 'return-to-upper-case-scheme', {
    localPath: (text, visit) =>
      text && !/^(https?:|javascript:|data:|\W)/.test(text) ? text : right.localPath(text, visit),
  }),

  // ---- The start
  fault(
    'redirect-uri-with-https-from-forwarded-proto',
    'start-forwarded-proto',
    startWith((query, { headers }) => {
      if (headers['x-forwarded-proto'] === 'https') query.set('redirect_uri', secure(query.get('redirect_uri') ?? ''))
    }),
  ),
  fault(
    'redirect-uri-from-forwarded-proto-and-host',
    'start-other-headers',
    startWith((query, { headers }) => {
      const { 'x-forwarded-proto': scheme, 'x-forwarded-host': host } = headers
      if (scheme && host) query.set('redirect_uri', `${scheme}://${host}/exchangeToken`)
    }),
  ),
  fault(
    'redirect-uri-of-the-exchange-from-forwarded-proto',
    'callback-headers',
    exchangeWith((form, { headers }) => {
      if (headers['x-forwarded-proto'] === 'https') form.set('redirect_uri', secure(form.get('redirect_uri') ?? ''))
    }),
  ),
  fault('no-new-login-while-there-is-a-session-cookie', 'start-after-session-ended', {
    dropSession: () => {},
    endSession: visit => right.dropSession(visit),
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/login' && right.readSession(visit)
        ? { status: 302, headers: { location: '/applications' } }
        : answer,
    ),
  }),
  fault('login-expires-after-600-milliseconds', 'login-lasts', {
    findLogin(visit, state) {
      const login = right.findLogin(visit, state)
      return login && Date.now() - login.at < 600 ? login : undefined
    },
  }),
  fault('state-decoded-twice', 'state-similar', {
    findLogin: (visit, state) => right.findLogin(visit, state.includes('%') ? decodeURIComponent(state) : state),
  }),
  fault('login-redirect-of-a-page-kept-by-browsers', 'cookie-answers-not-kept', {
    ...beginsAtPage(() => ({ 'cache-control': 'private, max-age=60' })),
  }),
  ...(
    [
      ['organization', 'org_hint'],
      ['max_age', 'max_age'],
    ] as const
  ).map(([name, sent]) =>
    fault(
      `${name}-passed-on-to-the-portal`,
      'start-not-chosen',
      startWith((query, visit) => {
        if (visit.query.has(name)) query.set(sent, visit.query.get(name)!)
      }),
    ),
  ),
  fault('relay-state-followed-after-the-login', 'callback-no-redirect-away', {
    arrive: (visit, login) => goOn(visit, visit.query.get('RelayState') ?? login.returnTo),
  }),
  fault(
    'prompt-after-a-sign-out',
    'start-no-further-parameters',
    startWith((query, visit) => {
      if (visit.cookies.some(([name]) => name === '__Host-left')) query.set('prompt', 'login')
    }),
  ),
  fault('state-hashed-user-agent-and-time', 'state-not-of-time', {
    newState: ({ headers }) => hashOf(`${headers['user-agent']}${Date.now()}`),
  }),
  fault('state-hashed-address-and-time', 'state-not-of-time', { newState: () => hashOf(`127.0.0.1${Date.now()}`) }),

  fault('logins-begun-at-pages-unlimited', 'logins-bounded', {
    askToSignIn: visit =>
      beginsAtPage(() => ({})).askToSignIn({ ...visit, parts: { ...visit.parts, mostLogins: 1000 } }),
  }),
  fault('one-cookie-for-all-logins-begun-at-pages', 'tabs-parallel-logins', {
    askToSignIn(visit) {
      const answer = beginsAtPage(() => ({})).askToSignIn(visit)
      // All logins that begin at pages use the same cookie name.
      const [name, ...rest] = visit.setCookies.pop()!.split('=')
      visit.setCookies.push(`__Host-login-page=${name}.${rest.join('=')}`)
      return answer
    },
    readCookies: header =>
      right.readCookies(header).map(([name, value]): [string, string] => {
        const [own = '', ...rest] = value.split('.')
        return name === '__Host-login-page' ? [own, rest.join('.')] : [name, value]
      }),
  }),

  // ---- The page after a failure
  ...(['/exchangeToken', '/cancelled'] as const).map(path =>
    fault(
      `new-login-five-seconds-after-an-error-at-${path.slice(1)}`,
      path === '/cancelled' ? 'declined' : 'callback-error-page',
      answerWith((answer, visit) =>
        visit.url.pathname === path && visit.query.has('error')
          ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
          : answer,
      ),
    ),
  ),
  fault(
    'new-login-five-seconds-after-a-failed-exchange',
    'callback-failures-no-loop',
    answerWith((answer, visit) =>
      isCallback(visit) && answer.status >= 500
        ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
        : answer,
    ),
  ),
  fault(
    'new-login-five-seconds-after-a-callback-without-a-code',
    'callback-code-missing',
    answerWith((answer, visit) =>
      isCallback(visit) && !visit.query.get('code')
        ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
        : answer,
    ),
  ),
  fault(
    'head-uses-up-the-state',
    'callback-head',
    usingUp(visit => visit.method === 'HEAD'),
  ),
  fault(
    'prefetch-uses-up-the-state',
    'callback-navigation-only',
    usingUp(visit => String(visit.headers['sec-purpose'] ?? '').includes('prefetch')),
  ),
  ...['login_required', 'invalid_scope'].map(error =>
    fault(
      `${error}-begins-a-new-login`,
      'callback-error-page',
      answerWith((answer, visit) =>
        isCallback(visit) && visit.query.get('error') === error
          ? { status: 302, headers: { location: '/login' } }
          : answer,
      ),
    ),
  ),
  fault(
    'whole-error-description-on-the-cancel-page',
    'callback-long-texts-not-shown',
    answerWith((answer, visit) =>
      isCancelled(visit)
        ? { ...answer, body: `${answer.body}<p>${right.html(visit.query.get('error_description') ?? '')}</p>` }
        : answer,
    ),
  ),
  ...(
    [
      ['another-issuer', visit => visit.query.get('iss') !== visit.settings.loginUrl && visit.query.has('code')],
      ['no-subject', visit => !visit.query.has('subject') && visit.query.has('code')],
      ['two-codes', visit => visit.query.getAll('code').length > 1],
    ] as [string, (visit: Visit) => boolean][]
  ).map(([name, isMet]) =>
    fault(
      `link-with-the-code-on-the-page-for-${name}`,
      'callback-refused-closed',
      answerWith((answer, visit) =>
        isCallback(visit) && answer.status === 400 && isMet(visit)
          ? { ...answer, body: `${answer.body}<a href="${right.html(visit.url.search)}">Try again</a>` }
          : answer,
      ),
    ),
  ),
  fault('state-on-the-page-for-a-used-callback', 'callback-refused-closed', {
    isFirstUse(visit, state) {
      const isUsed = memoryOf(visit).has(`used ${state}`)
      memoryOf(visit).set(`used ${state}`, true)
      if (isUsed) throw new Refusal(400, `The login ${state} was finished before.`)
      return true
    },
  }),
  fault('login-kept-after-a-broken-exchange', ['state-once-after-exchange', 'login-cookie-deleted'], {
    isFirstUse: () => true,
    once: (_visit, _name, act) => act(),
    forgetLogin(visit, state) {
      if (visit.query.has('error')) right.forgetLogin(visit, state)
    },
    async send(visit, request) {
      const answer = await right.send(visit, request)
      answered.add(visit)
      return answer
    },
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } finally {
        if (answered.has(visit)) right.forgetLogin(visit, login.state)
      }
    },
  }),

  // ---- The second login of a signed-in visitor
  fault('declined-second-login-ends-the-session', 'second-login-fails-keeps-session', {
    ...answerWith((answer, visit) => {
      if (isCancelled(visit) && right.findLogin(visit, visit.query.get('state') ?? '')) right.dropSession(visit)
      return answer
    }),
  }),
  fault('error-of-a-second-login-ends-the-session', 'second-login-fails-keeps-session', {
    checkError(visit) {
      if (visit.query.has('error')) right.dropSession(visit)
      right.checkError(visit)
    },
  }),
  fault(
    'cancel-page-is-missing-for-signed-in-visitors',
    'declined',
    answerWith((answer, visit) =>
      isCancelled(visit) && right.readSession(visit) ? page(visit, 404, 'Not found', '') : answer,
    ),
  ),
  fault('second-login-without-a-code-ends-the-session', 'second-login-fails-keeps-session', {
    readCallback(visit) {
      if (!visit.query.has('code')) right.dropSession(visit)
      return right.readCallback(visit)
    },
  }),
  fault('second-login-for-another-client-ends-the-session', 'second-login-fails-keeps-session', {
    checkClient(visit) {
      try {
        right.checkClient(visit)
      } catch (error) {
        if (error instanceof Refusal) right.dropSession(visit)
        throw error
      }
    },
  }),
  fault('refused-code-ends-the-session', 'exchange-failure-keeps-session', {
    async exchange(visit, callback, login) {
      try {
        return await right.exchange(visit, callback, login)
      } catch (error) {
        if (error instanceof PlatformFault && error.code === 'invalid_grant') right.dropSession(visit)
        throw error
      }
    },
  }),
]
