// Clients that answer a callback or a declined login wrongly, or reveal the values of a callback.
import { randomBytes, randomUUID } from 'node:crypto'
import { type Behaviour, correct } from '../../behaviour.ts'
import { answerWith, bodyWith, headersWith, loginsOf, sessionWith, startWith, usingUp } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { goOn, page } from '../../pages.ts'
import { cookieOf, isCallback, isCancelled } from '../../requests.ts'
import type { Session, Visit } from '../../visit.ts'
import { callbackParameters } from './callback-parameters.ts'
import { hostileValues } from './hostile-values.ts'
import { refused } from './refused.ts'
import { returnTo } from './return-to.ts'
import { states } from './states.ts'

/** Sessions in the memory of the server, keyed by the id in the cookie. */
const sessions = new Map<string, Session>()

const sessionIdOf = ({ cookies }: Visit) => cookies.find(([name]) => name === correct.sessionCookie)?.[1]

/** Sessions in memory, as in many server-side frameworks. */
const kept = new Map<string, Session>()

const isSessionId = /^[0-9a-f]{48}$/

function withoutIss({ query }: Visit): URLSearchParams {
  const rest = new URLSearchParams(query)
  rest.delete('iss')
  return rest
}

/** Adds headers to the page that opens the next page after the login. */
function afterLoginWith(headers: Record<string, string>): Partial<Behaviour> {
  return {
    afterLogin(visit, login) {
      const answer = goOn(visit, login.returnTo)
      return { ...answer, headers: { ...answer.headers, ...headers } }
    },
  }
}

