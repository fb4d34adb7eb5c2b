// Clients that fail with several tabs or several visitors at the same time, with a second instance or after a restart.
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Behaviour, correct } from '../behaviour.ts'
import { sendWith } from '../call-changes.ts'
import { beginsAtPage, behaving, exchangeWith, hashOf, loginsOf, startWith } from '../changes.ts'
import { manyRefreshCookies } from '../many-refresh-cookies.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { readName, withNameInMemory } from '../names.ts'
import { goOn, page } from '../pages.ts'
import { type Call, callPortal } from '../platform.ts'
import { cookieOf, isCallback, isLogin, isOfGroups, isRead } from '../requests.ts'
import { sessionKeyOf, sessionsAtServer } from '../server-sessions.ts'
import { type Login, PlatformError, Refusal, type Session, type Tokens, type Visit } from '../visit.ts'

/** Caches the answers to the calls that `isMet` selects, and uses them for all visitors. */
function remembering(isMet: (call: Call) => boolean, keyOf: (call: Call) => string): Partial<Behaviour> {
  return sendWith(isMet, async (visit, call, send) => {
    const memory = visit.memory
    const known = memory.get(keyOf(call)) as [number, unknown] | undefined
    if (known) return known
    const answer = await send()
    if (answer[0] === 200) memory.set(keyOf(call), answer)
    return answer
  })
}

/** Uses the oldest refresh cookie. A sign-out deletes all of them. */
const oldestRefreshCookie = manyRefreshCookies(
  names => names[0],
  names => names,
)

/** Sets a session cookie with a new name for each access token, and uses the newest cookie that is still valid. */
const manySessionCookies: Partial<Behaviour> = {
  keepSession(visit, tokens) {
    const name = `${correct.sessionCookie}-${hashOf(tokens.accessToken).slice(0, 8)}`
    return correct.keepSession(behaving(visit, { sessionCookie: name }), tokens)
  },
  readSession(visit) {
    const names = visit.cookies.map(([name]) => name).filter(name => name.startsWith(`${correct.sessionCookie}-`))
    const sessions = names.map(name => correct.readSession(behaving(visit, { sessionCookie: name })))
    return sessions.findLast(session => session !== undefined)
  },
}

const idCookie = '__Host-id'

/** Keeps the refresh token only in the memory of the instance that received the token. */
const refreshTokenInMemory: Partial<Behaviour> = {
  keepSession(visit, tokens) {
    const session = correct.keepSession(visit, { ...tokens, refreshToken: undefined })
    visit.setCookies = visit.setCookies.filter(line => !line.startsWith(correct.refreshCookie))
    const known = cookieOf(visit, idCookie)
    const id = (isCallback(visit) ? undefined : known) ?? randomBytes(32).toString('base64url')
    visit.setCookies.push(`${idCookie}=${id}; ${correct.refreshAttributes(correct.refreshSeconds)}`)
    if (tokens.refreshToken) visit.memory.set(id, tokens.refreshToken)
    return session
  },
  readRefresh(visit) {
    const id = cookieOf(visit, idCookie)
    return id === undefined ? undefined : (visit.memory.get(id) as string | undefined)
  },
}

/** Binds a login only to the portal and to the client id. */
const boundToPortalAndClient: Partial<Behaviour> = {
  sealLogin: (visit, name, login) =>
    correct.seal(visit, `${name} ${visit.settings.loginUrl} ${visit.settings.clientId}`, login),
  unsealLogin: (visit, name, text) =>
    correct.unseal(visit, `${name} ${visit.settings.loginUrl} ${visit.settings.clientId}`, text),
}

const inMemory: Pick<Behaviour, 'seal' | 'unseal'> = {
  seal(visit, name, value) {
    const id = createHash('sha256').update(`${Math.random()}`).digest('base64url')
    visit.memory.set(name + id, value)
    return id
  },
  unseal: (visit, name, text) => visit.memory.get(name + text),
}

/** Deletes each login cookie if `isGone` is true for its name. */
function clearLogins({ cookies, setCookies }: Visit, isGone: (name: string) => boolean): void {
  for (const [name] of cookies)
    if (name.startsWith('__Host-login-') && isGone(name))
      setCookies.push(`${name}=; ${correct.loginAttributes.replace('600', '0')}`)
}

/**
 * If a browser has ten unfinished logins, the client forgets the newest of them when the next login begins. It compares
 * whole seconds. Among logins that began in the same second, it forgets the first.
 */