export const callback: Mistake[] = [
  mistake('exchange-at-another-path', ['login-works', 'exchange-post'], {
    portalUrl: ({ settings }) => `${settings.loginUrl}/api/token`,
  }),
  mistake('callback-redirects-with-a-strict-cookie', 'login-lands-signed-in', {
    afterLogin: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
    // Does not load the page a second time. The second request would carry the cookie, and no check would see the
    // mistake.
    comesFromElsewhere: () => false,
  }),
  mistake('redirect-to-the-wanted-page', 'login-lands-signed-in', {
    comesFromElsewhere: () => false,
    afterLogin: (visit, { returnTo }) =>
      returnTo === '/applications' ? goOn(visit, returnTo) : { status: 302, headers: { location: returnTo } },
  }),
  mistake('callback-waits-for-a-click', ['callback-code-not-in-address', 'tabs-reload-after-login'], {
    afterLogin: (visit, login) =>
      page(visit, 200, 'Welcome', `<a href="${visit.behaviour.html(login.returnTo)}">Go on</a>`),
  }),
  mistake('code-in-the-fragment', 'callback-code-not-in-address', {
    afterLogin: (visit, login) => goOn(visit, `${login.returnTo}#${visit.query.get('code')}`),
  }),
  mistake('callback-tells-the-next-page', 'callback-no-referrer', afterLoginWith({ 'referrer-policy': 'unsafe-url' })),
  mistake('callback-kept-in-caches', 'callback-no-store', afterLoginWith({ 'cache-control': 'private, max-age=600' })),
  mistake(
    'callback-for-every-cache',
    ['callback-not-cached', 'cookie-answers-not-kept'],
    afterLoginWith({ 'cache-control': 'public, max-age=300' }),
  ),
  mistake('callback-shows-the-code', 'callback-nothing-foreign', {
    afterLogin(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.body += `<!-- ${visit.query.get('code')} -->`
      return answer
    },
  }),
  mistake('callback-loads-from-elsewhere', 'callback-nothing-foreign', {
    ...headersWith(() => ({ 'content-security-policy': undefined })),
    afterLogin(visit, login) {
      const answer = goOn(visit, login.returnTo)
      answer.body = answer.body!.replace('<title>', '<script src="https://analytics.invalid/a.js"></script><title>')
      return answer
    },
  }),
  mistake(
    'client-secret-on-the-page-of-the-callback',
    'login-no-secret',
    bodyWith((body, visit) =>
      isCallback(visit) ? `${body}<script>const secret = "${visit.settings.clientSecret}"</script>` : body,
    ),
  ),
  mistake('callback-that-is-under-way-is-a-crash', 'callback-resent', {
    async shareCall(visit, name, act) {
      if (visit.memory.has(name)) throw new Error('duplicate key')
      return correct.shareCall(visit, name, act)
    },
  }),
  mistake('late-callback-ends-the-session', 'callback-resent-signed-in', {
    shareCall: (_visit, _name, act) => act(),
    async exchange(visit, callback, login) {
      try {
        return await correct.exchange(visit, callback, login)
      } catch (error) {
        correct.dropSession(visit)
        throw error
      }
    },
  }),
  mistake('each-callback-exchanges', 'callback-resent-exchanges', {
    shareCall: (_visit, _name, act) => act(),
    isFirstUse: () => true,
  }),
  mistake('late-copy-of-a-callback-ends-the-session', 'callback-resent-late', {
    isFirstUse(visit, state) {
      const isFirst = !visit.memory.has(`used ${state}`)
      if (!isFirst) correct.dropSession(visit)
      visit.memory.set(`used ${state}`, true)
      return isFirst
    },
  }),
  mistake('callback-by-a-form', 'callback-post', {
    callbackMethods: ['GET', 'POST'],
    isFromHere: () => true,
    loginAttributes: correct.loginAttributes.replace('Lax', 'None'),
    async beforeState(visit) {
      for (const [name, value] of new URLSearchParams(visit.body)) visit.query.set(name, value)
    },
  }),
  mistake('callback-with-any-method', 'callback-post', { callbackMethods: ['GET', 'POST', 'PUT'] }),
  mistake('callback-by-options', 'callback-post', { callbackMethods: ['GET', 'OPTIONS'] }),
  mistake('exchange-at-the-issuer-in-the-address', 'callback-names-no-host', {
    checkClient: visit => correct.checkClient({ ...visit, query: withoutIss(visit) }),
    portalUrl: ({ settings, query }, path) => (query.get('iss') ?? settings.loginUrl) + path,
  }),
  mistake('callback-by-head', 'callback-head', { callbackMethods: ['GET', 'HEAD'] }),
  mistake(
    'head-uses-up-the-state',
    'callback-head',
    usingUp(visit => visit.method === 'HEAD'),
  ),
  mistake(
    'cancelled-is-not-found',
    'declined',
    startWith((query, { settings }) => query.set('cancel_url', `${settings.publicUrl}/declined`)),
  ),
  mistake(
    'cancel-page-is-missing-for-signed-in-visitors',
    'declined',
    answerWith((answer, visit) =>
      isCancelled(visit) && correct.readSession(visit) ? page(visit, 404, 'Not found', '') : answer,
    ),
  ),
  mistake(
    'decline-without-a-login-cookie-is-a-crash',
    'declined',
    answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' && loginsOf(visit).length === 0
        ? { ...answer, status: 500, body: 'Internal Server Error' }
        : answer,
    ),
  ),
  mistake('decline-begins-a-new-login', 'declined', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  mistake('decline-without-a-state-refused', 'declined', {
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/cancelled' && !visit.query.has('state') ? page(visit, 400, 'Bad request', '') : answer,
    ),
  }),
  mistake('session-id-taken-over', 'session-new', {
    keepSession(visit, tokens) {
      const { visitor, expiresAt } = {
        visitor: correct.visitorOf(tokens, visit),
        expiresAt: Date.now() + tokens.seconds * 1000,
      }
      const session = { accessToken: tokens.accessToken, visitor, expiresAt }
      const id = sessionIdOf(visit) ?? randomUUID()
      sessions.set(id, session)
      visit.setCookies.push(`${correct.sessionCookie}=${id}; ${correct.sessionAttributes(tokens.seconds)}`)
      return session
    },
    readSession: visit => sessions.get(sessionIdOf(visit) ?? ''),
  }),
  mistake('live-session-id-taken-over', 'session-new', {
    keepSession(visit, tokens) {
      const visitor = correct.visitorOf(tokens, visit)
      const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
      const given = sessionIdOf(visit)
      const id = given && sessions.has(given) ? given : randomUUID()
      sessions.set(id, session)
      visit.setCookies.push(`${correct.sessionCookie}=${id}; ${correct.sessionAttributes(tokens.seconds)}`)
      return session
    },
    readSession: visit => sessions.get(sessionIdOf(visit) ?? ''),
    readRefresh: () => undefined,
  }),
  mistake('session-id-adopted', 'session-new', {
    keepSession(visit, tokens) {
      const given = cookieOf(visit, '__Host-sid') ?? ''
      const id = isSessionId.test(given) ? given : randomBytes(24).toString('hex')
      const visitor = correct.visitorOf(tokens, visit)
      const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
      kept.set(id, session)
      visit.setCookies.push(`__Host-sid=${id}; ${correct.sessionAttributes(tokens.seconds)}`)
      return session
    },
    readSession: visit => kept.get(cookieOf(visit, '__Host-sid') ?? ''),
    readRefresh: () => undefined,
  }),
  mistake('old-session-stays', 'session-replaced', {
    ...sessionWith(text => text.replace('Strict', 'Lax')),
    keepSession: (visit, tokens) => correct.readSession(visit) ?? correct.keepSession(visit, tokens),
  }),
  mistake('refused-callback-ends-the-session', 'callback-refused-keeps-session', {
    async aroundRequest(visit, next) {
      const answer = await next()
      if (isCallback(visit) && (answer.status ?? 200) >= 400) correct.dropSession(visit)
      return answer
    },
  }),
  mistake('error-callback-ends-the-session', 'callback-refused-keeps-session', {
    async beforeState(visit) {
      if (visit.query.has('error')) correct.dropSession(visit)
    },
  }),
  ...states,
  ...callbackParameters,
  ...refused,
  ...hostileValues,
  ...returnTo,
]