function replacingNewest(isMet: (visit: Visit) => boolean): Partial<Behaviour> {
  const secondOf = ({ at }: Login) => Math.floor(at / 1000)
  return {
    async aroundRequest(visit, next) {
      const logins = loginsOf(visit)
      const answer = await next()
      const newest = logins.toSorted((one, other) => secondOf(other) - secondOf(one))[0]
      if (isMet(visit) && newest && logins.length >= 10)
        clearLogins(visit, name => name === correct.loginCookie(newest.state))
      return answer
    },
  }
}

function keyed(visit: Visit): Visit {
  const memory = visit.memory
  const key = (memory.get('key') as Buffer | undefined) ?? createHash('sha256').update(`${Math.random()}`).digest()
  memory.set('key', key)
  return { ...visit, settings: { ...visit.settings, key } }
}

/** The store that all instances share. The keys contain random ids. */
const storedSessions = new Map<string, unknown>()

/**
 * Keeps the sessions in a store that all instances share. But an instance reads a session only once from the store, so
 * it does not notice that another instance has renewed the session.
 */
const keepsKnownSessions: Partial<Behaviour> = {
  ...sessionsAtServer,
  aroundRequest(visit, next) {
    const key = sessionKeyOf(visit)
    if (!visit.memory.has(key) && storedSessions.has(key)) visit.memory.set(key, storedSessions.get(key))
    return next()
  },
  keepSession(visit, tokens) {
    const session = sessionsAtServer.keepSession(visit, tokens)
    for (const [key, value] of visit.memory) if (value === session) storedSessions.set(key, session)
    return session
  },
  dropSession(visit) {
    storedSessions.delete(sessionKeyOf(visit))
    sessionsAtServer.dropSession(visit)
  },
}

export const tabs: Mistake[] = [
  mistake('one-cookie-for-all-logins-begun-at-pages', 'tabs-parallel-logins', {
    askToSignIn(visit) {
      const answer = beginsAtPage(() => ({})).askToSignIn(visit)
      // All logins that start from a page, and not at the login path, use the same cookie name.
      const [name, ...rest] = visit.setCookies.pop()!.split('=')
      visit.setCookies.push(`__Host-login-page=${name}.${rest.join('=')}`)
      return answer
    },
    readCookies: header =>
      correct.readCookies(header).map(([name, value]): [string, string] => {
        const [own = '', ...rest] = value.split('.')
        return name === '__Host-login-page' ? [own, rest.join('.')] : [name, value]
      }),
  }),
  mistake('verifier-in-a-variable', ['tabs-parallel-logins', 'tabs-two-browsers'], {
    newVerifier(visit) {
      const verifier = correct.newVerifier(visit)
      visit.memory.set('verifier', verifier)
      return verifier
    },
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      form.set('code_verifier', `${visit.memory.get('verifier')}`)
      return form
    },
  }),
  mistake('two-logins-at-most', 'tabs-parallel-logins', { mostLogins: 2 }),
  mistake('one-login-at-a-time', ['tabs-parallel-logins', 'tabs-five-logins'], {
    loginCookie: () => '__Host-login-0',
    findLogin(visit, state) {
      const text = cookieOf(visit, '__Host-login-0') ?? ''
      const login = correct.unsealLogin(visit, '__Host-login-0', text) as Login | undefined
      return login?.state === state ? login : undefined
    },
  }),
  mistake('newest-of-ten-logins-forgotten', ['tabs-newest-logins', 'logins-last-works'], {
    mostLogins: 1000,
    afterStart(visit, answer) {
      if (loginsOf(visit).length >= 10) visit.setCookies.pop()
      return answer
    },
  }),
  mistake('newest-of-ten-logins-replaced', 'tabs-newest-logins', { mostLogins: 1000, ...replacingNewest(isLogin) }),
  mistake('newest-of-ten-logins-replaced-at-pages', 'tabs-newest-logins', {
    askToSignIn: visit => beginsAtPage(() => ({})).askToSignIn(behaving(visit, { mostLogins: 1000 })),
    ...replacingNewest(({ url }) => url.pathname === '/applications'),
  }),
  mistake('login-clears-the-others', 'tabs-parallel-logins', {
    forgetLogin(visit) {
      for (const [name] of visit.cookies)
        if (name.startsWith('__Host-login-'))
          visit.setCookies.push(`${name}=; ${correct.loginAttributes.replace('600', '0')}`)
    },
  }),
  mistake('declining-clears-all-logins', 'tabs-one-declined', {
    async aroundRequest(visit, next) {
      if (visit.url.pathname === '/cancelled')
        for (const [name] of visit.cookies)
          if (name.startsWith('__Host-login-'))
            visit.setCookies.push(`${name}=; ${correct.loginAttributes.replace('600', '0')}`)
      return next()
    },
  }),
  mistake('unknown-state-clears-all-logins', 'tabs-one-failed', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (!login) clearLogins(visit, () => true)
      return login
    },
  }),
  mistake('failed-exchange-clears-all-logins', 'tabs-one-failed', {
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        clearLogins(visit, () => true)
        throw error
      }
    },
  }),
  mistake('one-pending-login-is-enough', ['tabs-login-left', 'logins-last-works'], {
    newState(visit) {
      if (visit.cookies.some(([name]) => name.startsWith('__Host-login-')))
        throw new Refusal(409, 'A login is under way in another tab.')
      return correct.newState(visit)
    },
  }),
  mistake('second-login-refused', 'tabs-login-while-signed-in', {
    afterLogin(visit, login) {
      return correct.readSession(visit) ? { status: 500, body: 'already signed in' } : correct.afterLogin(visit, login)
    },
  }),
  mistake('old-session-kept-at-login', 'tabs-other-visitor', {
    keepSession(visit, tokens) {
      const old = correct.readSession(visit)
      if (old) return old
      return correct.keepSession(visit, tokens)
    },
  }),
  mistake('refresh-token-of-the-earlier-visitor-kept', 'tabs-other-visitor-without-refresh-token', {
    keepSession(visit, tokens: Tokens) {
      const session = correct.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies = visit.setCookies.filter(line => !line.startsWith('__Host-refresh=;'))
      return session
    },
  }),
  mistake(
    'oldest-refresh-cookie-used',
    ['tabs-other-visitor-expired', 'tabs-other-visitor-first-page-late'],
    oldestRefreshCookie,
  ),
  mistake('oldest-refresh-cookie-used-before-the-first-page', 'tabs-other-visitor-first-page-late', {
    ...oldestRefreshCookie,
    async aroundRequest(visit, next) {
      const answer = await next()
      // The first page with a session deletes the refresh cookies of earlier logins.
      const names = visit.cookies.map(([name]) => name).filter(name => name.startsWith(`${correct.refreshCookie}-`))
      if (correct.readSession(visit))
        for (const name of names.slice(0, -1)) visit.setCookies.push(`${name}=; ${correct.refreshAttributes(0)}`)
      return answer
    },
  }),
  mistake('session-cookie-of-the-earlier-visitor-used', 'tabs-other-visitor-expired', manySessionCookies),
  mistake('resent-callback-is-a-crash', 'tabs-callback-again', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (!login) throw new TypeError("Cannot read properties of undefined (reading 'verifier')")
      return login
    },
  }),
  mistake('used-callback-ends-the-session', 'tabs-callback-typed-again', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (!login) correct.dropSession(visit)
      return login
    },
  }),
  mistake('callback-in-the-history-exchanged-again', 'tabs-back-after-login', {
    afterLogin: (visit, login) => page(visit, 200, 'Welcome', `<a href="${correct.html(login.returnTo)}">Go on</a>`),
    forgetLogin: () => {},
    shareCall: (_visit, _name, act) => act(),
  }),
  mistake('form-holds-the-session', ['tabs-signed-out-meanwhile', 'create-no-session'], {
    revokes: false,
    seal: (visit, name, value) =>
      correct.seal(
        visit,
        name,
        name === 'form' ? { ...(value as object), session: correct.readSession(visit) } : value,
      ),
    readSession(visit) {
      const form = correct.unseal(visit, 'form', new URLSearchParams(visit.body).get('form') ?? '')
      return correct.readSession(visit) ?? (form as { session?: Session } | undefined)?.session
    },
  }),
  mistake('session-in-a-variable', 'tabs-two-visitors', {
    readSession(visit) {
      const memory = visit.memory
      const session = (memory.get('session') as Session | undefined) ?? correct.readSession(visit)
      if (session) memory.set('session', session)
      return session
    },
  }),
  mistake('return-address-in-a-variable', 'tabs-two-browsers', {
    localPath(text, visit) {
      const path = correct.localPath(text, visit)
      if (isLogin(visit)) visit.memory.set('return to', path)
      return path
    },
    afterLogin: (visit, login) => goOn(visit, (visit.memory.get('return to') as string | undefined) ?? login.returnTo),
  }),
  mistake('state-of-the-exchange-in-a-variable', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      visit.memory.set('state', login.state)
      const answer = await callPortal(visit, '/api/exchangeToken', correct.exchangeForm(visit, callback, login))
      if (answer.state !== visit.memory.get('state')) throw new PlatformError(502)
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('tokens-in-a-variable-for-a-moment', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      visit.memory.set('tokens', await correct.exchange(visit, callback, login))
      await pause(50)
      return visit.memory.get('tokens') as Tokens
    },
  }),
  mistake('tokens-in-a-variable', 'tabs-logins-at-once', {
    async exchange(visit, callback, login) {
      visit.memory.set('tokens', await correct.exchange(visit, callback, login))
      // A client may ask for the name here, or write to a database.
      await pause(300)
      return visit.memory.get('tokens') as Tokens
    },
  }),
  mistake(
    'name-asked-with-the-token-of-the-last-login',
    'tabs-logins-at-once',
    withNameInMemory(
      async (visit, token) => {
        visit.memory.set('token', token)
        await new Promise(resolve => setTimeout(resolve, 250))
        return `${visit.memory.get('token')}`
      },
      name => `<p>${correct.html(name)}</p>`,
    ),
  ),
  mistake(
    'applications-remembered-for-all',
    ['tabs-other-visitors-pages', 'other-visitors-data'],
    remembering(isRead, ({ url }) => url),
  ),
  mistake(
    'groups-remembered-for-all',
    'tabs-other-visitors-pages',
    remembering(isOfGroups, () => 'groups'),
  ),
  mistake('running-list-shared-by-all', 'tabs-visitors-at-once', {
    send(visit, request) {
      if (request.method !== 'GET' || !request.url.endsWith('/apps/v1')) return correct.send(visit, request)
      const memory = visit.memory
      const running = memory.get('list') ?? correct.send(visit, request).finally(() => memory.delete('list'))
      memory.set('list', running)
      return running as ReturnType<Behaviour['send']>
    },
  }),
  mistake('name-in-a-variable-of-the-server', 'tabs-visitors-at-once', {
    async aroundRequest(visit, next) {
      const session = correct.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return next()
      const { memory } = visit
      const known = `name of ${session.visitor}`
      if (!memory.has(known)) memory.set(known, await readName(visit, session).catch(() => undefined))
      memory.set('name', memory.get(known))
      const answer = await next()
      const name = correct.html(String(memory.get('name')))
      return answer.body ? { ...answer, body: answer.body.replace('<h1>', `<p>${name}</p><h1>`) } : answer
    },
  }),
  mistake('token-in-shared-headers', 'tabs-visitors-at-once', {
    async send(visit, request) {
      if (!request.headers.authorization) return correct.send(visit, request)
      visit.memory.set('authorization', request.headers.authorization)
      await new Promise(resolve => setTimeout(resolve, 5))
      const authorization = visit.memory.get('authorization') as string
      return correct.send(visit, { ...request, headers: { ...request.headers, authorization } })
    },
  }),
  mistake('visitor-of-a-form-in-a-variable-of-the-server', 'tabs-forms-at-once', {
    async aroundRequest(visit, next) {
      const session = correct.readSession(visit)
      if (visit.method === 'POST' && session) visit.memory.set('visitor', `Bearer ${session.accessToken}`)
      return next()
    },
    async send(visit, request) {
      if (visit.method !== 'POST' || !request.headers.authorization) return correct.send(visit, request)
      // Another form can arrive during this time.
      await pause(400)
      const authorization = visit.memory.get('visitor') as string
      return correct.send(visit, { ...request, headers: { ...request.headers, authorization } })
    },
  }),
  mistake('secret-of-the-last-form', 'tabs-forms-at-once', {
    async send(visit, request) {
      const answer = await correct.send(visit, request)
      if (request.method !== 'POST' || !request.url.endsWith('/apps/v1') || answer[0] !== 201) return answer
      visit.memory.set('created', answer)
      await pause(400)
      return visit.memory.get('created') as typeof answer
    },
  }),
  mistake('logins-in-memory', ['replica-login', 'restart-login'], {
    sealLogin: (visit, name, login) => inMemory.seal(visit, name, login),
    unsealLogin: (visit, name, text) => inMemory.unseal(visit, name, text),
  }),
  mistake('sessions-in-memory', ['replica-session', 'restart-session'], inMemory),
  mistake('key-of-each-process', 'replica-session', {
    seal: (visit, name, value) => correct.seal(keyed(visit), name, value),
    unseal: (visit, name, text) => correct.unseal(keyed(visit), name, text),
  }),
  mistake('logins-of-another-process-are-cleared', 'replica-keeps-cookies', {
    afterStart(visit, answer) {
      const [name = ''] = visit.setCookies.at(-1)!.split('=')
      visit.memory.set(`begun ${name}`, true)
      clearLogins(visit, one => !visit.memory.has(`begun ${one}`))
      return answer
    },
  }),
  mistake('session-of-another-process-is-cleared-at-the-start-page', 'replica-keeps-cookies', {
    setCookie(visit, name, value, attributes) {
      correct.setCookie(visit, name, value, attributes)
      visit.memory.set(visit.setCookies.at(-1)!.split(';')[0]!, true)
    },
    async aroundRequest(visit, next) {
      const [name, text] = visit.cookies.find(([name]) => name === correct.sessionCookie) ?? []
      if (visit.url.pathname === '/' && name && !visit.memory.has(`${name}=${text}`)) correct.dropSession(visit)
      return next()
    },
  }),
  mistake('signed-out-known-to-one-process', 'replica-sign-out', {
    revokes: false,
    endSession: visit => void visit.memory.set(`out ${correct.readSession(visit)?.accessToken}`, true),
    readSession(visit) {
      const session = correct.readSession(visit)
      return visit.memory.has(`out ${session?.accessToken}`) ? undefined : session
    },
  }),
  mistake('forms-known-to-one-process', ['replica-form', 'restart-form'], {
    seal: (visit, name, value) => (name === 'form' ? inMemory : correct).seal(visit, name, value),
    unseal: (visit, name, text) => (name === 'form' ? inMemory : correct).unseal(visit, name, text),
  }),
  mistake('new-secret-in-one-instance', 'replica-secret', {
    created(visit, text, visitor) {
      visit.memory.set(`made ${visitor}`, text)
      return { status: 303, headers: { location: '/applications' } }
    },
    async aroundRequest(visit, next) {
      const answer = await next()
      const key = `made ${correct.readSession(visit)?.visitor}`
      const text = visit.memory.get(key)
      if (!text || visit.url.pathname !== '/applications' || answer.status !== 200) return answer
      visit.memory.delete(key)
      return { ...answer, body: answer.body!.replace('<ul>', `<p role="status">${correct.html(String(text))}</p><ul>`) }
    },
  }),
  mistake('session-of-another-process-is-cleared', ['replica-refresh', 'replica-session'], {
    sessionAttributes: seconds => correct.sessionAttributes(seconds && 86_400),
    setCookie(visit, name, value, attributes) {
      const known = cookieOf(visit, name)
      // At a renewal, the client changes only the session on the server, and does not set a cookie.
      if (known && visit.memory.has(name + known)) visit.memory.set(name + known, value)
      else visit.setCookies.push(`${name}=${inMemory.seal(visit, name, value)}; ${attributes}`)
    },
    unseal: (visit, name, text) => inMemory.unseal(visit, name, text) ?? correct.unseal(visit, name, text),
    askToSignIn(visit) {
      correct.dropSession(visit)
      return correct.askToSignIn(visit)
    },
  }),
  mistake('cookies-deleted-after-each-refused-renewal', 'replica-refresh-refused', {
    endRefusedSession: visit => visit.behaviour.dropSession(visit),
  }),
  mistake('refresh-cookie-deleted-after-each-refused-renewal', 'replica-refresh-refused', {
    endRefusedSession: ({ setCookies }) =>
      void setCookies.push(`${correct.refreshCookie}=; ${correct.refreshAttributes(0)}`),
  }),
  mistake('refresh-token-in-the-memory-of-one-instance', 'replica-renews', refreshTokenInMemory),
  mistake('sessions-kept-by-each-instance', 'replica-renewed-elsewhere', keepsKnownSessions),
  mistake('refresh-token-lost-by-a-restart', 'restart-session', refreshTokenInMemory),
  mistake('login-of-other-settings-finished', 'restart-other-settings', {
    sealLogin: (visit, name, login) => correct.seal(visit, name, login),
    unsealLogin: (visit, name, text) => correct.unseal(visit, name, text),
  }),
  mistake('login-not-bound-to-its-redirect-uri', 'restart-other-redirect-uri', boundToPortalAndClient),
  mistake('redirect-uri-from-the-own-address-not-bound', 'restart-other-redirect-uri', {
    ...boundToPortalAndClient,
    ...startWith((query, { settings }) => query.set('redirect_uri', `${settings.publicUrl}/exchangeToken`)),
    ...exchangeWith((form, { settings }) => form.set('redirect_uri', `${settings.publicUrl}/exchangeToken`)),
  }),
  mistake('login-bound-to-the-client-only', 'restart-other-settings', {
    sealLogin: (visit, name, login) => correct.seal(visit, `${name} ${visit.settings.clientId}`, login),
    unsealLogin: (visit, name, text) => correct.unseal(visit, `${name} ${visit.settings.clientId}`, text),
  }),
]
